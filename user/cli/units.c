/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t mul;
};

static const struct unit time_units[] = {
	{"ns", 1},	    {"us", 1000},	  {"ms", 1000000}, {"s", 1000000000},
	{"m", 60000000000}, {"h", 3600000000000}, {NULL, 0},
};

static const struct unit size_units[] = {
	{"", 1},	 {"b", 1},	    {"k", 1024},	{"kb", 1024},	   {"m", 1 << 20},
	{"mb", 1 << 20}, {"g", 1ULL << 30}, {"gb", 1ULL << 30}, {"t", 1ULL << 40}, {NULL, 0},
};

int number_parse(const char *s, uint64_t *v, const char **end)
{
	char *e;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	*v = strtoull(s, &e, 10);
	if (errno)
		return -EINVAL;
	*end = e;
	return 0;
}

int pid_parse(const char *s, pid_t *pid)
{
	const char *end;
	uint64_t v;

	if (!*s || s[strspn(s, "0123456789")])
		return -ENOENT;
	if (number_parse(s, &v, &end) || !v || v > INT32_MAX)
		return -EINVAL;
	*pid = (pid_t)v;
	return 0;
}

static int unit_parse(const char *s, const struct unit *units, uint64_t *out)
{
	const char *end;
	uint64_t v;

	if (number_parse(s, &v, &end))
		return -EINVAL;
	for (; units->name; units++)
		if (!strcasecmp(end, units->name))
			return __builtin_mul_overflow(v, units->mul, out) ? -EINVAL : 0;
	return -EINVAL;
}

int duration_parse(const char *s, uint64_t *ns)
{
	return unit_parse(s, time_units, ns);
}

int size_parse(const char *s, uint64_t *bytes)
{
	return unit_parse(s, size_units, bytes);
}
