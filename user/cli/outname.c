/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outname.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WORD_LEN 100 /* of a fact; file names end at 255 bytes */

static bool is_directory(const char *path)
{
	size_t n = strlen(path);
	struct stat st;

	return (n && path[n - 1] == '/') || (!stat(path, &st) && S_ISDIR(st.st_mode));
}

static int pattern_check(struct outname *o, struct error *e)
{
	o->fixed = true;
	for (const char *p = o->pattern; *p; p++) {
		if (*p != '%')
			continue;
		p++;
		if (!*p || !strchr("pnct%", *p)) {
			error_set(e, -EINVAL, EXIT_USAGE, "unknown '%%%.*s' in output '%s'",
				  *p != 0, p, o->pattern);
			return error_hint(e, "%%p is the pid, %%n the main class or jar, %%c the "
					     "container, %%t the time, %%%% a percent sign");
		}
		o->unique |= *p == 'p';
		o->fixed &= *p == '%';
	}
	return 0;
}

int outname_read(struct outname *out, const char *output, struct error *e)
{
	size_t n = strlen(output);
	int len;

	*out = (struct outname){0};
	if (is_directory(output))
		len = snprintf(out->pattern, sizeof(out->pattern), "%s%s%%n-%%p.jfr", output,
			       n && output[n - 1] == '/' ? "" : "/");
	else
		len = snprintf(out->pattern, sizeof(out->pattern), "%s", output);
	if (len >= (int)sizeof(out->pattern))
		return error_set(e, -ENAMETOOLONG, EXIT_USAGE, "output name too long: '%.100s...'",
				 output);
	return pattern_check(out, e);
}

void outname_time(char *to)
{
	time_t now = time(NULL);
	struct tm tm;

	if (!localtime_r(&now, &tm) || !strftime(to, OUTNAME_TIME_LEN, "%Y%m%d-%H%M%S", &tm))
		snprintf(to, OUTNAME_TIME_LEN, "%lld", (long long)now);
}

/* Of /proc/stat, once: where it has thousands of CPUs that takes the kernel milliseconds. */
static time_t boot_time(void)
{
	static time_t boot;
	char line[256];
	long long t;
	FILE *f = boot ? NULL : fopen("/proc/stat", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "btime %lld", &t) == 1)
			boot = (time_t)t;
	if (f)
		fclose(f);
	return boot;
}

void outname_start(uint64_t start_ticks, char *to)
{
	time_t at = boot_time() + (time_t)(start_ticks / (uint64_t)sysconf(_SC_CLK_TCK));
	struct tm tm;

	if (!gmtime_r(&at, &tm) || !strftime(to, OUTNAME_TIME_LEN, "%Y%m%dT%H%M%SZ", &tm))
		snprintf(to, OUTNAME_TIME_LEN, "%lld", (long long)at);
}

/* ---- one name -------------------------------------------------------------------------------- */

struct text_out {
	char *p;
	size_t cap, n;
};

static void put(struct text_out *t, char c)
{
	if (t->n < t->cap)
		t->p[t->n] = c;
	t->n++;
}

static void put_text(struct text_out *t, const char *s)
{
	while (*s)
		put(t, *s++);
}

/* A leading '.' would hide the file, and ".." lead away. */
static void put_word(struct text_out *t, const char *s, size_t len)
{
	for (size_t i = 0; i < len && i < WORD_LEN; i++) {
		unsigned char c = (unsigned char)s[i];
		bool plain = (c < 0x80 && isalnum(c)) || c == '-' || c == '_' || (c == '.' && i);

		put(t, plain ? (char)c : '_');
	}
}

/* "Main" of "mod/org.example.Main", "app-1.2" of "/opt/app-1.2.jar". */
static void put_main(struct text_out *t, const char *name)
{
	const char *base = strrchr(name, '/'), *dot;
	size_t len;

	base = base ? base + 1 : name;
	len = strlen(base);
	if (len > 4 && !strcmp(base + len - 4, ".jar")) {
		len -= 4;
	} else {
		dot = strrchr(base, '.');
		if (dot && dot[1])
			base = dot + 1;
		len = strlen(base);
	}
	if (len)
		put_word(t, base, len);
	else
		put_text(t, "java");
}

static void put_field(struct text_out *t, char which, const struct outname_facts *f)
{
	char pid[16];

	switch (which) {
	case 'p':
		snprintf(pid, sizeof(pid), "%d", f->pid);
		put_text(t, pid);
		break;
	case 'n':
		put_main(t, f->main);
		break;
	case 'c':
		if (f->container[0])
			put_word(t, f->container, strlen(f->container));
		else
			put_text(t, "host");
		break;
	case 't':
		put_word(t, f->time, strlen(f->time));
		break;
	default:
		put(t, '%');
	}
}

int outname_make(const struct outname *o, const struct outname_facts *f, unsigned int again,
		 char *path, size_t cap)
{
	const char *end = o->pattern + strlen(o->pattern), *suffix = strrchr(o->pattern, '.');
	struct text_out t = {.p = path, .cap = cap};
	char more[16];

	if (!suffix || strchr(suffix, '/') || strchr(suffix, '%'))
		suffix = end;
	snprintf(more, sizeof(more), "-%u", again);
	for (const char *p = o->pattern;; p++) {
		if (p == suffix && again)
			put_text(&t, more);
		if (p == end)
			break;
		if (*p == '%')
			put_field(&t, *++p, f);
		else
			put(&t, *p);
	}
	put(&t, '\0');
	return t.n <= cap ? 0 : -ENAMETOOLONG;
}
