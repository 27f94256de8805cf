/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/tables.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <uthash.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "jvm/codecache.h"
#include "jvm/monitors.h"
#include "jvm/threads.h"
#include "jvm/vmstructs.h"
#include "sym/ehframe.h"
#include "sym/elf.h"
#include "sym/mapfile.h"
#include "sym/proc.h"
#include "wire/unwinder.h"

#define VDSO_MAX   (1u << 20)
#define KNOWN_MAX  4096		     /* files remembered */
#define OPENED_MAX (4 * UW_MAX_MAPS) /* so many mappings' files are looked at in one update */

/* Tells one file from another without a look into it. */
struct file_key {
	uint64_t dev, ino, size, mtime_ns, ctime_ns, salt;
};

/*
 * What a table is made of. Copies of a file, as containers have them, share a table by it. The
 * build id would not do, since a target chooses that.
 */
struct content {
	struct {
		uint64_t vaddr, size;
		struct digest digest;
	} eh_frame, debug_frame; /* all 0: there is none */
};
_Static_assert(sizeof(struct content) <= UNWIND_KEY_MAX, "content is the table's key");

/* A file that was looked at, perhaps in vain. While its key is the same nothing of it changes. */
struct known_file {
	struct file_key key;
	int rc; /* the result of looking at it */
	struct content content;
	UT_hash_handle hh;
};

struct jvm_entry {
	pid_t tgid;
	struct gn_jvm jvm;
	unsigned int looks; /* how often its compilers' threads were looked for */
	UT_hash_handle hh;
};

struct tables {
	const struct unwinder *unwinder;
	struct jvm_entry *jvms;
	struct known_file *known;
	struct digest_key secret;
	unsigned int shared;	/* files whose table was there already */
	pid_t tgid;		/* whose tables are being made */
	uint32_t rules_refused; /* of the file that was published last */
	uint64_t refused_now;	/* of all that this update published */
	uint32_t warned_files, warned_large, warned_rules,
		warned_maps; /* warnings that were given already */
	bool unsettled;
	size_t unread; /* files of the last update, for want of budget */
	uint64_t compile_ns;
};

int tables_new(struct tables **out, const struct unwinder *u, struct error *e)
{
	struct tables *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	t->unwinder = u;
	rc = digest_key_make(&t->secret);
	if (rc) {
		free(t);
		return error_set(e, rc, EXIT_KERNEL, "no random numbers: %s", strerror(-rc));
	}
	*out = t;
	return 0;
}

/* ---- files that were looked at ---- */

static void known_forget(struct tables *t, bool only_failed)
{
	struct known_file *f, *tmp;

	HASH_ITER(hh, t->known, f, tmp) {
		if (only_failed && !f->rc)
			continue;
		HASH_DEL(t->known, f);
		free(f);
	}
}

static const struct known_file *known_find(const struct tables *t, const struct file_key *key)
{
	struct known_file *f;

	HASH_FIND(hh, t->known, key, sizeof(*key), f);
	return f;
}

/* The error that the file has led to before; 0: none. */
static int failed_before(const struct tables *t, const struct file_key *key)
{
	const struct known_file *f = known_find(t, key);

	return f ? f->rc : 0;
}

/* Whether the error is the file's own. A shortage (of memory, of descriptors) may be over later. */
static bool fails_for_good(int rc)
{
	return rc == -ENOENT || rc == -ENOEXEC || rc == -EBADMSG || rc == -EINVAL || rc == -E2BIG ||
	       rc == -ENOTSUP || rc == -ENOSPC;
}

/* Remembers what the file's table is made of, or why it has none (rc). */
static void known_note(struct tables *t, const struct file_key *key, int rc,
		       const struct content *content)
{
	struct known_file *f;

	if (rc && !fails_for_good(rc)) {
		t->unsettled = true;
		return;
	}
	if (HASH_COUNT(t->known) >= KNOWN_MAX)
		known_forget(t, false);
	HASH_FIND(hh, t->known, key, sizeof(*key), f);
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return;
		f->key = *key;
		HASH_ADD(hh, t->known, key, sizeof(f->key), f);
	}
	f->rc = rc;
	f->content = content ? *content : (struct content){0};
}

void tables_free(struct tables *t)
{
	struct jvm_entry *j, *tmp;

	if (!t)
		return;
	HASH_ITER(hh, t->jvms, j, tmp) {
		HASH_DEL(t->jvms, j);
		free(j);
	}
	known_forget(t, false);
	free(t);
}

/* ---- files ---- */

struct sections {
	struct elf_bytes eh_frame, debug_frame; /* data NULL: there is none */
};

static void sections_free(struct sections *s)
{
	free(s->eh_frame.data);
	free(s->debug_frame.data);
}

/* 0 if the file has at least one of the two. */
static int sections_read(const struct elf_file *f, struct sections *s)
{
	int rc;

	*s = (struct sections){0};
	rc = elf_file_bytes(f, ".eh_frame", &s->eh_frame);
	return elf_file_bytes(f, ".debug_frame", &s->debug_frame) ? rc : 0;
}

static struct content sections_content(const struct tables *t, const struct sections *s)
{
	const struct elf_bytes *eh = &s->eh_frame, *debug = &s->debug_frame;
	struct content c = {0};

	if (eh->data) {
		c.eh_frame.vaddr = eh->vaddr;
		c.eh_frame.size = eh->size;
		c.eh_frame.digest = digest_of(&t->secret, eh->data, eh->size);
	}
	if (debug->data) {
		c.debug_frame.vaddr = debug->vaddr;
		c.debug_frame.size = debug->size;
		c.debug_frame.digest = digest_of(&t->secret, debug->data, debug->size);
	}
	return c;
}

static int section_compile(const struct elf_bytes *bytes, bool debug, struct unwind_table *rows)
{
	struct ehframe_section sec = {
		.data = bytes->data,
		.len = bytes->size,
		.vaddr = bytes->vaddr,
		.debug_frame = debug,
	};

	return bytes->data ? ehframe_compile(&sec, 0, rows) : -ENOENT;
}

/*
 * Both sections are compiled: a file whose own code has only .debug_frame is linked with startup
 * code that has .eh_frame.
 */
static int sections_compile(const struct sections *s, struct unwind_table *rows)
{
	struct unwind_table debug;
	int rc = section_compile(&s->eh_frame, false, rows);

	if (section_compile(&s->debug_frame, true, &debug))
		return rc;
	if (rc) {
		*rows = debug;
		return 0;
	}
	ehframe_fill(rows, &debug);
	ehframe_free(&debug);
	return 0;
}

static uint32_t table_find(const struct tables *t, const struct content *content)
{
	return t->unwinder->file_find(t->unwinder->ctx, content, sizeof(*content));
}

static int table_make(struct tables *t, const struct sections *s, const struct content *content,
		      uint32_t *id)
{
	struct unwind_table table;
	int rc = sections_compile(s, &table);

	if (rc)
		return rc;
	rc = t->unwinder->file_add(t->unwinder->ctx, t->tgid, content, sizeof(*content), &table, id,
				   &t->rules_refused);
	ehframe_free(&table);
	return rc;
}

/* The table that a file of the same content has, or a new one. */
static int file_compile(struct tables *t, const struct elf_file *f, struct content *content,
			uint32_t *id)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct sections s;
	int rc = sections_read(f, &s);

	if (!rc) {
		*content = sections_content(t, &s);
		*id = table_find(t, content);
		if (*id == UNWIND_NO_FILE)
			rc = table_make(t, &s, content, id);
		else
			t->shared++;
	}
	sections_free(&s);
	t->compile_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	return rc;
}

/*
 * Finds or makes the file's table. Its keys are addresses as linked: *vaddr becomes that of the
 * mapping's first byte.
 */
static int file_table(struct tables *t, const struct elf_file *f, const struct file_key *key,
		      uint64_t offset, uint32_t *id, uint64_t *vaddr)
{
	const struct known_file *known = known_find(t, key);
	struct content content = {0};
	const struct elf_segment *seg;
	size_t n;
	int rc;

	seg = elf_file_segments(f, &n);
	rc = elf_segments_vaddr(seg, n, offset, vaddr);
	if (rc)
		return rc;
	if (known && known->rc)
		return known->rc;
	*id = known ? table_find(t, &known->content) : UNWIND_NO_FILE;
	if (*id != UNWIND_NO_FILE)
		return 0;
	rc = file_compile(t, f, &content, id);
	known_note(t, key, rc, &content);
	return rc;
}

static int file_mapping(struct tables *t, pid_t tgid, struct symproc *sp, const struct mapping *mp,
			uint32_t *id, uint64_t *vaddr)
{
	struct file_key key = {0};
	struct broker_file file;
	struct elf_file *f;
	int fd, rc;

	fd = mapfile_open(tgid, symproc_proc_fd(sp), mp, maps_path(symproc_maps(sp), mp), &file);
	if (fd < 0)
		return fd;
	key.dev = file.dev;
	key.ino = file.ino;
	key.size = file.size;
	key.mtime_ns = file.mtime_ns;
	key.ctime_ns = file.ctime_ns;
	rc = failed_before(t, &key);
	if (rc) {
		close(fd);
		return rc;
	}
	rc = elf_file_open(&f, fd);
	if (rc) {
		known_note(t, &key, rc, NULL);
		return rc;
	}
	rc = file_table(t, f, &key, mp->offset, id, vaddr);
	elf_file_close(f);
	return rc;
}

/* The same within the process's budget. -EAGAIN: that is spent. */
static int file_in_budget(struct tables *t, pid_t tgid, struct symproc *sp,
			  const struct mapping *mp, uint32_t *id, uint64_t *vaddr)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int rc;

	if (!symproc_may_read(sp)) {
		t->unread++;
		return -EAGAIN;
	}
	rc = file_mapping(t, tgid, sp, mp, id, vaddr);
	symproc_has_read(sp, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
	return rc;
}

/*
 * The vDSO is in no file system and may differ between processes, so the process is part of its
 * key.
 */
static int vdso_mapping(struct tables *t, pid_t tgid, struct symproc *sp, const struct mapping *mp,
			uint32_t *id, uint64_t *vaddr)
{
	struct file_key key = {.ino = mp->start, .salt = (uint64_t)tgid};
	struct elf_file *f;
	void *bytes;
	size_t len;
	int rc;

	rc = mapfile_read_memory(symproc_proc_fd(sp), mp, VDSO_MAX, &bytes, &len);
	if (rc)
		return rc;
	rc = elf_file_open_memory(&f, bytes, len);
	if (!rc) {
		rc = file_table(t, f, &key, 0, id, vaddr);
		elf_file_close(f);
	}
	free(bytes);
	return rc;
}

/* ---- processes ---- */

__attribute__((format(printf, 2, 3))) static void warn_once(uint32_t *said, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if ((*said)++)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_warn("%s", text);
}

/* Warns of what was refused of the file, once for each kind. */
static void refusals_warn(struct tables *t, const char *path, int rc)
{
	if (rc == -ENOSPC)
		warn_once(&t->warned_files,
			  "unwind tables would need more than %llu MB: the code of '%s', and "
			  "perhaps of others, is walked by frame pointers",
			  UNWIND_MAX_BYTES >> 20, path);
	else if (rc == -E2BIG)
		warn_once(&t->warned_large,
			  "the unwind table of '%s' is too large: its code is walked by frame "
			  "pointers",
			  path);
	if (t->rules_refused)
		warn_once(&t->warned_rules,
			  "'%s' has more unwind rules than fit: some of its stacks end early",
			  path);
	t->refused_now += t->rules_refused;
	t->rules_refused = 0;
}

static void mapping_table(struct tables *t, pid_t tgid, struct symproc *sp,
			  const struct mapping *mp, struct unwind_mapping *out)
{
	const char *path = maps_path(symproc_maps(sp), mp);
	uint64_t vaddr = 0;
	uint32_t id = 0;
	int rc = -ENOENT;

	*out = (struct unwind_mapping){.start = mp->start, .end = mp->end, .kind = UW_MAP_FP};
	if (mapping_is_file(mp))
		rc = file_in_budget(t, tgid, sp, mp, &id, &vaddr);
	else if (!strcmp(path, "[vdso]"))
		rc = vdso_mapping(t, tgid, sp, mp, &id, &vaddr);
	refusals_warn(t, path, rc);
	if (rc) {
		if (mapping_is_file(mp)) {
			t->unsettled |= !fails_for_good(rc);
			log_info("no unwind table for '%s': %s", path, strerror(-rc));
		}
		return;
	}
	out->kind = UW_MAP_FILE;
	out->arg = id;
	out->bias = mp->start - vaddr;
}

static struct jvm_entry *jvm_find(struct tables *t, pid_t tgid)
{
	struct jvm_entry *j;

	HASH_FIND_INT(t->jvms, &tgid, j);
	return j;
}

static int jvm_publish(const struct tables *t, const struct jvm_entry *j)
{
	return t->unwinder->jvm_set(t->unwinder->ctx, &j->jvm);
}

/*
 * The process's entry, made if its code heaps can be read. NULL: it is no JVM, or they are not
 * known yet.
 */
static struct jvm_entry *jvm_get(struct tables *t, pid_t tgid, struct vm *vm)
{
	struct jvm_entry *j = jvm_find(t, tgid);

	if (!vm || j)
		return j;
	j = calloc(1, sizeof(*j));
	if (!j)
		return NULL;
	j->tgid = tgid;
	if (codecache_fill(vm, &j->jvm)) {
		free(j);
		return NULL;
	}
	j->jvm.tgid = (uint32_t)tgid;
	if (jvm_publish(t, j)) {
		free(j);
		return NULL;
	}
	HASH_ADD_INT(t->jvms, tgid, j);
	return j;
}

bool tables_meet(struct tables *t, pid_t tgid, struct vm *vm)
{
	return vm && !jvm_find(t, tgid) && jvm_get(t, tgid, vm);
}

static size_t heaps_add(const struct jvm_entry *j, struct unwind_mapping *v)
{
	size_t n = 0;

	for (uint32_t i = 0; j && i < j->jvm.nheaps && i < GN_JVM_HEAPS; i++)
		v[n++] = (struct unwind_mapping){
			.start = j->jvm.heap[i].low,
			.end = j->jvm.heap[i].high,
			.kind = UW_MAP_HOTSPOT,
			.arg = i,
		};
	return n;
}

/*
 * Adds the executable mappings from the top down, since libraries lie at the top, and as many as
 * there is room for.
 */
static size_t mappings_add(struct tables *t, pid_t tgid, struct symproc *native,
			   const struct jvm_entry *jvm, struct unwind_mapping *v)
{
	const struct maps *maps = symproc_maps(native);
	size_t n = 0, opened = 0;

	for (size_t i = maps_count(maps); i-- && n < UW_MAX_MAPS && opened < OPENED_MAX;) {
		const struct mapping *mp = maps_at(maps, i);

		if (!(mp->prot & MAPPING_EXEC) ||
		    (jvm && codecache_heap(&jvm->jvm, mp->start) >= 0))
			continue;
		opened++;
		mapping_table(t, tgid, native, mp, &v[n]);
		n += v[n].kind == UW_MAP_FILE;
	}
	if (opened == OPENED_MAX || n == UW_MAX_MAPS)
		warn_once(&t->warned_maps,
			  "process %d has mapped so much code that what lies lowest is walked by "
			  "frame pointers",
			  tgid);
	return n;
}

int tables_update(struct tables *t, pid_t tgid, struct symproc *native, struct vm *vm,
		  uint64_t now_ns)
{
	struct jvm_entry *jvm = jvm_get(t, tgid, vm);
	struct unwind_mapping *v;
	size_t n, files;
	int rc = -ENOENT;

	t->unsettled = false;
	t->unread = 0;
	t->tgid = tgid;
	t->refused_now = 0;
	v = calloc(UW_MAX_MAPS + GN_JVM_HEAPS + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	n = heaps_add(jvm, v);
	files = mappings_add(t, tgid, native, jvm, v + n);
	if (files)
		rc = t->unwinder->proc_set(t->unwinder->ctx, tgid, v, n + files, now_ns);
	free(v);
	log_debug("unwind tables made: %u files shared one that was there, %.1f ms of compiling",
		  t->shared, (double)t->compile_ns / 1e6);
	return rc;
}

bool tables_unsettled(const struct tables *t)
{
	return t->unsettled;
}

size_t tables_unread(const struct tables *t)
{
	return t->unread;
}

uint64_t tables_refused(const struct tables *t)
{
	return t->refused_now;
}

#define CODER_LOOKS 100 /* after so many looks we take it that the JVM has none (-Xint) */

/* Whether all compilers' threads have become known just now. */
static bool coders_meet(struct tables *t, struct jvm_entry *j, struct vm *vm)
{
	if (j->jvm.flags & GN_JVM_CODERS || j->looks == CODER_LOOKS)
		return false;
	if (!j->looks++ && !codecache_is_compilers(vm, &j->jvm))
		j->looks = CODER_LOOKS;
	if (j->looks == CODER_LOOKS || t->unwinder->coders_met(t->unwinder->ctx, j->tgid))
		return false;
	j->jvm.flags |= GN_JVM_CODERS;
	return true;
}

void tables_follow(struct tables *t, pid_t tgid, struct vm *vm, uint64_t now_ns)
{
	struct jvm_entry *j = jvm_find(t, tgid);

	if (j && vm) {
		bool moved = codecache_refresh(vm, &j->jvm) > 0, met = coders_meet(t, j, vm);

		if (moved || met)
			jvm_publish(t, j);
	}
	if (t->unwinder->freed(t->unwinder->ctx,
			       now_ns)) /* so that files which found no room are tried again */
		known_forget(t, true);
}

int tables_java_thread(struct tables *t, pid_t tgid, pid_t tid, uint64_t thread)
{
	return t->unwinder->java_thread(t->unwinder->ctx, tgid, tid, thread);
}

int tables_carrier(struct tables *t, pid_t tgid, pid_t tid, struct vm *vm, uint64_t slot)
{
	const struct gn_carrier carrier = {.slot = slot};
	struct gn_vthreads layout;
	int rc = vm_vthreads(vm, &layout);

	return rc ? rc : t->unwinder->carrier(t->unwinder->ctx, tgid, tid, &carrier, &layout);
}

int tables_contexts(struct tables *t, pid_t tgid, const struct gn_ctx_places *places)
{
	return t->unwinder->contexts(t->unwinder->ctx, tgid, places);
}

int tables_locks(struct tables *t, pid_t tgid, struct vm *vm)
{
	struct gn_locks locks;
	int rc = vm_locks(vm, &locks);

	return rc ? rc : t->unwinder->locks(t->unwinder->ctx, tgid, &locks);
}

void tables_drop(struct tables *t, pid_t tgid, uint64_t now_ns)
{
	struct jvm_entry *j = jvm_find(t, tgid);

	if (j) {
		HASH_DEL(t->jvms, j);
		free(j);
	}
	t->unwinder->proc_drop(t->unwinder->ctx, tgid, now_ns);
}
