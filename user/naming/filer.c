/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/filer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bucket.h"
#include "base/clock.h"
#include "base/fdmsg.h"
#include "base/log.h"
#include "base/thread.h"
#include "jfr/segment.h"
#include "naming/records.h"

#define PATH_LEN (TARGET_PATH_LEN + 64)

enum filer_kind {
	FILER_MAKE = 1,
	FILER_UNMAKE, /* the last one there, if nothing was written into it */
	FILER_TELL,   /* of a file there, chunks from `from` to before `end` */
};

struct filer_ask {
	uint32_t kind;
	uint32_t pad;
	uint64_t unix_ns; /* the file is named by that */
	uint64_t from, end;
	char path[PATH_LEN]; /* of the directory; TELL: of the file */
};

struct filer_answer {
	int32_t rc;
	char path[PATH_LEN]; /* of the file, whose descriptor comes with it */
};

/* ---- the session's end ----------------------------------------------------------------------- */

/* A process has a file a minute, and one more where somebody removed that, or the clock was set. */
static const struct bucket_size often = {10, 1};

struct place {
	char *dir;
	char *last; /* the file that was made there last; NULL: none */
	dev_t dev;
	ino_t ino;
	struct bucket made;
	struct place *next;
};

struct filer {
	int fd;
	pthread_t thread;
	pthread_mutex_t lock;
	struct place *places;
	struct finished_to told;
	bool refused; /* that something was is said once */
};

static struct place **place_find(struct filer *f, const char *dir)
{
	struct place **at = &f->places;

	while (*at && strcmp((*at)->dir, dir))
		at = &(*at)->next;
	return at;
}

static void place_free(struct place *p)
{
	free(p->dir);
	free(p->last);
	free(p);
}

int filer_allow(struct filer *f, const char *dir)
{
	struct place *p = calloc(1, sizeof(*p));

	if (p)
		p->dir = strdup(dir);
	if (!p || !p->dir) {
		free(p);
		return -ENOMEM;
	}
	filer_deny(f, dir);
	pthread_mutex_lock(&f->lock);
	p->next = f->places;
	f->places = p;
	pthread_mutex_unlock(&f->lock);
	return 0;
}

void filer_deny(struct filer *f, const char *dir)
{
	struct place **at, *p;

	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	at = place_find(f, dir);
	p = *at;
	if (p) {
		*at = p->next;
		place_free(p);
	}
	pthread_mutex_unlock(&f->lock);
}

/* Without the lock, since the disk may take its time. */
static int file_make(const struct filer_ask *ask, struct filer_answer *a, struct stat *st)
{
	char *path;
	int fd = outfile_segment(ask->path, ask->unix_ns, &path);

	if (fd < 0)
		return fd;
	if (strlen(path) >= sizeof(a->path) || fstat(fd, st)) {
		close(fd);
		unlink(path);
		fd = -ENAMETOOLONG;
	} else {
		strcpy(a->path, path);
	}
	free(path);
	return fd;
}

/* Whether one may be made, which counts. 0 or -errno. */
static int make_begin(struct filer *f, const char *dir)
{
	uint64_t now = now_ns();
	struct place *p;
	int rc = -EACCES;

	pthread_mutex_lock(&f->lock);
	p = *place_find(f, dir);
	if (p)
		rc = bucket_has(&p->made, &often, now) ? 0 : -EAGAIN;
	if (!rc)
		bucket_take(&p->made, &often, now, 1);
	pthread_mutex_unlock(&f->lock);
	return rc;
}

static void make_end(struct filer *f, const char *dir, const char *path, const struct stat *st)
{
	struct place *p;

	pthread_mutex_lock(&f->lock);
	p = *place_find(f, dir);
	if (p) {
		free(p->last);
		p->last = strdup(path);
		p->dev = st->st_dev;
		p->ino = st->st_ino;
	}
	pthread_mutex_unlock(&f->lock);
}

/* A descriptor, or -errno. */
static int make(struct filer *f, const struct filer_ask *ask, struct filer_answer *a)
{
	struct stat st;
	int fd = make_begin(f, ask->path);

	if (!fd)
		fd = file_make(ask, a, &st);
	if (fd >= 0)
		make_end(f, ask->path, a->path, &st);
	return fd;
}

static int unmake(struct filer *f, const char *dir)
{
	struct stat st;
	struct place *p;
	int rc = -ENOENT;

	pthread_mutex_lock(&f->lock);
	p = *place_find(f, dir);
	if (p && p->last && !lstat(p->last, &st) && st.st_ino == p->ino && st.st_dev == p->dev &&
	    !st.st_size)
		rc = unlink(p->last) ? -errno : 0;
	pthread_mutex_unlock(&f->lock);
	return rc;
}

/* Whether it is a file that was allowed, or one of those in a directory that was. */
static bool is_there(const struct place *p, const char *path)
{
	size_t n = strlen(p->dir);

	if (strncmp(path, p->dir, n))
		return false;
	return !path[n] || (path[n] == '/' && segment_is(path + n + 1));
}

static int tell(struct filer *f, const struct filer_ask *ask)
{
	bool there = false;

	pthread_mutex_lock(&f->lock);
	for (const struct place *p = f->places; p && !there; p = p->next)
		there = is_there(p, ask->path);
	pthread_mutex_unlock(&f->lock);
	if (!there)
		return -EACCES;
	finished_tell(&f->told, ask->path, ask->from, ask->end);
	return 0;
}

static void refusal_say(struct filer *f, int rc)
{
	if (f->refused || (rc != -EACCES && rc != -EAGAIN && rc != -EBADMSG))
		return;
	f->refused = true;
	log_warn("naming asked for a file that it never asks for: it is refused");
}

/* False: nobody asks any more. */
static bool one_serve(struct filer *f)
{
	struct filer_answer a = {0};
	struct filer_ask ask;
	struct fdmsg with = {0};
	ssize_t n = fdmsg_take(f->fd, &(struct iovec){&ask, sizeof(ask)}, 1, &with, 0);
	int fd = -1, rc;

	fdmsg_close(&with, 0);
	if (n < 0)
		return false;
	if (n != sizeof(ask) || memchr(ask.path, '\0', sizeof(ask.path)) == NULL)
		fd = -EBADMSG;
	else if (ask.kind == FILER_MAKE)
		fd = make(f, &ask, &a);
	else if (ask.kind == FILER_TELL)
		fd = tell(f, &ask);
	else
		fd = ask.kind == FILER_UNMAKE ? unmake(f, ask.path) : -EBADMSG;
	a.rc = fd < 0 ? fd : 0;
	refusal_say(f, a.rc);
	if (ask.kind != FILER_MAKE)
		fd = -1;
	rc = fdmsg_send(f->fd, &(struct iovec){&a, sizeof(a)}, 1, &fd, fd >= 0, 0);
	if (fd >= 0)
		close(fd);
	return !rc;
}

static void *run(void *arg)
{
	while (one_serve(arg))
		;
	return NULL;
}

int filer_start(struct filer **out, int fd, const struct finished_to *told)
{
	struct filer *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return -ENOMEM;
	f->fd = fd;
	f->told = *told;
	pthread_mutex_init(&f->lock, NULL);
	rc = thread_start(&f->thread, 0, run, f);
	if (rc) {
		pthread_mutex_destroy(&f->lock);
		free(f);
		return rc;
	}
	*out = f;
	return 0;
}

void filer_stop(struct filer *f)
{
	struct place *p;

	if (!f)
		return;
	shutdown(f->fd, SHUT_RDWR);
	pthread_join(f->thread, NULL);
	while ((p = f->places)) {
		f->places = p->next;
		place_free(p);
	}
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* ---- naming's end ---------------------------------------------------------------------------- */

/* Of all files of the process: one asks at a time. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
static int asks_fd = -1;

/* A descriptor (-1: none came), or -errno. */
static int ask_do(const struct filer_ask *ask, struct filer_answer *a)
{
	struct fdmsg with = {0};
	ssize_t n;
	int rc;

	pthread_mutex_lock(&asking);
	rc = fdmsg_send(asks_fd, &(struct iovec){(void *)ask, sizeof(*ask)}, 1, NULL, 0, 0);
	n = rc ? rc : fdmsg_take(asks_fd, &(struct iovec){a, sizeof(*a)}, 1, &with, 0);
	pthread_mutex_unlock(&asking);
	if (n != sizeof(*a) || a->rc > 0) {
		fdmsg_close(&with, 0);
		return n < 0 ? (int)n : -EPIPE;
	}
	a->path[sizeof(a->path) - 1] = '\0';
	rc = fdmsg_only(&with);
	return a->rc ? a->rc : rc;
}

static struct filer_ask ask_of(enum filer_kind kind, const char *dir)
{
	struct filer_ask ask = {.kind = kind};

	strncpy(ask.path, dir, sizeof(ask.path) - 1);
	return ask;
}

static int ours_make(const char *dir, uint64_t unix_ns, char **path)
{
	struct filer_ask ask = ask_of(FILER_MAKE, dir);
	struct filer_answer a;
	int fd;

	ask.unix_ns = unix_ns;
	fd = ask_do(&ask, &a);
	if (fd == -1) /* -EPERM would have no descriptor either */
		return -EPERM;
	*path = fd < 0 ? NULL : strdup(a.path);
	if (fd < 0 || *path)
		return fd;
	close(fd);
	return -ENOMEM;
}

static void ours_unmake(const char *dir)
{
	struct filer_ask ask = ask_of(FILER_UNMAKE, dir);
	struct filer_answer a;
	int fd = ask_do(&ask, &a);

	if (fd >= 0)
		close(fd);
}

/* Waits for the answer, so that it is passed on before anybody hears that the file has ended. */
static void ours_tell(const char *path, uint64_t from, uint64_t end)
{
	struct filer_ask ask = ask_of(FILER_TELL, path);
	struct filer_answer a;
	int fd;

	ask.from = from;
	ask.end = end;
	fd = ask_do(&ask, &a);
	if (fd >= 0)
		close(fd);
}

struct finished_to filer_finished(int fd)
{
	asks_fd = fd;
	return (struct finished_to){.tell = ours_tell};
}

const struct outfile_maker *filer_maker(int fd)
{
	static const struct outfile_maker maker = {ours_make, ours_unmake};

	asks_fd = fd;
	return &maker;
}
