/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "sym/demangle.h"
#include "sym/mapfile.h"
#include "target/codemaps.h"
#include "target/procfs.h"

#define REFRESH_NS   100000000ULL  /* the pause between two readings of the maps */
#define REFRESH_DUTY 50		   /* it is at least so many times what the last one took */
#define CHANGED_DUTY 10		   /* likewise, when we were told of a change */
#define DIGEST_NS    1000000000ULL /* between two looks at what code is mapped */
#define DIGEST_DUTY  2000	   /* and this many times what the last one took */
#define UNASKED_NS   9000000000ULL /* more, while nobody asks for names */
#define VDSO_MAX     (256U << 10)
#define GONE_MAX     256 /* unmapped regions that keep their names */

/* An executable mapping of a file or the vDSO. */
struct region {
	struct mapping map;
	char *name;	       /* base name, never NULL */
	struct image *image;   /* of ref, or own (vDSO); NULL: not loaded */
	struct image_ref *ref; /* NULL for the vDSO */
	int rc;		       /* of loading; 1: not tried yet */
	bool unread;	       /* for want of budget: counted */
	uint32_t mark;	       /* symproc_file_next()'s last */
};

struct symproc {
	pid_t pid;
	int proc_fd;
	struct image_cache *cache;
	struct maps *maps;
	struct region *regions; /* sorted, disjoint */
	size_t n_regions;
	uint64_t next_refresh; /* monotonic ns: for an unknown address */
	uint64_t next_changed; /* when dirty */
	/* digest of the code that is mapped, 0: not looked at yet; and when the next look is due */
	uint64_t digest, next_digest;
	bool asked; /* for a name since then */
	bool dirty, ended;
	uint64_t opened_ns, read_ns; /* the budget for reading files, and what was spent of it */
	size_t unread;
	char other[64];		   /* klass of what is no region */
	char text[FRAME_NAME_MAX]; /* method of a fallback */
};

/* ---- regions --------------------------------------------------------------------------------- */

static void region_free(struct region *r)
{
	if (r->ref)
		image_ref_put(r->ref);
	else
		image_free(r->image);
	free(r->name);
}

static bool is_vdso(const char *path)
{
	return !strcmp(path, "[vdso]");
}

/* The last component, cut to a sensible length, without control characters: a class's name. */
static char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *s = strndup(slash && slash[1] ? slash + 1 : path, FRAME_NAME_MAX / 4);

	for (char *p = s; p && *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	if (s)
		frame_klass_round(s, strlen(s));
	return s;
}

static bool same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->offset == b->offset && a->inode == b->inode &&
	       a->major == b->major && a->minor == b->minor;
}

static struct region *region_find(const struct symproc *sp, uint64_t addr)
{
	size_t lo = 0, hi = sp->n_regions;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (sp->regions[mid].map.start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < sp->regions[lo - 1].map.end ? &sp->regions[lo - 1] : NULL;
}

/* Whether any mapping shares an address with [start, end). */
static bool is_mapped(const struct maps *m, uint64_t start, uint64_t end)
{
	size_t lo = 0, hi = maps_count(m);

	while (lo < hi) { /* the first that ends behind start */
		size_t mid = lo + (hi - lo) / 2;

		if (maps_at(m, mid)->end <= start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < maps_count(m) && maps_at(m, lo)->start < end;
}

static int region_order(const void *a, const void *b)
{
	const struct region *x = a, *y = b;

	return x->map.start < y->map.start ? -1 : x->map.start > y->map.start;
}

/* Move the old region of a mapping that is still there, else make one. */
static int region_take(struct symproc *sp, const struct mapping *mp, const char *path,
		       struct region *out)
{
	struct region *old = region_find(sp, mp->start);

	if (old && old->name && same_mapping(&old->map, mp)) {
		*out = *old;
		out->map = *mp;
		/* not opened, perhaps because the mapping was split: cheap to try again */
		if (out->rc == -ENOENT || out->rc == -ESTALE)
			out->rc = 1;
		old->name = NULL; /* moved */
		return 0;
	}
	*out = (struct region){.map = *mp, .name = base_name(path), .rc = 1};
	return out->name ? 0 : -ENOMEM;
}

/*
 * Frees what was not moved, but keeps images whose addresses nothing else uses now, since late
 * samples need them.
 */
static size_t keep_gone(struct symproc *sp, struct region *v, size_t n)
{
	size_t gone = 0;

	for (size_t i = 0; i < sp->n_regions; i++) {
		struct region *r = &sp->regions[i];

		if (!r->name)
			continue;
		if (r->image && gone < GONE_MAX && !is_mapped(sp->maps, r->map.start, r->map.end)) {
			v[n + gone++] = *r;
			continue;
		}
		region_free(r);
	}
	return n + gone;
}

static int regions_update(struct symproc *sp)
{
	size_t n = 0, want = 0;
	struct region *v;
	int rc = 0;

	for (size_t i = 0; i < maps_count(sp->maps); i++)
		want += !!(maps_at(sp->maps, i)->prot & MAPPING_EXEC);
	v = calloc(want + GONE_MAX, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < maps_count(sp->maps) && !rc; i++) {
		const struct mapping *mp = maps_at(sp->maps, i);
		const char *path = maps_path(sp->maps, mp);

		if ((mp->prot & MAPPING_EXEC) && (mapping_is_file(mp) || is_vdso(path)))
			rc = region_take(sp, mp, path, &v[n++]);
	}
	if (rc)
		n--; /* the last has no name */
	n = keep_gone(sp, v, n);
	free(sp->regions);
	sp->regions = v;
	sp->n_regions = n;
	qsort(v, n, sizeof(*v), region_order);
	return rc;
}

static int refresh(struct symproc *sp)
{
	uint64_t generation = maps_generation(sp->maps), start = now_ns(), took;
	int rc = maps_read(sp->maps, sp->proc_fd);

	sp->dirty = false;
	took = now_ns() - start;
	sp->next_changed = start + took * CHANGED_DUTY;
	sp->next_refresh =
		start + (took * REFRESH_DUTY > REFRESH_NS ? took * REFRESH_DUTY : REFRESH_NS);
	if (rc == -ESRCH)
		sp->ended = true;
	if (rc || maps_generation(sp->maps) == generation)
		return rc;
	return regions_update(sp);
}

/* ---- loading --------------------------------------------------------------------------------- */

static int load_vdso(struct symproc *sp, struct region *r)
{
	struct elf_file *f;
	void *bytes;
	size_t len;
	int rc = mapfile_read_memory(sp->proc_fd, &r->map, VDSO_MAX, &bytes, &len);

	if (rc)
		return rc;
	rc = elf_file_open_memory(&f, bytes, len);
	if (!rc) {
		rc = image_load(&r->image, f, &(struct debugfile_place){.proc_fd = -1, .path = ""});
		elf_file_close(f);
	}
	free(bytes);
	return rc;
}

static int load_file(struct symproc *sp, struct region *r, const char *path)
{
	const struct debugfile_place place = {sp->pid, sp->proc_fd, path};
	struct broker_file file;
	int fd = mapfile_open(sp->pid, sp->proc_fd, &r->map, path, &file), rc;

	if (fd < 0)
		return fd;
	rc = image_cache_get(sp->cache, fd, &file, &place, &r->ref);
	if (!rc)
		r->image = image_ref_image(r->ref);
	return rc;
}

bool symproc_may_read(const struct symproc *sp)
{
	return sp->read_ns <= SYMPROC_READ_NS + (now_ns() - sp->opened_ns) / SYMPROC_READ_SHARE;
}

void symproc_has_read(struct symproc *sp, uint64_t cpu_ns)
{
	sp->read_ns += cpu_ns;
}

size_t symproc_unread(const struct symproc *sp)
{
	return sp->unread;
}

static int region_read(struct symproc *sp, struct region *r, const char *path)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int rc = mapping_is_file(&r->map) ? load_file(sp, r, path) : load_vdso(sp, r);

	symproc_has_read(sp, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
	return rc;
}

static int region_load(struct symproc *sp, struct region *r)
{
	const struct mapping *mp;

	if (r->rc <= 0)
		return r->rc;
	if (!symproc_may_read(sp)) {
		sp->unread += !r->unread;
		r->unread = true;
		return -EAGAIN; /* there may be time later */
	}
	mp = maps_find(sp->maps, r->map.start);
	if (!mp || !same_mapping(mp, &r->map))
		return r->rc = -ESTALE;
	r->rc = region_read(sp, r, maps_path(sp->maps, mp));
	if (r->rc)
		log_info("no symbols of '%s' in process %d: %s", r->name, sp->pid,
			 strerror(-r->rc));
	return r->rc;
}

/* ---- open and close -------------------------------------------------------------------------- */

static int open_error(pid_t pid, int rc, struct error *e)
{
	switch (rc) {
	case -ESRCH:
	case -ENOENT:
		return error_set(e, -ESRCH, EXIT_TARGET,
				 "process %d has ended or is a kernel thread", pid);
	case -EACCES:
	case -EPERM:
		error_set(e, rc, EXIT_PERMISSION, "cannot read the memory map of process %d", pid);
		if (e)
			error_hint(e, "run as root");
		return rc;
	default:
		return error_set(e, rc, EXIT_INTERNAL, "cannot read '/proc/%d/maps': %s", pid,
				 strerror(-rc));
	}
}

int symproc_open(struct symproc **out, pid_t pid, struct image_cache *cache, struct error *e)
{
	struct symproc *sp = calloc(1, sizeof(*sp));
	char path[32];
	int rc = -ENOMEM;

	if (!sp)
		return open_error(pid, rc, e);
	sp->pid = pid;
	sp->cache = cache;
	sp->opened_ns = now_ns();
	snprintf(path, sizeof(path), "/proc/%d", pid);
	sp->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (sp->proc_fd < 0)
		rc = -errno;
	else if ((sp->maps = maps_new()))
		rc = refresh(sp);
	if (rc) {
		symproc_close(sp);
		return open_error(pid, rc, e);
	}
	*out = sp;
	return 0;
}

void symproc_close(struct symproc *sp)
{
	if (!sp)
		return;
	for (size_t i = 0; i < sp->n_regions; i++)
		region_free(&sp->regions[i]);
	free(sp->regions);
	maps_free(sp->maps);
	if (sp->proc_fd >= 0)
		close(sp->proc_fd);
	free(sp);
}

/* ---- looking up ------------------------------------------------------------------------------ */

static int name_fallback(struct symproc *sp, const char *klass, uint64_t number,
			 struct frame_name *out)
{
	snprintf(sp->text, sizeof(sp->text), "+0x%" PRIx64, number);
	out->klass = klass;
	out->method = sp->text;
	return -ENOENT;
}

/* Names that take too long to demangle are of the file's making, too. */
static bool hit_find(struct symproc *sp, struct image *image, uint64_t vaddr,
		     struct symtab_hit *hit)
{
	uint64_t wasted = demangle_wasted_ns();
	bool found = image_find(image, vaddr, hit);

	symproc_has_read(sp, demangle_wasted_ns() - wasted);
	return found;
}

static int name_in_region(struct symproc *sp, struct region *r, uint64_t addr,
			  struct frame_name *out)
{
	uint64_t offset = addr - r->map.start + r->map.offset, vaddr;
	struct symtab_hit hit;

	if (region_load(sp, r))
		return name_fallback(sp, r->name, offset, out);
	/* the vDSO's mapping has no file offset, but starts with its first segment */
	if (image_vaddr(r->image, offset, &vaddr))
		return name_fallback(sp, r->name, offset, out);
	if (!hit_find(sp, r->image, vaddr, &hit))
		return name_fallback(sp, r->name, vaddr, out);
	if (!hit.name) {
		name_fallback(sp, r->name, hit.start, out);
		return 0;
	}
	out->klass = r->name;
	out->method = hit.name;
	out->type = hit.cpp ? FRAME_CPP : FRAME_NATIVE;
	return 0;
}

/* No region: memory without a file, data of a file, or nothing. */
static int name_other(struct symproc *sp, const struct mapping *mp, uint64_t addr,
		      struct frame_name *out)
{
	const char *path = mp ? maps_path(sp->maps, mp) : NULL;

	if (mp && mapping_is_file(mp)) {
		char *base = base_name(path);

		snprintf(sp->other, sizeof(sp->other), "%s", base ? base : "(file)");
		free(base);
		return name_fallback(sp, sp->other, addr - mp->start + mp->offset, out);
	}
	out->klass = KLASS_UNKNOWN;
	out->method = "[unknown]";
	if (!path)
		return -ENOENT;
	/* "[anon:NAME]" is the target's choice of words; "[stack:TID]" is older kernels' */
	if (path[0] != '[' || strchr(path, ':'))
		path = "[anon]";
	snprintf(sp->text, sizeof(sp->text), "%s", path);
	snprintf(sp->other, sizeof(sp->other), "%s", path);
	frame_klass_round(sp->other, strlen(sp->other));
	out->klass = sp->other;
	out->method = sp->text;
	return -ENOENT;
}

static void refresh_if_due(struct symproc *sp, uint64_t addr)
{
	uint64_t due = sp->dirty ? sp->next_changed : sp->next_refresh;

	if (!sp->ended && (sp->dirty || !maps_find(sp->maps, addr)) && now_ns() >= due)
		refresh(sp);
}

int symproc_lookup(struct symproc *sp, uint64_t addr, struct frame_name *out)
{
	struct region *r = sp->dirty ? NULL : region_find(sp, addr);

	*out = (struct frame_name){.sig = "", .line = -1, .bci = -1, .type = FRAME_NATIVE};
	sp->asked = true;
	if (!r) {
		refresh_if_due(sp, addr);
		r = region_find(sp, addr);
	}
	if (r)
		return name_in_region(sp, r, addr, out);
	return name_other(sp, maps_find(sp->maps, addr), addr, out);
}

void symproc_changed(struct symproc *sp)
{
	sp->dirty = !sp->ended;
}

bool symproc_moved(struct symproc *sp, uint64_t now)
{
	uint64_t begin = now_ns(), before = sp->digest;

	if (sp->ended || now < sp->next_digest ||
	    (!sp->asked && now < sp->next_digest + UNASKED_NS))
		return false;
	sp->asked = false;
	if (codemaps_digest(sp->maps, sp->proc_fd, &sp->digest))
		sp->digest = before;
	sp->next_digest = now + DIGEST_NS + (now_ns() - begin) * DIGEST_DUTY;
	return before && sp->digest != before;
}

int symproc_refresh(struct symproc *sp)
{
	return sp->ended ? -ESRCH : refresh(sp);
}

bool symproc_file_next(struct symproc *sp, uint32_t mark, struct symproc_file *out)
{
	for (size_t i = 0; i < sp->n_regions; i++) {
		struct region *r = &sp->regions[i];

		if (!r->ref || r->mark == mark) /* the vDSO has none: it is no file */
			continue;
		r->mark = mark;
		*out = (struct symproc_file){
			.name = r->name,
			.start = r->map.start,
			.end = r->map.end,
			.offset = r->map.offset,
			.id = image_build_id(r->image),
		};
		return true;
	}
	return false;
}

const struct maps *symproc_maps(const struct symproc *sp)
{
	return sp->maps;
}

int symproc_proc_fd(const struct symproc *sp)
{
	return sp->proc_fd;
}

bool symproc_ended(const struct symproc *sp)
{
	return sp->ended;
}
