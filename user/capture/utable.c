/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "capture/utable.h"

struct file {
	uint8_t key[UNWIND_KEY_MAX + 1]; /* length first, so that no key is another's prefix */
	uint32_t id;
	uint32_t refs; /* process lists that name it */
	uint32_t npages;
	uint32_t nrules;
	uint16_t *rules;      /* of the dictionary, one reference each */
	uint32_t owner, nown; /* the process it counts to; rules that came with it */
	uint64_t idle_since;  /* ns, while refs is 0 */
	UT_hash_handle hh;
};

struct proc {
	uint32_t tgid;
	uint32_t nfiles;
	uint32_t *files; /* one reference each */
	uint64_t sum;	 /* of the list */
	UT_hash_handle hh;
};

/* What counts to a process; there as long as anything does. */
struct owner {
	uint32_t tgid;
	uint32_t files, rules;
	uint64_t pages;
	UT_hash_handle hh;
};

struct utable {
	struct utable_sink sink;
	struct owner *owners;
	uint32_t owner;
	struct rule_set rules;
	uint32_t rule_refs[UW_MAX_RULES]; /* files that have it */
	struct file *files;		  /* by key */
	struct file *by_slot[UW_MAX_FILES];
	uint32_t next_id; /* where the search for a free number starts; slot 0 stays free */
	struct proc *procs;
	uint64_t pages;
	uint32_t rules_refused, maps_refused, files_refused;
	struct uw_proc list; /* too large for a stack */
};

int utable_new(struct utable **out, const struct utable_sink *sink)
{
	struct utable *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	u->sink = *sink;
	if (!u->sink.max_bytes)
		u->sink.max_bytes = UNWIND_MAX_BYTES;
	err = rule_set_init(&u->rules);
	for (uint32_t i = 0; i < u->rules.n && !err; i++)
		err = sink->rule(sink->ctx, i, &u->rules.rules[i]);
	if (err) {
		utable_free(u);
		return err;
	}
	*out = u;
	return 0;
}

void utable_free(struct utable *u)
{
	struct file *f, *fnext;
	struct proc *p, *pnext;
	struct owner *o, *onext;

	if (!u)
		return;
	HASH_ITER(hh, u->files, f, fnext) {
		HASH_DEL(u->files, f);
		free(f->rules);
		free(f);
	}
	HASH_ITER(hh, u->procs, p, pnext) {
		HASH_DEL(u->procs, p);
		free(p->files);
		free(p);
	}
	HASH_ITER(hh, u->owners, o, onext) {
		HASH_DEL(u->owners, o);
		free(o);
	}
	rule_set_free(&u->rules);
	free(u);
}

/* ---- shares ---- */

void utable_owner(struct utable *u, uint32_t tgid)
{
	u->owner = tgid;
}

static struct owner *owner_find(struct utable *u, uint32_t tgid)
{
	struct owner *o;

	HASH_FIND(hh, u->owners, &tgid, sizeof(tgid), o);
	return o;
}

static uint32_t rules_used(const struct utable *u)
{
	return u->rules.n - u->rules.nfree;
}

/* Whether the process may have one more rule beside those of the file that is being added. */
static bool may_have_rule(struct utable *u, const struct file *f)
{
	const struct owner *o = owner_find(u, f->owner);
	uint32_t has = (o ? o->rules : 0) + f->nown, others = rules_used(u) - has;

	return !f->owner || has < (UW_MAX_RULES - others) * UTABLE_SHARE;
}

static bool may_have_pages(struct utable *u, uint32_t npages)
{
	const struct owner *o = owner_find(u, u->owner);
	uint64_t has = o ? o->pages : 0, others = u->pages - has;

	return !u->owner ||
	       (has + npages) * sizeof(struct uw_page) <=
		       (u->sink.max_bytes - others * sizeof(struct uw_page)) * UTABLE_SHARE;
}

static int owner_add(struct utable *u, struct file *f)
{
	struct owner *o = owner_find(u, f->owner);

	if (!f->owner)
		return 0;
	if (!o) {
		o = calloc(1, sizeof(*o));
		if (!o)
			return -ENOMEM;
		o->tgid = f->owner;
		HASH_ADD(hh, u->owners, tgid, sizeof(o->tgid), o);
	}
	o->files++;
	o->rules += f->nown;
	o->pages += f->npages;
	return 0;
}

static void owner_remove(struct utable *u, const struct file *f)
{
	struct owner *o = owner_find(u, f->owner);

	if (!f->owner || !o)
		return;
	o->rules -= f->nown;
	o->pages -= f->npages;
	if (--o->files)
		return;
	HASH_DEL(u->owners, o);
	free(o);
}

/* ---- pages ---- */

static void page_init(struct uw_page *p, uint32_t height)
{
	memset(p, 0, sizeof(*p));
	memset(p->key, 0xff, sizeof(p->key));
	p->height = height;
}

static uint32_t div_up(size_t n, uint32_t by)
{
	return (n + by - 1) / by;
}

/* Makes the inner pages [first, first + n) over the `below` pages from `child` on. */
static void pages_index(struct uw_page *pages, uint32_t first, uint32_t n, uint32_t child,
			uint32_t below)
{
	for (uint32_t i = 0; i < n; i++)
		page_init(&pages[first + i], pages[child].height + 1);
	for (uint32_t i = 0; i < below; i++) {
		struct uw_page *p = &pages[first + i / UW_PAGE_ROWS];

		p->key[i % UW_PAGE_ROWS] = pages[child + i].key[0];
		p->val[i % UW_PAGE_ROWS] = child + i;
	}
}

/*
 * The root comes first, then (if there are two levels below it) the inner pages, then the leaves.
 */
int utable_pages(const struct unwind_row *rows, size_t n, struct uw_page **out, uint32_t *npages)
{
	uint32_t leaves = n ? div_up(n, UW_PAGE_ROWS) : 1;
	uint32_t inner = leaves > UW_PAGE_ROWS ? div_up(leaves, UW_PAGE_ROWS) : 0;
	uint32_t first = (leaves > 1) + inner; /* leaf */
	struct uw_page *pages;

	if (n > UNWIND_MAX_ROWS || first + leaves > UINT16_MAX)
		return -E2BIG;
	pages = calloc(first + leaves, sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	for (uint32_t i = 0; i < leaves; i++)
		page_init(&pages[first + i], 0);
	for (size_t i = 0; i < n; i++) {
		pages[first + i / UW_PAGE_ROWS].key[i % UW_PAGE_ROWS] = rows[i].key;
		pages[first + i / UW_PAGE_ROWS].val[i % UW_PAGE_ROWS] = rows[i].rule;
	}
	if (inner)
		pages_index(pages, 1, inner, first, leaves);
	if (leaves > 1)
		pages_index(pages, 0, 1, 1, inner ? inner : leaves);
	*out = pages;
	*npages = first + leaves;
	return 0;
}

/* ---- files ---- */

static int key_make(uint8_t *key, const void *bytes, size_t len)
{
	if (!len || len > UNWIND_KEY_MAX)
		return -EINVAL;
	memset(key, 0, UNWIND_KEY_MAX + 1);
	key[0] = len;
	memcpy(key + 1, bytes, len);
	return 0;
}

static struct file *file_find(struct utable *u, const uint8_t *key)
{
	struct file *f;

	HASH_FIND(hh, u->files, key, UNWIND_KEY_MAX + 1, f);
	return f;
}

uint32_t utable_file_find(struct utable *u, const void *key, size_t len)
{
	uint8_t k[UNWIND_KEY_MAX + 1];
	struct file *f;

	if (key_make(k, key, len))
		return UNWIND_NO_FILE;
	f = file_find(u, k);
	return f ? f->id : UNWIND_NO_FILE;
}

/* Numbers only go up; one whose slot is taken is skipped. */
static uint32_t id_take(struct utable *u)
{
	for (uint32_t i = 0; i < UW_MAX_FILES; i++) {
		uint32_t id = u->next_id++;

		if (UW_FILE_SLOT(id) && !u->by_slot[UW_FILE_SLOT(id)])
			return id;
	}
	return UNWIND_NO_FILE;
}

/* A rule's number in the dictionary; UW_RULE_NONE: there is no room, or none left to the process.
 */
static uint16_t rule_number(struct utable *u, struct file *f, const struct uw_rule *r)
{
	uint32_t before = rules_used(u), id;
	bool may = may_have_rule(u, f);

	id = rule_set_add(&u->rules, r);
	if (rules_used(u) == before)
		return (uint16_t)id;
	if (!may) {
		rule_set_remove(&u->rules, id);
		u->rules.refused++;
		return UW_RULE_NONE;
	}
	f->nown++;
	return (uint16_t)id;
}

/* Takes one of the file's own rules into the dictionary and gives it to the sink. */
static int rule_take(struct utable *u, struct file *f, const struct uw_rule *r, uint16_t *id)
{
	int err = 0;

	*id = rule_number(u, f, r);
	if (*id == UW_RULE_NONE || *id == UW_RULE_STOP)
		return 0;
	if (!u->rule_refs[*id])
		err = u->sink.rule(u->sink.ctx, *id, r);
	u->rule_refs[*id]++;
	f->rules[f->nrules++] = *id;
	return err;
}

/* Maps the file's own rule numbers to those of the dictionary. */
static int rules_map(struct utable *u, struct file *f, const struct rule_set *own, uint16_t *map)
{
	uint32_t refused = u->rules.refused;
	int err = 0;

	f->rules = calloc(own->n, sizeof(*f->rules));
	if (!f->rules)
		return -ENOMEM;
	for (uint32_t i = 0; i < own->n && i < UTABLE_FILE_RULES && !err; i++)
		err = rule_take(u, f, &own->rules[i], &map[i]);
	if (own->n > UTABLE_FILE_RULES)
		u->rules_refused += own->n - UTABLE_FILE_RULES;
	u->rules_refused += u->rules.refused - refused;
	return err;
}

/* For when nobody walks by the file any more. */
static void file_free(struct utable *u, struct file *f)
{
	for (uint32_t i = 0; i < f->nrules; i++)
		if (!--u->rule_refs[f->rules[i]])
			rule_set_remove(&u->rules, f->rules[i]);
	free(f->rules);
	free(f);
}

/* Makes pages of the rows, with rules in the dictionary's numbers. */
static int pages_make(struct utable *u, struct file *f, const struct unwind_table *t,
		      struct uw_page **pages)
{
	struct unwind_row *rows = calloc(t->n ? t->n : 1, sizeof(*rows));
	uint16_t *map = calloc(UW_MAX_RULES, sizeof(*map));
	int err = rows && map ? rules_map(u, f, &t->rules, map) : -ENOMEM;

	for (size_t i = 0; i < t->n && !err; i++)
		rows[i] = (struct unwind_row){t->rows[i].key, map[t->rows[i].rule]};
	if (!err)
		err = utable_pages(rows, t->n, pages, &f->npages);
	free(map);
	free(rows);
	return err;
}

static bool has_room(struct utable *u, uint32_t npages)
{
	return (u->pages + npages) * sizeof(struct uw_page) <= u->sink.max_bytes &&
	       may_have_pages(u, npages);
}

static int file_publish(struct utable *u, struct file *f, const struct unwind_table *rows)
{
	struct uw_page *pages = NULL;
	int err = 0;

	f->id = has_room(u, div_up(rows->n, UW_PAGE_ROWS)) ? id_take(u) : UNWIND_NO_FILE;
	if (f->id == UNWIND_NO_FILE)
		err = -ENOSPC;
	if (!err)
		err = pages_make(u, f, rows, &pages);
	if (!err && !has_room(u, f->npages))
		err = -ENOSPC;
	u->files_refused += err == -ENOSPC;
	if (!err)
		err = u->sink.file(u->sink.ctx, UW_FILE_SLOT(f->id), pages, f->npages);
	free(pages);
	return err;
}

int utable_file_add(struct utable *u, const void *key, size_t len, const struct unwind_table *rows,
		    uint32_t *file)
{
	struct file *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->owner = u->owner;
	err = key_make(f->key, key, len);
	if (!err && file_find(u, f->key))
		err = -EINVAL;
	if (!err)
		err = file_publish(u, f, rows);
	if (!err)
		err = owner_add(u, f);
	if (err) {
		file_free(u, f);
		return err;
	}
	HASH_ADD(hh, u->files, key, UNWIND_KEY_MAX + 1, f);
	u->by_slot[UW_FILE_SLOT(f->id)] = f;
	u->pages += f->npages;
	*file = f->id;
	return 0;
}

static void files_unref(struct utable *u, const struct proc *p, uint64_t now_ns)
{
	for (uint32_t i = 0; i < p->nfiles; i++) {
		struct file *f = u->by_slot[UW_FILE_SLOT(p->files[i])];

		if (!--f->refs)
			f->idle_since = now_ns;
	}
}

int utable_reap(struct utable *u, uint64_t now_ns)
{
	struct file *f, *next;

	HASH_ITER(hh, u->files, f, next) {
		int err;

		if (f->refs)
			continue;
		if (!f->idle_since) /* never named so far: its time starts now */
			f->idle_since = now_ns;
		if (now_ns - f->idle_since < UTABLE_GRACE_NS)
			continue;
		err = u->sink.file_drop(u->sink.ctx, UW_FILE_SLOT(f->id));
		if (err)
			return err;
		u->by_slot[UW_FILE_SLOT(f->id)] = NULL;
		u->pages -= f->npages;
		owner_remove(u, f);
		HASH_DEL(u->files, f);
		file_free(u, f);
	}
	return 0;
}

bool utable_has_idle(const struct utable *u)
{
	for (const struct file *f = u->files; f; f = f->hh.next)
		if (!f->refs)
			return true;
	return false;
}

/* ---- processes ---- */

static int mapping_order(const void *a, const void *b)
{
	const struct unwind_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool mapping_usable(const struct utable *u, const struct unwind_mapping *m, uint64_t after)
{
	const struct file *f;

	if (m->start >= m->end || m->end > UW_ADDR_MAX || m->start < after)
		return false;
	if (m->kind != UW_MAP_FILE)
		return true;
	f = u->by_slot[UW_FILE_SLOT(m->arg)];
	return f && f->id == m->arg;
}

/* Moves the usable mappings to the front, in order, and returns their number. */
static size_t mappings_sort(struct utable *u, struct unwind_mapping *v, size_t n)
{
	uint64_t after = 0;
	size_t kept = 0;

	if (n)
		qsort(v, n, sizeof(*v), mapping_order);
	for (size_t i = 0; i < n; i++) {
		if (v[i].kind == UW_MAP_FP)
			continue;
		if (!mapping_usable(u, &v[i], after)) {
			u->maps_refused++;
			continue;
		}
		after = v[i].end;
		v[kept++] = v[i];
	}
	return kept;
}

/*
 * Cuts the mappings down to UW_MAX_MAPS: the lowest files are left out first, then whatever is too
 * much.
 */
static size_t mappings_cut(struct utable *u, struct unwind_mapping *v, size_t n)
{
	size_t over = n > UW_MAX_MAPS ? n - UW_MAX_MAPS : 0, kept = 0;

	u->maps_refused += over;
	for (size_t i = 0; i < n; i++) {
		if (over && v[i].kind == UW_MAP_FILE)
			over--;
		else
			v[kept++] = v[i];
	}
	return kept - over;
}

/* Fill u->list. */
static void list_make(struct utable *u, uint32_t tgid, struct unwind_mapping *v, size_t n)
{
	struct uw_proc *list = &u->list;

	memset(list, 0, sizeof(*list));
	list->tgid = tgid;
	for (size_t i = 0; i < UW_MAX_MAPS; i++)
		list->start[i] = UW_NO_START;
	n = mappings_cut(u, v, mappings_sort(u, v, n));
	for (size_t i = 0; i < n; i++) {
		list->start[i] = v[i].start;
		list->map[i] = (struct uw_mapping){v[i].end, v[i].bias, v[i].arg, v[i].kind};
	}
	list->n = n;
}

/* Takes a reference for every file mapping in u->list; a file that is named twice has two. */
static int proc_take_files(struct utable *u, struct proc *p)
{
	p->files = calloc(u->list.n ? u->list.n : 1, sizeof(*p->files));
	if (!p->files)
		return -ENOMEM;
	for (uint32_t i = 0; i < u->list.n; i++)
		if (u->list.map[i].kind == UW_MAP_FILE) {
			p->files[p->nfiles++] = u->list.map[i].arg;
			u->by_slot[UW_FILE_SLOT(u->list.map[i].arg)]->refs++;
		}
	return 0;
}

static struct proc *proc_find(struct utable *u, uint32_t tgid)
{
	struct proc *p;

	HASH_FIND(hh, u->procs, &tgid, sizeof(tgid), p);
	return p;
}

static void proc_free(struct utable *u, struct proc *p, uint64_t now_ns)
{
	files_unref(u, p, now_ns);
	free(p->files);
	free(p);
}

static uint64_t list_sum(const struct uw_proc *list)
{
	uint64_t sum = list->n;

	for (uint32_t i = 0; i < list->n; i++) {
		const struct uw_mapping *m = &list->map[i];

		sum = uw_mix(uw_mix(sum, list->start[i]), m->end);
		sum = uw_mix(uw_mix(sum, m->bias), (uint64_t)m->kind << 32 | m->arg);
	}
	return sum;
}

uint64_t utable_proc_sum(struct utable *u, uint32_t tgid)
{
	struct proc *p = proc_find(u, tgid);

	return p ? p->sum : 0;
}

int utable_proc_set(struct utable *u, uint32_t tgid, struct unwind_mapping *v, size_t n,
		    uint64_t now_ns)
{
	struct proc *p = calloc(1, sizeof(*p)), *old = proc_find(u, tgid);
	int err = -ENOMEM;

	if (!p)
		return err;
	p->tgid = tgid;
	list_make(u, tgid, v, n);
	p->sum = list_sum(&u->list);
	err = proc_take_files(u, p);
	if (!err)
		err = u->sink.proc(u->sink.ctx, tgid, &u->list);
	if (err) {
		proc_free(u, p, now_ns);
		return err;
	}
	if (old) {
		HASH_DEL(u->procs, old);
		proc_free(u, old, now_ns);
	}
	HASH_ADD(hh, u->procs, tgid, sizeof(p->tgid), p);
	return 0;
}

int utable_proc_drop(struct utable *u, uint32_t tgid, uint64_t now_ns)
{
	struct proc *p = proc_find(u, tgid);

	if (!p)
		return -ENOENT;
	HASH_DEL(u->procs, p);
	proc_free(u, p, now_ns);
	return u->sink.proc_drop(u->sink.ctx, tgid);
}

struct utable_stats utable_stats(const struct utable *u)
{
	return (struct utable_stats){
		.files = HASH_COUNT(u->files),
		.procs = HASH_COUNT(u->procs),
		.rules = u->rules.n - u->rules.nfree,
		.pages = u->pages,
		.rules_refused = u->rules_refused,
		.maps_refused = u->maps_refused,
		.files_refused = u->files_refused,
	};
}
