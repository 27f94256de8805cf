/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "broker/broker.h"
#include "jvm/perfdata.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"
#include "target/maps.h"
#include "target/procfs.h"

#define NEAR	     512u /* bytes between two values that are rather read than left out */
#define RANGES	     24
#define AT_ONCE	     32768u /* bytes: all that a JVM has, if it was not told otherwise */
#define PROPERTY_MAX 65536  /* bytes of a text that is read once */
#define PATH_BYTES   4096

struct slot {
	uint32_t at, bytes; /* at 0: there is none */
	char type;
};

struct range {
	uint32_t from, to;
	bool glance; /* counters_glance() reads it */
};

struct counters {
	struct mem *mem;
	bool own; /* mem */
	uint64_t start;
	int file;		/* that they lie in, -1: they are read from memory */
	uint64_t in_file;	/* where */
	uint64_t statics, heap; /* of counters_place() */
	int release;
	uint32_t used, entries; /* as indexed; entries 0: not yet */
	uint8_t *values;	/* a copy of all, of which the ranges are kept up to date */
	struct slot slots[COUNTERS];
	struct range ranges[RANGES];
	unsigned int nranges;
};

/* ---- names -------------------------------------------------------------------------------------
 */

static const char *const names[CTR_COLLECTOR] = {
	[CTR_HZ] = "sun.os.hrt.frequency",
	[CTR_TICKS] = "sun.os.hrt.ticks",
	[CTR_BEGIN_MS] = "sun.rt.createVmBeginTime",
	[CTR_CAUSE] = "sun.gc.cause",
	[CTR_LAST_CAUSE] = "sun.gc.lastCause",
	[CTR_THREADS_LIVE] = "java.threads.live",
	[CTR_THREADS_PEAK] = "java.threads.livePeak",
	[CTR_THREADS_DAEMON] = "java.threads.daemon",
	[CTR_THREADS_STARTED] = "java.threads.started",
	[CTR_LOADED] = "java.cls.loadedClasses",
	[CTR_LOADED_SHARED] = "java.cls.sharedLoadedClasses",
	[CTR_UNLOADED] = "java.cls.unloadedClasses",
	[CTR_UNLOADED_SHARED] = "java.cls.sharedUnloadedClasses",
	[CTR_SAFEPOINTS] = "sun.rt.safepoints",
	[CTR_SAFEPOINT_TIME] = "sun.rt.safepointTime",
	[CTR_SAFEPOINT_SYNC] = "sun.rt.safepointSyncTime",
	[CTR_META_USED] = "sun.gc.metaspace.used",
	[CTR_META_CAPACITY] = "sun.gc.metaspace.capacity",
	[CTR_META_MAX] = "sun.gc.metaspace.maxCapacity",
	[CTR_CLASS_USED] = "sun.gc.compressedclassspace.used",
	[CTR_CLASS_CAPACITY] = "sun.gc.compressedclassspace.capacity",
	[CTR_CLASS_MAX] = "sun.gc.compressedclassspace.maxCapacity",
	[CTR_TLAB_ALLOC] = "sun.gc.tlab.alloc",
};

static int word_find(const char *const *words, unsigned int n, const char *word)
{
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(words[i], word))
			return (int)i;
	return -1;
}

/* One digit below `max` and a dot, after which *rest points. */
static int digit_of(const char *s, unsigned int max, const char **rest)
{
	if (s[0] < '0' || (unsigned int)(s[0] - '0') >= max || s[1] != '.')
		return -1;
	*rest = s + 2;
	return s[0] - '0';
}

static int collector_find(const char *s)
{
	static const char *const words[] = {"name", "invocations", "time", "lastEntryTime",
					    "lastExitTime"};
	int n = digit_of(s, COUNTERS_COLLECTORS, &s), w = n < 0 ? -1 : word_find(words, 5, s);

	return w < 0 ? -1 : (int)ctr_collector((unsigned int)n, (enum counter_collector)w);
}

static int gen_find(const char *s)
{
	static const char *const of_gen[] = {"capacity", "maxCapacity", "name"};
	static const char *const of_space[] = {"used", "capacity"};
	int g = digit_of(s, COUNTERS_GENS, &s), n, w;

	if (g < 0)
		return -1;
	if (strncmp(s, "space.", 6)) {
		w = word_find(of_gen, 3, s);
		return w < 0 ? -1 : (int)ctr_gen((unsigned int)g, (enum counter_gen)w);
	}
	n = digit_of(s + 6, COUNTERS_SPACES, &s);
	w = n < 0 ? -1 : word_find(of_space, 2, s);
	return w < 0 ? -1 : (int)ctr_space((unsigned int)g, (unsigned int)n, (enum counter_space)w);
}

static int name_find(const char *name)
{
	if (!strncmp(name, "sun.gc.collector.", 17))
		return collector_find(name + 17);
	if (!strncmp(name, "sun.gc.generation.", 18))
		return gen_find(name + 18);
	return word_find(names, CTR_COLLECTOR, name);
}

/* ---- the index ---------------------------------------------------------------------------------
 */

static bool on_entry(void *ctx, const struct perfdata_entry *e)
{
	struct counters *c = ctx;
	int id = name_find(e->name);

	if (id >= 0 && !c->slots[id].at)
		c->slots[id] = (struct slot){e->at, e->bytes, e->type};
	return true;
}

static int slot_order(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Names never change, and are read with the rest. */
static bool is_glance(unsigned int id)
{
	return id >= CTR_COLLECTOR &&
	       !(id < CTR_GEN && (id - CTR_COLLECTOR) % 5 == COLLECTOR_NAME) &&
	       !(id >= CTR_GEN && id < CTR_SPACE && (id - CTR_GEN) % 3 == GEN_NAME);
}

/* What has to be read, in few pieces: beyond RANGES the last one takes all that follows. */
static void ranges_make(struct counters *c)
{
	struct range all[COUNTERS + 1] = {{0, PERFDATA_PROLOGUE, false}};
	unsigned int n = 1;

	for (unsigned int i = 0; i < COUNTERS; i++)
		if (c->slots[i].at)
			all[n++] = (struct range){c->slots[i].at,
						  c->slots[i].at + c->slots[i].bytes, is_glance(i)};
	qsort(all, n, sizeof(*all), slot_order);
	c->nranges = 0;
	for (unsigned int i = 0; i < n; i++) {
		struct range *last = c->nranges ? &c->ranges[c->nranges - 1] : NULL;

		if (last && (c->nranges == RANGES || all[i].from <= last->to + NEAR)) {
			last->to = all[i].to > last->to ? all[i].to : last->to;
			last->glance |= all[i].glance;
		} else {
			c->ranges[c->nranges++] = all[i];
		}
	}
}

static int bytes_read(struct counters *c, uint32_t at, void *to, size_t n)
{
	if (c->file < 0)
		return mem_read_now(c->mem, c->start + at, to, n);
	return pread(c->file, to, n, (off_t)(c->in_file + at)) == (ssize_t)n ? 0 : -EFAULT;
}

static int head_read(struct counters *c, struct perfdata_head *h)
{
	uint8_t p[PERFDATA_PROLOGUE];

	if (bytes_read(c, 0, p, sizeof(p)))
		return -EFAULT;
	return perfdata_head(p, sizeof(p), h);
}

/* All of it as it is now, in memory of its own. */
static int copy_read(struct counters *c, struct perfdata_head *h, uint8_t **out)
{
	int rc = head_read(c, h);

	if (rc)
		return rc;
	if (!h->accessible)
		return -EAGAIN;
	*out = malloc(h->used);
	if (!*out)
		return -ENOMEM;
	if (bytes_read(c, 0, *out, h->used)) {
		free(*out);
		return -EFAULT;
	}
	return 0;
}

static int index_make(struct counters *c)
{
	struct perfdata_head h;
	uint8_t *copy;
	int rc = copy_read(c, &h, &copy);

	if (rc)
		return rc;
	free(c->values);
	c->values = copy;
	memset(c->slots, 0, sizeof(c->slots));
	/* entries that end early: those of before hold */
	perfdata_each(copy, h.used, on_entry, c);
	ranges_make(c);
	c->used = h.used;
	c->entries = h.entries;
	return 0;
}

/* ---- polling -----------------------------------------------------------------------------------
 */

/*
 * Each read of memory is preceded by a question whether that may be read, which costs more than the
 * bytes between the pieces.
 */
static bool at_once(const struct counters *c)
{
	return c->file < 0 && c->nranges &&
	       c->ranges[c->nranges - 1].to - c->ranges[0].from <= AT_ONCE;
}

static int values_read(struct counters *c, bool glance)
{
	if (!glance && at_once(c)) {
		uint32_t from = c->ranges[0].from, to = c->ranges[c->nranges - 1].to;

		return bytes_read(c, from, c->values + from, to - from);
	}
	for (unsigned int i = 0; i < c->nranges; i++) {
		const struct range *r = &c->ranges[i];

		if (glance && !r->glance)
			continue;
		if (bytes_read(c, r->from, c->values + r->from, r->to - r->from))
			return -EFAULT;
	}
	return 0;
}

int counters_poll(struct counters *c)
{
	struct perfdata_head h;
	int rc;

	if (!c->entries)
		return index_make(c);
	rc = values_read(c, false);
	if (!rc)
		rc = perfdata_head(c->values, PERFDATA_PROLOGUE, &h);
	if (!rc && (h.used != c->used || h.entries != c->entries))
		rc = index_make(c);
	return rc;
}

int counters_glance(struct counters *c)
{
	return c->entries ? values_read(c, true) : counters_poll(c);
}

struct gctimer_place counters_place(const struct counters *c)
{
	return (struct gctimer_place){c->mem, c->statics, c->heap, c->release};
}

bool counter_number(const struct counters *c, unsigned int id, uint64_t *v)
{
	const struct slot *s = id < COUNTERS ? &c->slots[id] : NULL;

	if (!s || !s->at || s->type != PERFDATA_LONG || s->bytes != sizeof(*v))
		return false;
	memcpy(v, c->values + s->at, sizeof(*v));
	return true;
}

uint64_t counter_value(const struct counters *c, unsigned int id)
{
	uint64_t v;

	return counter_number(c, id, &v) ? v : 0;
}

static void text_copy(const uint8_t *from, size_t bytes, char *buf, size_t cap)
{
	size_t n = strnlen((const char *)from, bytes);

	if (n > cap - 1)
		n = cap - 1;
	memcpy(buf, from, n);
	buf[n] = '\0';
	utf8_clean(buf, n, false);
}

bool counter_text(const struct counters *c, unsigned int id, char *buf, size_t cap)
{
	const struct slot *s = id < COUNTERS ? &c->slots[id] : NULL;

	if (!s || !s->at || s->type != PERFDATA_STRING)
		return false;
	text_copy(c->values + s->at, s->bytes, buf, cap);
	return true;
}

struct texts {
	const uint8_t *p;
	const char *prefix;
	counters_text_fn fn;
	void *ctx;
	char *buf;
};

static bool on_text(void *ctx, const struct perfdata_entry *e)
{
	struct texts *t = ctx;
	size_t n = strlen(t->prefix);

	if (e->type != PERFDATA_STRING || strncmp(e->name, t->prefix, n))
		return true;
	text_copy(t->p + e->at, e->bytes, t->buf, PROPERTY_MAX);
	t->fn(t->ctx, e->name + n, t->buf);
	return true;
}

int counters_texts(struct counters *c, const char *prefix, counters_text_fn fn, void *ctx)
{
	struct texts t = {.prefix = prefix, .fn = fn, .ctx = ctx};
	struct perfdata_head h;
	uint8_t *copy;
	int rc = copy_read(c, &h, &copy);

	if (rc)
		return rc;
	t.p = copy;
	t.buf = malloc(PROPERTY_MAX);
	if (t.buf)
		perfdata_each(copy, h.used, on_text, &t);
	rc = t.buf ? 0 : -ENOMEM;
	free(t.buf);
	free(copy);
	return rc;
}

/* ---- where they lie ----------------------------------------------------------------------------
 */

/* A mapping, as far as it matters here. */
struct place {
	struct broker_mapping is;
	uint64_t offset;
	char path[PATH_BYTES]; /* "" none, or too long */
};

/* "/tmp/hsperfdata_USER/NUMBER", as the JVM names it. */
static bool path_is_perfdata(const char *path)
{
	const char *dir = strstr(path, "/hsperfdata_"), *number = dir ? strchr(dir + 1, '/') : NULL;
	size_t n = number ? strspn(number + 1, "0123456789") : 0;

	return n && !number[n + 1];
}

struct place_wanted {
	bool any; /* and not of a hsperfdata file alone */
	struct place *out;
};

static bool place_is_wanted(void *ctx, const struct mapping *m, const char *path)
{
	const struct place_wanted *w = ctx;

	if (!w->any && !path_is_perfdata(path))
		return false;
	*w->out = (struct place){
		.is = {.start = m->start,
		       .end = m->end,
		       .major = m->major,
		       .minor = m->minor,
		       .inode = m->inode},
		.offset = m->offset,
	};
	if (strlen(path) < sizeof(w->out->path))
		strcpy(w->out->path, path);
	return true;
}

/* The mapping that holds *addr or, where that is 0, the first of a hsperfdata file. */
static int place_find(pid_t pid, uint64_t *addr, struct place *out)
{
	struct place_wanted w = {*addr != 0, out};
	int rc = mem_mapping_find(pid, *addr, place_is_wanted, &w);

	*addr = rc || *addr ? *addr : out->is.start;
	return rc;
}

struct device {
	unsigned int major, minor;
	bool found, answers;
};

/* File systems whose pages come from somebody who may keep whoever asks waiting for ever. */
static bool fstype_answers(const char *t)
{
	static const char *const remote[] = {"fuse", "nfs",	  "cifs",   "smb",     "9p",
					     "afs",  "ceph",	  "gfs",    "ocfs",    "lustre",
					     "coda", "glusterfs", "beegfs", "virtiofs"};

	for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++)
		if (!strncmp(t, remote[i], strlen(remote[i])))
			return false;
	return true;
}

static int on_mount(const struct proc_mount *m, void *arg)
{
	struct device *d = arg;

	if (m->dev_major != d->major || m->dev_minor != d->minor)
		return 0;
	d->found = true;
	d->answers = fstype_answers(m->fstype);
	return 1;
}

/*
 * A page of a file whose server hangs makes whoever reads it hang, past any signal. A device that
 * neither the process nor we have mounted is a disk's (of an overlay's layers, say), or is told by
 * nobody: then it may be anything.
 */
static bool place_answers(pid_t pid, const struct place *p)
{
	struct device d = {.major = p->is.major, .minor = p->is.minor};
	const pid_t whose[] = {pid, 0};

	if (!p->is.major && !p->is.minor)
		return true; /* anonymous */
	for (int i = 0; i < 2 && !d.found; i++) {
		char *text = NULL;
		size_t len;

		if (proc_read_all(whose[i] ? whose[i] : getpid(), "mountinfo", 4u << 20, &text,
				  &len))
			continue;
		proc_mountinfo_parse(text, len, on_mount, &d);
		free(text);
	}
	return d.found ? d.answers : p->is.major != 0;
}

/* By the JVM's structures. 0, -ENODATA, -EAGAIN or -ENOENT. */
static int start_of(struct vm *vm, uint64_t *start)
{
	if (vm->at.perf_start == VM_NONE)
		return -ENOENT;
	if (mem_read_now(vm->mem, vm->at.perf_start, start, sizeof(*start)))
		return -ESRCH;
	if (*start)
		return 0;
	return vm_flag(vm, "UsePerfData") == 0 ? -ENODATA : -EAGAIN;
}

static int start_find(pid_t pid, struct vm *vm, uint64_t *start, struct place *p)
{
	int rc = vm ? start_of(vm, start) : -ENOENT;

	if (rc && rc != -ENOENT)
		return rc;
	rc = place_find(pid, start, p);
	if (!rc && !place_answers(pid, p))
		rc = -ESTALE;
	return rc;
}

/*
 * The very file that is mapped there: whatever comes to lie at the address later, and however large
 * the file is then, reads of it end. A copy is of no use: they change.
 */
static int place_open(pid_t pid, const struct place *p)
{
	int dir = p->is.inode ? proc_dir_open(pid) : -1, fd;
	struct broker_file file;

	if (dir < 0)
		return -1;
	fd = broker_mapped(pid, dir, &p->is, p->path[0] == '/' ? p->path : NULL, &file);
	close(dir);
	if (fd < 0 || !file.copied)
		return fd < 0 ? -1 : fd;
	close(fd);
	return -1;
}

struct counters *counters_new(struct mem *mem, uint64_t start)
{
	struct counters *c = calloc(1, sizeof(*c));

	if (c) {
		c->mem = mem;
		c->start = start;
		c->file = -1;
	}
	return c;
}

void counters_place_set(struct counters *c, uint64_t statics, uint64_t heap, int release)
{
	c->statics = statics;
	c->heap = heap;
	c->release = release;
}

static uint64_t known(uint64_t addr)
{
	return addr == VM_NONE ? 0 : addr;
}

int counters_open(struct counters **out, pid_t pid, struct vm *vm)
{
	struct place place;
	uint64_t start = 0;
	int rc = start_find(pid, vm, &start, &place);
	struct mem *mem;

	if (rc)
		return rc;
	mem = mem_open(pid);
	if (!mem)
		return errno == ENOENT ? -ESRCH : -errno;
	*out = counters_new(mem, start);
	if (!*out) {
		mem_close(mem);
		return -ENOMEM;
	}
	(*out)->own = true;
	(*out)->file = place_open(pid, &place);
	(*out)->in_file = place.offset + (start - place.is.start);
	if (vm)
		counters_place_set(*out, known(vm->at.perf_start), known(vm->at.heap), vm->release);
	rc = counters_poll(*out);
	if (rc) {
		counters_close(*out);
		*out = NULL;
	}
	return rc;
}

void counters_close(struct counters *c)
{
	if (!c)
		return;
	if (c->own)
		mem_close(c->mem);
	if (c->file >= 0)
		close(c->file);
	free(c->values);
	free(c);
}

const char *counters_why(int rc)
{
	switch (rc) {
	case -ENODATA:
		return "the JVM runs with -XX:-UsePerfData";
	case -EAGAIN:
		return "the JVM is still starting";
	case -ENOENT:
		return "neither VM structures nor a hsperfdata file lead to them";
	case -ESTALE:
		return "they are in a file of a file system that may not answer";
	case -EBADMSG:
		return "they are damaged";
	default:
		return strerror(rc < 0 ? -rc : rc);
	}
}
