/* SPDX-License-Identifier: Apache-2.0 */
#include "run/retention.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "jfr/segment.h"

#define PAUSE_NS   5000000000ull /* the directory is looked at so often, */
#define PAUSE_PART 200		 /* or, where that takes long, so many times as long, */
#define PAUSE_MOST_NS                                                                              \
	60000000000ull /* but not more seldom: what is written meanwhile is unbounded */

/* ---- what goes ------------------------------------------------------------------------------- */

static int older_first(const void *a, const void *b)
{
	const struct retention_file *x = *(struct retention_file *const *)a,
				    *y = *(struct retention_file *const *)b;

	if (x->age_ns != y->age_ns)
		return x->age_ns < y->age_ns ? 1 : -1;
	return (x->written_ns > y->written_ns) - (x->written_ns < y->written_ns);
}

/* Marks one, if it may go. How many bytes that gives. */
static uint64_t go(struct retention_file *f)
{
	if (f->open || f->goes)
		return 0;
	f->goes = true;
	return f->bytes;
}

/* The oldest go until the rest has `max` bytes at most; files are sorted. */
static void shrink(struct retention_file *const *v, size_t n, uint64_t max)
{
	uint64_t is = 0;

	for (size_t i = 0; i < n; i++)
		is += v[i]->goes ? 0 : v[i]->bytes;
	for (size_t i = 0; i < n && is > max; i++)
		is -= go(v[i]);
}

/* The same for each JVM; `is` has room for a sum of each. */
static void jvms_shrink(struct retention_file *const *v, size_t n, uint64_t max, uint64_t *is)
{
	for (size_t i = 0; i < n; i++)
		is[v[i]->jvm] += v[i]->goes ? 0 : v[i]->bytes;
	for (size_t i = 0; i < n; i++)
		if (is[v[i]->jvm] > max)
			is[v[i]->jvm] -= go(v[i]);
}

/* What was marked already is free soon. */
static void space_make(struct retention_file *const *v, size_t n, uint64_t is, uint64_t min)
{
	for (size_t i = 0; i < n; i++)
		is += v[i]->goes ? v[i]->bytes : 0;
	for (size_t i = 0; i < n && is < min; i++)
		is += go(v[i]);
}

static void plan(const struct retention_policy *p, struct retention_file *const *v, size_t n,
		 uint64_t *sums, uint64_t free_bytes)
{
	for (size_t i = 0; i < n && p->age_max_ns; i++)
		if (v[i]->age_ns > p->age_max_ns)
			go(v[i]);
	if (p->jvm_max_bytes)
		jvms_shrink(v, n, p->jvm_max_bytes, sums);
	if (p->total_max_bytes)
		shrink(v, n, p->total_max_bytes);
	if (p->free_min_bytes)
		space_make(v, n, free_bytes, p->free_min_bytes);
}

int retention_plan(const struct retention_policy *p, struct retention_file *files, size_t n,
		   uint64_t free_bytes)
{
	struct retention_file **v = calloc(n + 1, sizeof(struct retention_file *));
	uint32_t jvms = 1;
	uint64_t *sums;

	for (size_t i = 0; i < n; i++) {
		files[i].goes = false;
		if (files[i].jvm >= jvms)
			jvms = files[i].jvm + 1;
		if (v)
			v[i] = &files[i];
	}
	sums = calloc(jvms, sizeof(*sums));
	if (v && sums) {
		qsort(v, n, sizeof(*v), older_first);
		plan(p, v, n, sums, free_bytes);
	}
	n = v && sums;
	free(sums);
	free(v);
	return n ? 0 : -ENOMEM;
}

/* ---- what there is --------------------------------------------------------------------------- */

struct entry {
	char name[SEGMENT_NAME_LEN];
};

struct listing {
	const struct age_clock *clock;
	struct retention_file *files;
	struct entry *entries; /* of the same numbers */
	size_t n, cap;
	struct jvm_dir {
		char *name;
		size_t first; /* of its files, which lie together */
	} * jvms;
	size_t njvms;
};

static void listing_free(struct listing *l)
{
	for (size_t i = 0; i < l->njvms; i++)
		free(l->jvms[i].name);
	free(l->jvms);
	free(l->files);
	free(l->entries);
}

static bool listing_room(struct listing *l)
{
	size_t cap = l->cap ? 2 * l->cap : 256;
	struct retention_file *files;
	struct entry *entries;

	if (l->n < l->cap)
		return true;
	files = realloc(l->files, cap * sizeof(*files));
	if (files)
		l->files = files;
	entries = realloc(l->entries, cap * sizeof(*entries));
	if (entries)
		l->entries = entries;
	if (!files || !entries)
		return false;
	l->cap = cap;
	return true;
}

/* Whether somebody has it locked; -1: cannot be told. A descriptor of it otherwise. */
static int unlocked_open(int dir, const char *name, bool *locked)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	*locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	return fd;
}

/* Only the latest file of a JVM can be the one that is written. */
static void latest_look(struct listing *l, size_t first, int dir)
{
	size_t latest = first;
	int fd;

	for (size_t i = first; i < l->n; i++)
		if (strcmp(l->entries[i].name, l->entries[latest].name) > 0)
			latest = i;
	if (first == l->n)
		return;
	fd = unlocked_open(dir, l->entries[latest].name, &l->files[latest].open);
	if (fd >= 0)
		close(fd);
}

static int file_add(struct listing *l, int dir, const char *name)
{
	uint64_t written;
	struct stat st;

	if (!segment_is(name) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return 0;
	if (!listing_room(l))
		return -ENOMEM;
	written = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	l->files[l->n] = (struct retention_file){
		.jvm = (uint32_t)l->njvms,
		.age_ns = age_of(l->clock, written),
		.written_ns = written,
		.bytes = (uint64_t)st.st_blocks * 512,
	};
	strcpy(l->entries[l->n++].name, name);
	return 0;
}

/* A directory in which nothing of ours lies is none of ours. */
static int jvm_add(struct listing *l, int root, const char *name)
{
	int fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	size_t first = l->n;
	struct jvm_dir *v;
	struct dirent *d;

	if (!dir) {
		rc = errno == ENOTDIR || errno == ELOOP || errno == ENOENT ? 0 : -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (!rc && (d = readdir(dir)))
		rc = file_add(l, fd, d->d_name);
	latest_look(l, first, fd);
	closedir(dir);
	if (rc || first == l->n)
		return rc;
	v = realloc(l->jvms, (l->njvms + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	l->jvms = v;
	v += l->njvms;
	*v = (struct jvm_dir){.name = strdup(name), .first = first};
	if (!v->name)
		return -ENOMEM;
	l->njvms++;
	return 0;
}

static int listing_read(struct listing *l, int root)
{
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;

	if (!dir) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (!rc && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			rc = jvm_add(l, root, d->d_name);
	closedir(dir);
	return rc;
}

/* ---- removing -------------------------------------------------------------------------------- */

/* Unless its writer has it after all. */
static int file_remove(int dir, const char *name)
{
	bool locked;
	int fd = unlocked_open(dir, name, &locked), rc = 0;

	if (!locked && unlinkat(dir, name, 0) && errno != ENOENT)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	return locked ? -EBUSY : rc;
}

static int files_remove(const struct listing *l, uint32_t jvm, int dir, struct retention_look *out)
{
	int first = 0;

	for (size_t i = l->jvms[jvm].first; i < l->n && l->files[i].jvm == jvm; i++) {
		const struct retention_file *f = &l->files[i];
		int rc;

		rc = f->goes ? file_remove(dir, l->entries[i].name) : -EBUSY;
		if (rc) {
			out->files++;
			out->bytes += f->bytes;
		} else {
			out->removed++;
			out->removed_bytes += f->bytes;
		}
		if (rc && rc != -EBUSY && !first)
			first = rc;
	}
	return first;
}

/* It stays where anything is left in it. */
static int jvm_shrink(const struct listing *l, uint32_t jvm, int root, struct retention_look *out)
{
	int fd = openat(root, l->jvms[jvm].name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
	    rc;
	uint64_t before = out->removed;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	rc = files_remove(l, jvm, fd, out);
	close(fd);
	if (out->removed != before)
		unlinkat(root, l->jvms[jvm].name, AT_REMOVEDIR);
	return rc;
}

static int shrink_all(const struct retention_policy *p, const struct age_clock *clock, int root,
		      const struct retention_tell *tell, struct retention_look *out)
{
	struct listing l = {.clock = clock};
	struct statvfs fs;
	int rc = listing_read(&l, root), one;

	if (!rc && fstatvfs(root, &fs))
		rc = -errno;
	if (!rc) {
		out->free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
		rc = retention_plan(p, l.files, l.n, out->free_bytes);
	}
	out->jvms = l.njvms;
	for (uint32_t jvm = 0; jvm < l.njvms && rc != -ENOMEM; jvm++) {
		uint64_t before = out->bytes;

		one = jvm_shrink(&l, jvm, root, out);
		rc = rc ? rc : one;
		if (tell)
			tell->jvm(tell->ctx, l.jvms[jvm].name, out->bytes - before);
	}
	listing_free(&l);
	return rc;
}

/* ---- when ------------------------------------------------------------------------------------ */

static uint64_t within(uint64_t ns, uint64_t least, uint64_t most)
{
	return ns < least ? least : ns > most ? most : ns;
}

void retention_paced(struct retention_pace *p, uint64_t began_ns, uint64_t ended_ns)
{
	uint64_t took = ended_ns - began_ns;

	p->next_ns = ended_ns + within(took * PAUSE_PART, PAUSE_NS, PAUSE_MOST_NS);
	p->soon_ns = ended_ns + within(took, PAUSE_NS, PAUSE_MOST_NS);
}

bool retention_is_due(const struct retention_pace *p, uint64_t now_ns,
		      const struct retention_policy *policy, uint64_t free_bytes)
{
	return now_ns >= p->next_ns ||
	       (free_bytes < policy->free_min_bytes && now_ns >= p->soon_ns);
}

int retention_free(const char *dir, uint64_t *bytes)
{
	struct statvfs fs;

	if (statvfs(dir, &fs))
		return -errno;
	*bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	return 0;
}

int retention_apply(const struct retention_policy *p, const struct age_clock *clock,
		    const char *dir, const struct retention_tell *tell, struct retention_look *out,
		    struct error *e)
{
	int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	*out = (struct retention_look){0};
	rc = root < 0 ? -errno : shrink_all(p, clock, root, tell, out);
	if (root >= 0)
		close(root);
	if (rc)
		error_set(e, rc, EXIT_OUTPUT, "cannot keep '%s' within its bounds: %s", dir,
			  strerror(-rc));
	return rc;
}
