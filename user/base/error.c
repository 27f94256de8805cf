/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"

int error_set(struct error *e, int rc, enum exit_code exit, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return rc;
	e->rc = rc;
	e->exit = exit;
	e->hint[0] = '\0';
	if (rc ==
	    -EMFILE) { /* whoever meets the limit first, it is the same, and so is the remedy */
		snprintf(e->hint, sizeof(e->hint), "allow more open files: ulimit -n");
		if (exit == EXIT_INTERNAL)
			e->exit = EXIT_KERNEL;
	}
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	return rc;
}

int error_hint(struct error *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -ECANCELED; /* what failed was said to nobody, but it has failed */
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	return e->rc;
}

/* "No such file": either there is no such directory, or it is one without files, as in /proc. */
static int directory_missing(struct error *e, const char *path)
{
	const char *slash = strrchr(path, '/');
	int len = slash ? slash > path ? (int)(slash - path) : 1 : 1;
	const char *start = slash ? path : ".";
	char dir[PATH_MAX];
	struct stat st;

	if (len >= PATH_MAX)
		return error_set(e, -ENAMETOOLONG, EXIT_OUTPUT, "cannot create '%.200s...': %s",
				 path, strerror(ENAMETOOLONG));
	memcpy(dir, start, (size_t)len);
	dir[len] = '\0';
	if (stat(dir, &st)) {
		error_set(e, -ENOENT, EXIT_OUTPUT, "cannot create '%s': no directory '%s'", path,
			  dir);
		return error_hint(e, "create the directory first, or choose another place");
	}
	error_set(e, -ENOENT, EXIT_OUTPUT, "cannot create '%s': '%s' takes no files", path, dir);
	return error_hint(e, "choose another place");
}

static const char *create_remedy(int err)
{
	switch (err) {
	case EEXIST:
		return "choose another name, or overwrite it with --force";
	case EACCES:
	case EPERM:
	case EROFS:
		return "choose a directory that can be written to";
	case ENOSPC:
	case EDQUOT:
		return "make room, or choose another file system";
	case EISDIR:
		return "name a file in it";
	case ENOTDIR:
		return "what stands before the last '/' is a file: choose another place";
	case ENAMETOOLONG:
		return "choose a shorter name";
	default:
		return NULL;
	}
}

int error_create(struct error *e, const char *path, int err)
{
	const char *remedy = create_remedy(err);

	if (err == ENOENT)
		return directory_missing(e, path);
	error_set(e, -err, EXIT_OUTPUT, "cannot create '%.300s': %s", path, strerror(err));
	if (remedy)
		error_hint(e, "%s", remedy);
	return -err;
}

/* What targets are called is in it, as they chose. */
static void line_print(const char *before, const char *text)
{
	char line[sizeof(((struct error *)0)->msg) + sizeof(((struct error *)0)->hint)];

	snprintf(line, sizeof(line), "%s", text);
	utf8_clean(line, strlen(line), true);
	fprintf(stderr, "%s%s\n", before, line);
}

void error_print(const struct error *e)
{
	line_print("gnomon: ", e->msg[0] ? e->msg : strerror(-e->rc));
	if (e->hint[0])
		line_print("  ", e->hint);
}
