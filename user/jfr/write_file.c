/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/write_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/beat.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "jfr/segment.h"

#define AGAIN_NS    1000000000ull /* a job that failed is tried again after so long */
#define BEAT_NS	    50000000ull
#define STACK_BYTES (256u << 10) /* of a thread that writes: there may be a thousand */

struct outfile {
	int fd;	    /* -1: a directory's, before its first file */
	char *path; /* of the file; of segments, the last one's, NULL before the first */
	char *dir;  /* of segments; NULL: it is one file */
	const struct outfile_maker *maker;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	atomic_bool busy;
	_Atomic uint64_t refused; /* bytes of the job, when it was tried in vain */
	bool quit;
	bool last;    /* somebody waits for the job: it is not tried again */
	bool stalled; /* jobs fail, and that was said */
	bool tried;   /* the job is, without the lock */
	bool abandoned;
	atomic_int rc; /* sticky */
	/* the job; its owner is the thread while busy */
	struct buffer data;
	uint64_t end; /* of the file */
	uint8_t header[JFR_HEADER_SIZE];
	bool has_header;
	uint64_t header_at;
	uint64_t turn_ns; /* it begins another file, named by that time; 0: it does not */
	bool gone;	  /* the last one found its file removed */
	bool whole;	  /* a chunk ends with it */
	struct finished_to to;
	uint64_t told; /* what lies before that, of the file, `to` knows */
};

/* ---- opening --------------------------------------------------------------------------------- */

/*
 * Replace, not truncate: an existing file may be hard-linked, open in a reader, or be swapped for a
 * link between a check and the open. Only a regular file is replaced.
 */
static int remove_existing(const char *path, struct error *e)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : error_create(e, path, errno);
	if (!S_ISREG(st.st_mode)) {
		error_set(e, -EEXIST, EXIT_OUTPUT,
			  "cannot overwrite '%s': it is not a regular file", path);
		error_hint(e, "choose another name: links and devices are never written to");
		return -EEXIST;
	}
	return unlink(path) && errno != ENOENT ? error_create(e, path, errno) : 0;
}

static bool id_parse(const char *name, uid_t *id)
{
	const char *text = getenv(name);
	char *end;
	unsigned long v;

	if (!text || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	*id = (uid_t)v;
	return !errno && !*end && v < (uid_t)-1;
}

/*
 * Whoever asked for it by sudo(8) has it. That cannot be done on every file system, where root has
 * it then, as without sudo.
 */
static void owner_set(int fd)
{
	uid_t uid;
	gid_t gid;

	if (!geteuid() && id_parse("SUDO_UID", &uid) && id_parse("SUDO_GID", &gid) &&
	    fchown(fd, uid, gid))
		return;
}

int outfile_create(const char *path, bool overwrite, struct error *e)
{
	int fd, rc;

	if (overwrite) {
		rc = remove_existing(path, e);
		if (rc)
			return rc;
	}
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_create(e, path, errno);
	owner_set(fd);
	return fd;
}

/* Only the file we made: the name may have been given to another since. */
void outfile_remove(int fd, const char *path)
{
	struct stat ours, there;

	if (fd >= 0 && !fstat(fd, &ours) && !lstat(path, &there) && ours.st_ino == there.st_ino &&
	    ours.st_dev == there.st_dev)
		unlink(path);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static int write_all(int fd, const uint8_t *p, size_t n, uint64_t at)
{
	while (n) {
		ssize_t w = pwrite(fd, p, n, (off_t)at);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return w ? -errno : -ENOSPC;
		p += w;
		at += (uint64_t)w;
		n -= (size_t)w;
	}
	return 0;
}

int outfile_segment(const char *dir, uint64_t unix_ns, char **path)
{
	int fd = segment_create(dir, unix_ns, path);

	if (fd < 0)
		return fd;
	owner_set(fd);
	flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

/* Another file, if the job begins one. Readers see it empty until the job is written. */
static int file_turn(struct outfile *f)
{
	char *path;
	int fd;

	if (!f->turn_ns)
		return 0;
	fd = (f->maker ? f->maker->make : outfile_segment)(f->dir, f->turn_ns, &path);
	if (fd < 0)
		return fd;
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	f->path = path;
	f->fd = fd;
	f->end = f->told = 0;
	f->turn_ns = 0;
	return 0;
}

static void whole_tell(struct outfile *f)
{
	if (f->path)
		finished_tell(&f->to, f->path, f->told, f->end);
	f->told = f->end;
}

static bool file_is_removed(const struct outfile *f)
{
	struct stat st;

	return f->dir && !fstat(f->fd, &st) && !st.st_nlink;
}

static int job_write(struct outfile *f)
{
	int rc = file_turn(f);

	if (rc)
		return rc;
	f->gone = file_is_removed(f);
	if (f->gone)
		return 0;
	rc = write_all(f->fd, f->data.data, f->data.len, f->end);
	if (!rc && f->has_header)
		rc = write_all(f->fd, f->header, sizeof(f->header), f->header_at);
	if (!rc)
		f->end += f->data.len;
	else if (ftruncate(f->fd, (off_t)f->end))
		return -errno;
	if (!rc && f->whole)
		whole_tell(f);
	return rc;
}

static void stall_say(struct outfile *f, int rc)
{
	if (rc && !f->stalled)
		log_warn("cannot write to '%s': %s; what is recorded is held in memory, the last "
			 "of it "
			 "where there is no more room",
			 f->dir, strerror(-rc));
	else if (!rc && f->stalled)
		log_warn("'%s' is written to again", f->dir);
	f->stalled = rc != 0;
}

static void file_remove(struct outfile *f)
{
	if (f->dir && f->maker)
		f->maker->unmake(f->dir);
	else
		outfile_remove(f->fd, f->path);
}

/* A file that nothing was written into is none. */
static void job_abandon(struct outfile *f)
{
	f->gone = true;
	if (!f->end && !f->turn_ns)
		file_remove(f);
}

/* With the lock. False: it is to be tried again. */
static bool job_run(struct outfile *f)
{
	bool again, given_up;
	int rc;

	f->tried = true;
	pthread_mutex_unlock(&f->lock);
	rc = job_write(f);
	pthread_mutex_lock(&f->lock);
	f->tried = false;
	given_up = rc && f->abandoned;
	f->abandoned = false;
	again = rc && f->dir && !f->last && !f->quit && !given_up;
	if (again || !rc)
		stall_say(f, rc);
	if (given_up) {
		job_abandon(f);
		rc = 0;
	}
	atomic_store(&f->refused, again ? f->data.len : 0);
	if (again)
		return false;
	if (rc)
		atomic_store(&f->rc, rc);
	buffer_clear(&f->data);
	return true;
}

static void pause_before_again(struct outfile *f)
{
	uint64_t until = now_ns() + AGAIN_NS;
	struct timespec ts = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};

	while (!f->quit && !f->last && !f->abandoned && now_ns() < until)
		pthread_cond_timedwait(&f->changed, &f->lock, &ts);
}

static void *run(void *arg)
{
	struct outfile *f = arg;

	pthread_mutex_lock(&f->lock);
	for (;;) {
		while (!atomic_load(&f->busy) && !f->quit)
			pthread_cond_wait(&f->changed, &f->lock);
		if (!atomic_load(&f->busy))
			break;
		while (!job_run(f))
			pause_before_again(f);
		atomic_store(&f->busy, false);
		pthread_cond_broadcast(&f->changed);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static void outfile_free(struct outfile *f)
{
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->changed);
	buffer_free(&f->data);
	free(f->path);
	free(f->dir);
	free(f);
}

static struct outfile *outfile_new(struct error *e)
{
	struct outfile *f = calloc(1, sizeof(*f));
	pthread_condattr_t attr;

	if (!f) {
		error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
		return NULL;
	}
	f->fd = -1;
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->changed, &attr);
	pthread_condattr_destroy(&attr);
	return f;
}

static int outfile_start(struct outfile **out, struct outfile *f, struct error *e)
{
	/* where SIGXFSZ is blocked a file size limit is EFBIG */
	int rc = thread_start(&f->thread, STACK_BYTES, run, f);

	if (!rc) {
		*out = f;
		return 0;
	}
	error_set(e, rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(-rc));
	if (f->fd >= 0)
		close(f->fd);
	outfile_free(f);
	return rc;
}

int outfile_open(struct outfile **out, int fd, const char *path, struct error *e)
{
	struct outfile *f = outfile_new(e);

	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	f->fd = fd;
	f->path = strdup(path);
	if (f->path)
		return outfile_start(out, f, e);
	close(fd);
	outfile_free(f);
	return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

void outfile_from(struct outfile *f, uint64_t at)
{
	f->end = f->told = at;
}

void outfile_tell(struct outfile *f, const struct finished_to *to)
{
	f->to = *to;
}

int outfile_open_segments(struct outfile **out, const char *dir, const struct outfile_maker *maker,
			  struct error *e)
{
	struct outfile *f = outfile_new(e);

	if (!f)
		return -ENOMEM;
	f->maker = maker;
	f->dir = strdup(dir);
	if (f->dir)
		return outfile_start(out, f, e);
	outfile_free(f);
	return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

/* ---- jobs ------------------------------------------------------------------------------------ */

uint64_t outfile_refused(const struct outfile *f)
{
	return atomic_load(&f->refused);
}

bool outfile_busy(const struct outfile *f)
{
	return atomic_load(&f->busy);
}

/* Says now and then that it is the disk that is waited for. */
static void changed_await(struct outfile *f)
{
	uint64_t until = now_ns() + BEAT_NS;
	struct timespec ts = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};

	pthread_cond_timedwait(&f->changed, &f->lock, &ts);
	beat_step();
	beat_ours();
}

void outfile_wait(struct outfile *f)
{
	pthread_mutex_lock(&f->lock);
	f->last = true;
	pthread_cond_broadcast(&f->changed);
	while (atomic_load(&f->busy))
		changed_await(f);
	f->last = false;
	pthread_mutex_unlock(&f->lock);
}

void outfile_turn(struct outfile *f, uint64_t unix_ns)
{
	pthread_mutex_lock(&f->lock);
	f->turn_ns = unix_ns;
	pthread_mutex_unlock(&f->lock);
}

bool outfile_gone(struct outfile *f)
{
	bool gone;

	pthread_mutex_lock(&f->lock);
	gone = f->gone;
	f->gone = false;
	pthread_mutex_unlock(&f->lock);
	return gone;
}

bool outfile_extend(struct outfile *f, struct buffer *data, const uint8_t *header, bool whole)
{
	bool taken;

	pthread_mutex_lock(&f->lock);
	taken = atomic_load(&f->refused) && !f->tried;
	if (taken) {
		buffer_add(&f->data, data->data, data->len);
		taken = !f->data.failed;
		f->data.failed = false; /* what was in it is as it was */
	}
	if (taken) {
		memcpy(f->has_header ? f->header : f->data.data, header, sizeof(f->header));
		f->whole = whole;
		atomic_store(&f->refused, f->data.len);
		buffer_clear(data);
	}
	pthread_mutex_unlock(&f->lock);
	return taken;
}

void outfile_abandon(struct outfile *f)
{
	pthread_mutex_lock(&f->lock);
	f->abandoned = atomic_load(&f->refused) != 0;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

void outfile_submit(struct outfile *f, struct buffer *data, const uint8_t *header,
		    uint64_t header_at, bool whole)
{
	struct buffer mine = f->data;

	pthread_mutex_lock(&f->lock);
	if (!atomic_load(&f->rc)) {
		f->data = *data;
		*data = mine;
		f->has_header = header != NULL;
		if (header)
			memcpy(f->header, header, sizeof(f->header));
		f->header_at = header_at;
		f->whole = whole;
		atomic_store(&f->busy, true);
		pthread_cond_broadcast(&f->changed);
	} else {
		buffer_clear(data);
	}
	pthread_mutex_unlock(&f->lock);
}

int outfile_error(const struct outfile *f, struct error *e)
{
	int rc = atomic_load(&f->rc);

	if (!rc)
		return 0;
	error_set(e, rc, EXIT_OUTPUT, "cannot write '%s': %s", f->dir ? f->dir : f->path,
		  strerror(-rc));
	if (rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG)
		error_hint(e, "make room; what was written before can be read");
	return rc;
}

int outfile_close(struct outfile *f, bool keep, struct error *e)
{
	int rc;

	pthread_mutex_lock(&f->lock);
	f->quit = true;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	if (!keep)
		file_remove(f);
	else if (f->fd >= 0 && !file_is_removed(f))
		whole_tell(f);
	if (f->fd >= 0 && close(f->fd) && !atomic_load(&f->rc))
		atomic_store(&f->rc, -errno);
	rc = keep ? outfile_error(f, e) : 0;
	outfile_free(f);
	return rc;
}
