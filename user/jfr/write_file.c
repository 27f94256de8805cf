/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/write_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct outfile {
	int fd;
	char *path;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	atomic_bool busy;
	bool quit;
	atomic_int rc; /* sticky */
	/* the job; its owner is the thread while busy */
	struct buffer data;
	uint64_t end; /* of the file */
	uint8_t header[JFR_HEADER_SIZE];
	bool has_header;
	uint64_t header_at;
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

static int create(const char *path, bool overwrite, struct error *e)
{
	int fd, rc;

	if (overwrite) {
		rc = remove_existing(path, e);
		if (rc)
			return rc;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_create(e, path, errno);
	owner_set(fd);
	return fd;
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

static void job_run(struct outfile *f)
{
	int rc = write_all(f->fd, f->data.data, f->data.len, f->end);

	if (!rc && f->has_header)
		rc = write_all(f->fd, f->header, sizeof(f->header), f->header_at);
	if (!rc) {
		f->end += f->data.len;
	} else {
		if (ftruncate(f->fd, (off_t)f->end))
			rc = -errno;
		atomic_store(&f->rc, rc);
	}
	buffer_clear(&f->data);
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
		pthread_mutex_unlock(&f->lock);
		job_run(f);
		pthread_mutex_lock(&f->lock);
		atomic_store(&f->busy, false);
		pthread_cond_broadcast(&f->changed);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* All signals stay with the other threads; a blocked SIGXFSZ makes EFBIG of a file size limit. */
static int thread_start(struct outfile *f)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&f->thread, NULL, run, f);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -rc;
}

int outfile_open(struct outfile **out, const char *path, bool overwrite, struct error *e)
{
	struct outfile *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	f->path = strdup(path);
	f->fd = f->path ? create(path, overwrite, e)
			: error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	if (f->fd < 0) {
		rc = f->fd;
		goto fail;
	}
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	rc = thread_start(f);
	if (rc) {
		error_set(e, rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(-rc));
		unlink(path);
		close(f->fd);
		goto fail;
	}
	*out = f;
	return 0;
fail:
	free(f->path);
	free(f);
	return rc;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

bool outfile_busy(const struct outfile *f)
{
	return atomic_load(&f->busy);
}

void outfile_wait(struct outfile *f)
{
	pthread_mutex_lock(&f->lock);
	while (atomic_load(&f->busy))
		pthread_cond_wait(&f->changed, &f->lock);
	pthread_mutex_unlock(&f->lock);
}

void outfile_submit(struct outfile *f, struct buffer *data, const uint8_t *header,
		    uint64_t header_at)
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
	error_set(e, rc, EXIT_OUTPUT, "cannot write '%s': %s", f->path, strerror(-rc));
	if (rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG)
		error_hint(e, "make room; what was written before can be read");
	return rc;
}

/* Only the file we made: the name may have been given to another since. */
static void remove_own(const struct outfile *f)
{
	struct stat ours, there;

	if (!fstat(f->fd, &ours) && !lstat(f->path, &there) && ours.st_ino == there.st_ino &&
	    ours.st_dev == there.st_dev)
		unlink(f->path);
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
		remove_own(f);
	if (close(f->fd) && !atomic_load(&f->rc))
		atomic_store(&f->rc, -errno);
	rc = keep ? outfile_error(f, e) : 0;
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->changed);
	buffer_free(&f->data);
	free(f->path);
	free(f);
	return rc;
}
