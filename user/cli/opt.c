/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opt.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "cli/instant.h"
#include "cli/suggestion.h"
#include "cli/units.h"

static const struct opt *opt_long(const struct opt *o, const char *name, size_t len)
{
	for (; o && o->type; o++)
		if (o->name && strlen(o->name) == len && !strncmp(o->name, name, len))
			return o;
	return NULL;
}

static const struct opt *opt_short(const struct opt *o, char c)
{
	for (; o && o->type; o++)
		if (o->letter == c)
			return o;
	return NULL;
}

static int opt_bad(const struct opt *o, const char *val, const char *want, struct error *e)
{
	return error_set(e, -EINVAL, EXIT_USAGE, "bad value '%s' for --%s: %s", val, o->name, want);
}

static void number_text(const struct opt *o, uint64_t v, char *buf, size_t len)
{
	static const struct {
		const char *name;
		uint64_t mul;
	} shown[] = {
		{"h", 3600000000000}, {"m", 60000000000}, {"s", 1000000000},
		{"ms", 1000000},      {"us", 1000},	  {"ns", 1},
	};

	snprintf(buf, len, "%llu", (unsigned long long)v);
	if (o->type != OPT_DURATION || !v)
		return;
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (v % shown[i].mul == 0) {
			snprintf(buf, len, "%llu%s", (unsigned long long)(v / shown[i].mul),
				 shown[i].name);
			return;
		}
}

static int opt_number(const struct opt *o, const char *val, uint64_t *v, struct error *e)
{
	const char *end;
	char lo[32], hi[32];

	if (o->type == OPT_DURATION) {
		if (o->bare && !number_parse(val, v, &end) && !*end) {
			if (__builtin_mul_overflow(*v, 1000000000ull, v))
				return opt_bad(o, val, "so much time there is not", e);
		} else if (duration_parse(val, v))
			return opt_bad(o, val, "expected a time with its unit, such as 10ms or 2s",
				       e);
	} else if (o->type == OPT_SIZE) {
		if (size_parse(val, v))
			return opt_bad(o, val, "expected a size such as 64k, 12m or 1g", e);
	} else if (number_parse(val, v, &end) || *end) {
		return opt_bad(o, val, "expected a whole number", e);
	}
	if ((o->min || o->max) && (*v < o->min || *v > o->max)) {
		number_text(o, o->min, lo, sizeof(lo));
		number_text(o, o->max, hi, sizeof(hi));
		return error_set(e, -ERANGE, EXIT_USAGE,
				 "value '%s' for --%s is out of range: %s to %s", val, o->name, lo,
				 hi);
	}
	return 0;
}

static int list_add(struct opt_list *l, const char *val, struct error *e)
{
	const char **v = realloc(l->v, (l->n + 1) * sizeof(*v));

	if (!v)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	l->v = v;
	l->v[l->n++] = val;
	return 0;
}

static int enum_set(const struct opt *o, const char *val, struct error *e)
{
	struct suggestion near = {.word = val, .len = strlen(val)};
	char want[200] = "expected one of";
	int rc;

	for (int i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], val)) {
			*(int *)o->value = i;
			return 0;
		}
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s %s", i ? "," : "",
			 o->choices[i]);
		suggestion_offer(&near, o->choices[i]);
	}
	rc = opt_bad(o, val, want, e);
	return near.best ? error_hint(e, "did you mean '%s'?", near.best) : rc;
}

static int opt_set(const struct opt *o, const char *val, struct error *e)
{
	uint64_t v;
	int rc;

	if (o->type != OPT_FLAG && !*val)
		return error_set(e, -EINVAL, EXIT_USAGE, "empty value for --%s: it needs a %s",
				 o->name, o->arg);
	switch (o->type) {
	case OPT_FLAG:
		*(bool *)o->value = true;
		return 0;
	case OPT_STRING:
		*(const char **)o->value = val;
		return 0;
	case OPT_LIST:
		return list_add(o->value, val, e);
	case OPT_ENUM:
		return enum_set(o, val, e);
	case OPT_INSTANT:
		if (!instant_parse(val, o->value))
			return 0;
		return opt_bad(o, val,
			       "expected 30s since the start, -5m before the end, 14:00, 14:00:05 "
			       "or 2026-11-23T14:00",
			       e);
	case OPT_PID:
		rc = opt_number(o, val, &v, e);
		if (rc)
			return rc;
		if (!v || v > INT32_MAX)
			return opt_bad(o, val, "expected a process id", e);
		*(pid_t *)o->value = (pid_t)v;
		return 0;
	default:
		rc = opt_number(o, val, &v, e);
		if (!rc)
			*(uint64_t *)o->value = v;
		return rc;
	}
}

static int flag_assign(const struct opt *o, const char *val, struct error *e)
{
	bool yes = !strcmp(val, "yes") || !strcmp(val, "true") || !strcmp(val, "on");

	if (!yes && strcmp(val, "no") && strcmp(val, "false") && strcmp(val, "off"))
		return opt_bad(o, val, "expected yes or no", e);
	*(bool *)o->value = yes;
	return 0;
}

int opt_assign(const struct opt *opts, const char *name, const char *value, struct error *e)
{
	const struct opt *o = opt_long(opts, name, strlen(name));

	if (!o)
		return -ENOENT;
	return o->type == OPT_FLAG ? flag_assign(o, value, e) : opt_set(o, value, e);
}

static int opt_unknown(const struct command *c, const char *name, size_t len, struct error *e)
{
	struct suggestion near = {.word = name, .len = len};

	error_set(e, -EINVAL, EXIT_USAGE, "unknown option '--%.*s'", (int)len, name);
	for (const struct opt *o = c->opts; o && o->type; o++)
		suggestion_offer(&near, o->name);
	if (near.best)
		return error_hint(e, "did you mean '--%s'? see: gnomon %s --help", near.best,
				  c->name);
	return error_hint(e, "see: gnomon %s --help", c->name);
}

/* opt_set(), and a second time where once is all is refused. */
static int opt_take(const struct command *c, const struct opt *o, const char *val, uint64_t *seen,
		    struct error *e)
{
	uint64_t bit = 1ull << (o - c->opts);

	if (o->once && *seen & bit) {
		error_set(e, -EINVAL, EXIT_USAGE, "--%s is given twice", o->name);
		return error_hint(e, "see: gnomon %s --help", c->name);
	}
	*seen |= bit;
	return opt_set(o, val, e);
}

/* An option in the place of a value: that was forgotten, as after async-profiler's -t. */
static bool is_option(const struct command *c, const char *val)
{
	if (val[0] != '-' || !val[1])
		return false;
	return val[1] == '-' ? opt_long(c->opts, val + 2, strcspn(val + 2, "=")) != NULL
			     : opt_short(c->opts, val[1]) != NULL;
}

/* The argument behind an option that takes a value; NULL, and e says why, if that is none. */
static const char *value_next(const struct command *c, const struct opt *o, char **argv, int argc,
			      int *i, struct error *e)
{
	const char *val = *i + 1 < argc ? argv[*i + 1] : NULL;

	if (val && !is_option(c, val)) {
		++*i;
		return val;
	}
	error_set(e, -EINVAL, EXIT_USAGE, "%s needs a value: %s", argv[*i], o->arg);
	if (val)
		error_hint(e, "'%s' is an option; if it is the value: --%s=%s", val, o->name, val);
	return NULL;
}

static int parse_long(const struct command *c, char **argv, int *i, int argc, uint64_t *seen,
		      struct error *e)
{
	const char *name = argv[*i] + 2, *val = strchr(name, '=');
	size_t len = val ? (size_t)(val - name) : strlen(name);
	const struct opt *o = opt_long(c->opts, name, len);

	if (!o)
		return opt_unknown(c, name, len, e);
	if (val)
		val++;
	if (o->type == OPT_FLAG) {
		if (val)
			return opt_bad(o, val, "it takes no value", e);
	} else if (!val) {
		val = value_next(c, o, argv, argc, i, e);
		if (!val)
			return -EINVAL;
	}
	return opt_take(c, o, val, seen, e);
}

static int parse_short(const struct command *c, char **argv, int *i, int argc, uint64_t *seen,
		       struct error *e)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		const struct opt *o = opt_short(c->opts, *p);
		const char *val = NULL;
		int rc;

		if (!o) {
			error_set(e, -EINVAL, EXIT_USAGE, "unknown option '-%c'", *p);
			return error_hint(e, "see: gnomon %s --help", c->name);
		}
		if (o->type != OPT_FLAG) {
			val = p[1] ? p + 1 : value_next(c, o, argv, argc, i, e);
			if (!val)
				return -EINVAL;
		}
		rc = opt_take(c, o, val, seen, e);
		if (rc || o->type != OPT_FLAG)
			return rc;
	}
	return 0;
}

/* "-10m..-5m" is a range of time (cli/instant.h). */
static bool is_operand(const char *arg)
{
	return arg[0] != '-' || !arg[1] || (isdigit((unsigned char)arg[1]) && strstr(arg, ".."));
}

/* What is not an option moves to the end, in order; returns the index where it begins. */
int opt_parse(const struct command *c, int argc, char **argv, struct error *e)
{
	char **rest = calloc((size_t)argc + 1, sizeof(*rest));
	uint64_t seen = 0;
	int n = 0, i, rc = 0;

	if (!rest)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	for (i = 1; i < argc && !rc; i++) {
		if (!strcmp(argv[i], "--")) {
			i += !c->takes_program;
			break;
		}
		if (is_operand(argv[i]))
			rest[n++] = argv[i];
		else if (argv[i][1] == '-')
			rc = parse_long(c, argv, &i, argc, &seen, e);
		else
			rc = parse_short(c, argv, &i, argc, &seen, e);
	}
	if (rc && c->takes_program && n && !isdigit((unsigned char)*rest[0]) && e->exit)
		error_hint(e, "a program to start follows '--': gnomon %s [options] -- %s ...",
			   c->name, rest[0]);
	while (i < argc)
		rest[n++] = argv[i++];
	memcpy(argv + argc - n, rest, (size_t)n * sizeof(*rest));
	free(rest);
	return rc ? rc : argc - n;
}

bool opt_help_wanted(int argc, char *const *argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

void opt_help(const struct command *c)
{
	printf("usage: gnomon %s\n\n%c%s.\n", c->usage, toupper((unsigned char)c->summary[0]),
	       c->summary + 1);
	if (c->opts && c->opts->type)
		printf("\nOptions:\n");
	for (const struct opt *o = c->opts; o && o->type; o++) {
		char left[64], pre[8] = "    ";

		if (o->letter)
			snprintf(pre, sizeof(pre), "-%c, ", o->letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", pre, o->name, o->arg ? " " : "",
			 o->arg ? o->arg : "");
		printf("  %-26s %s%s\n", left,
		       strlen(left) > 26 ? "\n                             " : "", o->help);
	}
	if (c->notes)
		printf("\n%s", c->notes);
	if (c->examples)
		printf("\nExamples:\n%s", c->examples);
}
