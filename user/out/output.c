/* SPDX-License-Identifier: Apache-2.0 */
#include "out/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int exists(const char *path, struct error *e)
{
	error_set(e, -EEXIST, EXIT_OUTPUT, "'%s' exists", path);
	return error_hint(e, "write over it with --force, or name another file");
}

int output_apart(const char *path, char *const *inputs, int n, struct error *e)
{
	struct stat out, in;

	if (!path || !strcmp(path, "-") || stat(path, &out))
		return 0;
	for (int i = 0; i < n; i++) {
		if (stat(inputs[i], &in) || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
			continue;
		error_set(e, -EINVAL, EXIT_USAGE, "the output '%s' is the recording '%s' itself",
			  path, inputs[i]);
		return error_hint(e, "name another file");
	}
	return 0;
}

/* A device or pipe has no other name, and neither has what a link to nothing makes. */
static int plain_open(struct output *o, struct error *e)
{
	o->f = fopen(o->path, "w");
	return o->f ? 0 : error_create(e, o->path, errno);
}

static int temp_open(struct output *o, const char *name, struct error *e)
{
	int fd, why;
	mode_t mask;

	if (asprintf(&o->temp, "%s.XXXXXX", name) < 0) {
		o->temp = NULL;
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	fd = mkostemp(o->temp, O_CLOEXEC);
	if (fd < 0)
		return error_create(e, o->path, errno);
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	o->f = fdopen(fd, "w");
	if (o->f)
		return 0;
	why = errno;
	close(fd);
	unlink(o->temp);
	return error_create(e, o->path, why);
}

static void names_free(struct output *o)
{
	free(o->temp);
	free(o->behind);
	o->temp = o->behind = NULL;
}

int output_open(struct output *o, const char *path, bool force, struct error *e)
{
	struct stat st;
	bool link = false;
	int rc;

	*o = (struct output){.f = stdout, .force = force};
	if (!path || !strcmp(path, "-"))
		return 0;
	o->path = path;
	if (!lstat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return error_create(e, path, EISDIR);
		if (!force)
			return exists(path, e);
		link = S_ISLNK(st.st_mode);
		if (link && !stat(path, &st) && S_ISREG(st.st_mode))
			o->behind = realpath(path, NULL);
		if (!S_ISREG(st.st_mode) || (link && !o->behind))
			return plain_open(o, e);
	}
	rc = temp_open(o, o->behind ? o->behind : path, e);
	if (rc)
		names_free(o);
	return rc;
}

int output_close(struct output *o, int rc, struct error *e)
{
	const char *name = o->behind ? o->behind : o->path;
	bool bad;

	if (!o->path)
		return rc; /* main() checks stdout */
	bad = ferror(o->f);
	if ((fclose(o->f) || bad) && !rc)
		rc = error_set(e, -EIO, EXIT_OUTPUT, "cannot write '%s': %s", o->path,
			       strerror(errno ? errno : EIO));
	if (!o->temp)
		return rc;
	if (!rc && renameat2(AT_FDCWD, o->temp, AT_FDCWD, name, o->force ? 0 : RENAME_NOREPLACE))
		rc = errno == EEXIST ? exists(o->path, e) : error_create(e, o->path, errno);
	if (rc)
		unlink(o->temp);
	names_free(o);
	return rc;
}
