/* SPDX-License-Identifier: Apache-2.0 */
#include "spool/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define SUFFIX	  ".payload"
#define HEAD_MOST 1024
#define STRAY_S	  60 /* a file that is made takes no such time */

struct spool {
	int dir;
	char *path;
	uint64_t cap, used; /* used: at most this, since files go without our doing */
	uid_t owner;
	uint64_t last; /* of the names; 0: not known yet */
	struct spool_lost lost;
};

struct spool *spool_of(int dir)
{
	struct spool *s = calloc(1, sizeof(*s));

	if (s) {
		s->dir = dir;
		s->owner = (uid_t)-1;
	}
	return s;
}

int spool_fd(const struct spool *s)
{
	return s->dir;
}

/* The directory as it has to be: -EPERM where it is somebody else's. */
static int dir_settle(int dir, bool made, uid_t owner)
{
	struct stat st;

	if (owner == (uid_t)-1)
		return 0;
	if (made)
		return fchown(dir, owner, (gid_t)-1) ? -errno : 0;
	if (fstat(dir, &st))
		return -errno;
	return st.st_uid == owner ? 0 : -EPERM;
}

static void strays_remove(struct spool *s, bool all);

int spool_open(struct spool **out, const char *path, uint64_t cap, uid_t owner, struct error *e)
{
	bool made = !mkdir(path, 0700);
	int rc = made || errno == EEXIST ? 0 : -errno, fd = -1;
	struct spool *s = NULL;

	if (!rc) {
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = fd < 0 ? -errno : dir_settle(fd, made, owner);
	}
	if (!rc) {
		s = spool_of(fd);
		rc = s && (s->path = strdup(path)) ? 0 : -ENOMEM;
	}
	if (rc) {
		error_set(e, rc, EXIT_OUTPUT, "cannot use the spool '%s': %s", path,
			  rc == -EPERM ? "it is another user's" : strerror(-rc));
		if (rc == -EPERM)
			error_hint(e,
				   "name one that is not there yet: who sends is the user %d, "
				   "and it will be his",
				   (int)owner);
		if (s)
			spool_close(s);
		else if (fd >= 0)
			close(fd);
		return rc;
	}
	s->cap = s->used = cap; /* what is in it is not known */
	s->owner = owner;
	strays_remove(s, false);
	*out = s;
	return 0;
}

void spool_close(struct spool *s)
{
	if (!s)
		return;
	if (s->dir >= 0)
		close(s->dir);
	free(s->path);
	free(s);
}

/* ---- names ---- */

static bool is_payload(const char *name)
{
	size_t n = strlen(name), k = strlen(SUFFIX);

	return n > k && n < SPOOL_NAME_LEN && name[0] != '.' && !strcmp(name + n - k, SUFFIX);
}

/* What file_write() makes, until it has its name. */
static bool is_stray(const char *name)
{
	return name[0] == '.' && is_payload(name + 1);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct spool_entry *)a)->name, ((const struct spool_entry *)b)->name);
}

static int entry_add(struct spool_entry **v, size_t *n, size_t *cap, const char *name)
{
	struct spool_entry *more;

	if (*n == *cap) {
		*cap = *cap ? *cap * 2 : 64;
		more = reallocarray(*v, *cap, sizeof(*more));
		if (!more)
			return -ENOMEM;
		*v = more;
	}
	strcpy((*v)[(*n)++].name, name);
	return 0;
}

static int names_list(struct spool *s, bool (*is_one)(const char *name), struct spool_entry **v,
		      size_t *n)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	size_t cap = 0;

	*v = NULL;
	*n = 0;
	if (!d) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (!rc && (entry = readdir(d)))
		if (is_one(entry->d_name))
			rc = entry_add(v, n, &cap, entry->d_name);
	closedir(d);
	if (*n)
		qsort(*v, *n, sizeof(**v), by_name);
	if (rc) {
		free(*v);
		*v = NULL;
	}
	return rc;
}

int spool_list(struct spool *s, struct spool_entry **v, size_t *n)
{
	return names_list(s, is_payload, v, n);
}

/* Whether it was written last longer ago than that; a time to come is one of another clock. */
static bool is_older(const struct spool *s, const char *name, time_t seconds)
{
	time_t now = time(NULL);
	struct stat st;

	return !fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       (st.st_mtime < now - seconds || st.st_mtime > now + seconds);
}

/* Those of a process that was killed while it made them; `all`: those that are being made, too. */
static void strays_remove(struct spool *s, bool all)
{
	struct spool_entry *v;
	size_t n;

	if (names_list(s, is_stray, &v, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (all || is_older(s, v[i].name, STRAY_S))
			unlinkat(s->dir, v[i].name, 0);
	free(v);
}

/* ---- in ---- */

static uint64_t size_of(const struct spool *s, const char *name)
{
	struct stat st;

	return fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) ? 0 : (uint64_t)st.st_size;
}

static void lose(struct spool *s, const char *name, uint64_t bytes)
{
	struct payload head;
	struct buffer body = BUFFER_INIT;

	if (!spool_get(s, name, &head, &body))
		s->lost.samples += head.samples;
	buffer_free(&body);
	if (unlinkat(s->dir, name, 0))
		return; /* it was sent meanwhile */
	s->lost.payloads++;
	s->lost.bytes += bytes;
}

int spool_held(struct spool *s, uint64_t *payloads, uint64_t *bytes)
{
	struct spool_entry *v;
	size_t n;
	int rc = spool_list(s, &v, &n);

	*payloads = n;
	*bytes = 0;
	for (size_t i = 0; i < n && !rc; i++)
		*bytes += size_of(s, v[i].name);
	free(v);
	return rc;
}

/* Makes room for `len` bytes by removing the oldest. */
static int room_make(struct spool *s, uint64_t len)
{
	struct spool_entry *v;
	size_t n;
	int rc;

	if (!s->cap || s->used + len <= s->cap)
		return 0;
	strays_remove(s, false);
	rc = spool_list(s, &v, &n);
	if (rc)
		return rc;
	s->used = 0;
	for (size_t i = 0; i < n; i++)
		s->used += size_of(s, v[i].name);
	for (size_t i = 0; i < n && s->used + len > s->cap; i++) {
		uint64_t bytes = size_of(s, v[i].name);

		lose(s, v[i].name, bytes);
		s->used -= bytes < s->used ? bytes : s->used;
	}
	free(v);
	return 0;
}

static void head_write(struct buffer *b, const struct payload *p)
{
	buffer_printf(b,
		      "gnomon 1\npath %s\ntype %s\nencoding %s\nabout %s\ntime %lld\nraw %llu\n"
		      "samples %llu\n\n",
		      p->path, p->type, p->encoding, p->about, (long long)p->time_ns,
		      (unsigned long long)p->raw, (unsigned long long)p->samples);
}

static int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int file_write(struct spool *s, const char *name, const struct buffer *head,
		      const void *body, size_t len)
{
	char temp[SPOOL_NAME_LEN + 8];
	int fd, rc;

	snprintf(temp, sizeof(temp), ".%s", name);
	fd = openat(s->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = write_all(fd, head->data, head->len);
	if (!rc)
		rc = write_all(fd, body, len);
	if (!rc && s->owner != (uid_t)-1 && fchown(fd, s->owner, (gid_t)-1))
		rc = -errno;
	close(fd);
	if (!rc && renameat(s->dir, temp, s->dir, name))
		rc = -errno;
	if (rc)
		unlinkat(s->dir, temp, 0);
	return rc;
}

/* Of the last name that there is, as far as it is one of ours: 0 where there is none. */
static uint64_t last_read(struct spool *s)
{
	struct spool_entry *v;
	uint64_t last = 0;
	size_t n;

	if (spool_list(s, &v, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t ns = strtoull(v[i].name, NULL, 10);

		if (ns > last && ns < INT64_MAX)
			last = ns;
	}
	free(v);
	return last;
}

/* By the clock, and after all others, however that was set: by their names they are old. */
static void name_make(struct spool *s, char name[SPOOL_NAME_LEN])
{
	uint64_t now = clock_ns(CLOCK_REALTIME);

	if (!s->last)
		s->last = last_read(s);
	s->last = now > s->last ? now : s->last + 1;
	snprintf(name, SPOOL_NAME_LEN, "%020llu-%06u" SUFFIX, (unsigned long long)s->last,
		 (unsigned int)getpid() % 1000000);
}

int spool_put(struct spool *s, const struct payload *p, const void *body, size_t len)
{
	struct buffer head = BUFFER_INIT;
	char name[SPOOL_NAME_LEN];
	int rc;

	head_write(&head, p);
	rc = head.failed ? -ENOMEM : 0;
	if (!rc && (head.len + len > SPOOL_PAYLOAD_MOST || (s->cap && head.len + len > s->cap)))
		rc = -EFBIG;
	if (!rc)
		rc = room_make(s, head.len + len);
	name_make(s, name);
	if (!rc)
		rc = file_write(s, name, &head, body, len);
	if (!rc)
		s->used += head.len + len;
	buffer_free(&head);
	return rc;
}

struct spool_lost spool_lost(const struct spool *s)
{
	return s->lost;
}

/* ---- out ---- */

static bool line_take(char *line, struct payload *p)
{
	static const struct {
		const char *key;
		size_t at, size;
	} texts[] = {
		{"path ", offsetof(struct payload, path), sizeof(p->path)},
		{"type ", offsetof(struct payload, type), sizeof(p->type)},
		{"encoding ", offsetof(struct payload, encoding), sizeof(p->encoding)},
		{"about ", offsetof(struct payload, about), sizeof(p->about)},
	};
	char *value = strchr(line, ' ');

	if (!value)
		return false;
	value++;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strncmp(line, texts[i].key, strlen(texts[i].key)) != 0)
			continue;
		if (strlen(value) >= texts[i].size)
			return false;
		strcpy((char *)p + texts[i].at, value);
		return true;
	}
	if (!strncmp(line, "time ", 5))
		p->time_ns = strtoll(value, NULL, 10);
	else if (!strncmp(line, "raw ", 4))
		p->raw = strtoull(value, NULL, 10);
	else if (!strncmp(line, "samples ", 8))
		p->samples = strtoull(value, NULL, 10);
	return true;
}

/* How long the head is, with the empty line; 0: there is none. */
static size_t head_read(const struct buffer *b, struct payload *p)
{
	size_t n = b->len < HEAD_MOST ? b->len : HEAD_MOST;
	const char *end = memmem(b->data, n, "\n\n", 2);
	char text[HEAD_MOST], *rest = text, *line;

	*p = (struct payload){0};
	if (!end || memchr(b->data, 0, (size_t)(end - (const char *)b->data)))
		return 0;
	n = (size_t)(end - (const char *)b->data);
	memcpy(text, b->data, n);
	text[n] = '\0';
	line = strsep(&rest, "\n");
	if (strcmp(line, "gnomon 1") != 0)
		return 0;
	while ((line = strsep(&rest, "\n")))
		if (!line_take(line, p))
			return 0;
	return p->path[0] == '/' && p->type[0] ? n + 2 : 0;
}

static int file_read(int fd, struct buffer *b)
{
	struct stat st;
	uint8_t *to;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > SPOOL_PAYLOAD_MOST)
		return -EBADMSG;
	for (;;) {
		to = buffer_reserve(b, 65536);
		if (!to)
			return -ENOMEM;
		n = read(fd, to, 65536);
		if (n < 0)
			return -errno;
		if (!n)
			return 0;
		b->len += (size_t)n;
		if (b->len > SPOOL_PAYLOAD_MOST)
			return -EBADMSG;
	}
}

int spool_get(struct spool *s, const char *name, struct payload *head, struct buffer *body)
{
	int fd = openat(s->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc;
	struct buffer b = BUFFER_INIT;
	size_t at = 0;

	if (fd < 0)
		return errno == ENOENT ? -ENOENT : -EBADMSG;
	rc = file_read(fd, &b);
	close(fd);
	if (!rc)
		at = head_read(&b, head);
	if (!rc && !at)
		rc = -EBADMSG;
	if (!rc) {
		buffer_add(body, b.data + at, b.len - at);
		rc = body->failed ? -ENOMEM : 0;
	}
	buffer_free(&b);
	return rc;
}

void spool_remove(struct spool *s, const char *name)
{
	unlinkat(s->dir, name, 0);
}

void spool_destroy(struct spool *s)
{
	struct spool_entry *v;
	size_t n;

	if (spool_list(s, &v, &n))
		return;
	for (size_t i = 0; i < n; i++)
		spool_remove(s, v[i].name);
	free(v);
	strays_remove(s, true);
	if (s->path)
		rmdir(s->path);
}
