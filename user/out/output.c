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

int output_open(struct output *o, const char *path, bool force, struct error *e)
{
	struct stat st;
	mode_t mask;
	int fd;

	*o = (struct output){.f = stdout, .force = force};
	if (!path || !strcmp(path, "-"))
		return 0;
	o->path = path;
	if (!lstat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return error_create(e, path, EISDIR);
		if (!force)
			return exists(path, e);
		if (!S_ISREG(st.st_mode)) { /* a device or pipe has no other name */
			o->f = fopen(path, "w");
			if (!o->f)
				goto fail;
			return 0;
		}
	}
	if (asprintf(&o->temp, "%s.XXXXXX", path) < 0) {
		o->temp = NULL;
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	fd = mkostemp(o->temp, O_CLOEXEC);
	if (fd < 0)
		goto fail;
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	o->f = fdopen(fd, "w");
	if (o->f)
		return 0;
	close(fd);
	unlink(o->temp);
fail:
	fd = error_create(e, path, errno);
	free(o->temp);
	o->temp = NULL;
	return fd;
}

int output_close(struct output *o, int rc, struct error *e)
{
	bool bad;

	if (!o->path)
		return rc; /* main() checks stdout */
	bad = ferror(o->f);
	if ((fclose(o->f) || bad) && !rc)
		rc = error_set(e, -EIO, EXIT_OUTPUT, "cannot write '%s': %s", o->path,
			       strerror(errno ? errno : EIO));
	if (!o->temp)
		return rc;
	if (!rc && renameat2(AT_FDCWD, o->temp, AT_FDCWD, o->path, o->force ? 0 : RENAME_NOREPLACE))
		rc = errno == EEXIST ? exists(o->path, e) : error_create(e, o->path, errno);
	if (rc)
		unlink(o->temp);
	free(o->temp);
	return rc;
}
