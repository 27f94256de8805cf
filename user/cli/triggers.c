/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/triggers.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/opt.h"
#include "cli/recording.h"

#define LABEL	"trigger"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
#define HOUR_NS (3600 * RECORDING_S)
#define DAY_NS	(24 * HOUR_NS)

const char *trigger_label(const char *section)
{
	size_t n = strlen(LABEL);

	if (strncmp(section, LABEL " ", n + 1))
		return NULL;
	section += n;
	return section + strspn(section, " ");
}

static int bad(struct error *e, const char *name, const char *value)
{
	return error_set(e, -EINVAL, EXIT_USAGE, "'%s' is no '%s'", value, name);
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* "80%"; what is behind it. NULL: it is none. */
static const char *percent_parse(const char *s, double *share)
{
	char *end = NULL;
	double v = strtod(s, &end);

	if (end == s || *end != '%' || !(v > 0 && v <= 1e6))
		return NULL;
	*share = v / 100;
	return end + 1 + strspn(end + 1, " ");
}

/* "30s" */
static int seconds_parse(struct trigger *t, const char *s)
{
	uint64_t ns = 0;
	const struct opt opts[] = {
		{OPT_DURATION, 0, "when", "TIME", "", &ns, .min = RECORDING_S, .max = HOUR_NS},
		{OPT_END},
	};
	struct error e = {0};

	if (*s != '>' || opt_assign(opts, "when", s + 1 + strspn(s + 1, " "), &e))
		return -EINVAL;
	t->above = (double)ns / 1e9;
	t->below = 0.8 * t->above;
	return 0;
}

static int share_parse(struct trigger *t, const char *s)
{
	if (*s != '>')
		return -EINVAL;
	s = percent_parse(s + 1 + strspn(s + 1, " "), &t->above);
	if (!s)
		return -EINVAL;
	t->below = 0.8 * t->above;
	return *s ? -EINVAL : 0;
}

/* "14:30" */
static int minute_parse(struct trigger *t, const char *s)
{
	unsigned int hour, minute;
	int n = 0;

	if (sscanf(s, "%2u:%2u%n", &hour, &minute, &n) != 2 || s[n] || hour > 23 || minute > 59)
		return -EINVAL;
	t->at_minute = 60 * hour + minute;
	return 0;
}

static int when_set(struct trigger *t, const char *value, struct error *e)
{
	size_t n = strcspn(value, " >");
	const char *rest = value + n + strspn(value + n, " ");
	int rc = -EINVAL;

	if (t->what)
		return error_set(e, -EINVAL, EXIT_USAGE, "'when' is given twice");
	for (enum trigger_what w = TRIGGER_NONE + 1; w < TRIGGER_WHATS; w++)
		if (strlen(trigger_word(w)) == n && !strncmp(value, trigger_word(w), n))
			t->what = w;
	if (t->what == TRIGGER_FROZEN)
		rc = seconds_parse(t, rest);
	else if ((t->what && t->what < TRIGGER_SHARES) || t->what == TRIGGER_LIVE)
		rc = share_parse(t, rest);
	else if (t->what == TRIGGER_AT)
		rc = minute_parse(t, rest);
	else if (t->what)
		rc = *rest ? -EINVAL : 0;
	snprintf(t->words, sizeof(t->words), "%s", value);
	if (!rc)
		return 0;
	bad(e, "when", value);
	return error_hint(e, "it is cpu, queued, blocked, gc, throttled, method or live > N%%, "
			     "frozen > TIME, deadlock, start, exit, or at HH:MM");
}

/* Below which share it may fire again. */
static int again_set(struct trigger *t, const char *value, struct error *e)
{
	const char *rest = percent_parse(value, &t->below);

	return rest && !*rest ? 0 : bad(e, "again-below", value);
}

/* ---- actions --------------------------------------------------------------------------------- */

/* Words of a command, as they are: no shell looks at them. */
static int run_set(struct trigger *t, const char *value, struct error *e)
{
	size_t argc = 0;

	while (t->argv[argc])
		argc++;
	for (value += strspn(value, " \t"); *value; value += strspn(value, " \t")) {
		size_t n = strcspn(value, " \t");

		if (argc == TRIGGER_ARGS)
			return error_set(e, -E2BIG, EXIT_USAGE, "'run' has more than %d words",
					 TRIGGER_ARGS);
		t->argv[argc] = strndup(value, n);
		if (!t->argv[argc++])
			return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
		value += n;
	}
	if (t->argv[0] && t->argv[0][0] == '/')
		return 0;
	bad(e, "run", t->argv[0] ? t->argv[0] : "");
	return error_hint(e, "it is the whole path of a program, and its arguments");
}

static int user_set(struct trigger *t, const char *value, struct error *e)
{
	if (t->run_as || !*value)
		return error_set(e, -EINVAL, EXIT_USAGE,
				 *value ? "'run-as' is given twice" : "'run-as' has no value");
	t->run_as = strdup(value);
	return t->run_as ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

static int method_set(struct trigger *t, const char *value, struct error *e)
{
	if (t->method || !*value)
		return error_set(e, -EINVAL, EXIT_USAGE,
				 *value ? "'method' is given twice" : "'method' has no value");
	if (strlen(value) >= WATCH_PATTERN)
		return error_set(e, -E2BIG, EXIT_USAGE, "'method' has more than %d characters",
				 WATCH_PATTERN - 1);
	t->method = strdup(value);
	return t->method ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

/* ---- sections -------------------------------------------------------------------------------- */

static int whom_set(struct trigger *t, const char *name, const char *value, struct error *e)
{
	char **to = !strcmp(name, "name")	 ? &t->whom.name
		    : !strcmp(name, "container") ? &t->whom.container
		    : !strcmp(name, "cgroup")	 ? &t->whom.cgroup
		    : !strcmp(name, "user")	 ? &t->whom.user
						 : NULL;

	if (!to)
		return -ENOENT;
	if (*to || !*value)
		return error_set(e, -EINVAL, EXIT_USAGE,
				 *value ? "'%s' is given twice" : "'%s' has no value", name);
	*to = strdup(value);
	return *to ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

static int number_set(struct trigger *t, const char *name, const char *value, struct error *e)
{
	const struct opt opts[] = {
		{OPT_DURATION, 0, "for", "TIME", "", &t->for_ns, .min = 2 * RECORDING_S,
		 .max = HOUR_NS},
		{OPT_DURATION, 0, "every", "TIME", "", &t->every_ns, .min = RECORDING_S,
		 .max = 30 * DAY_NS},
		{OPT_DURATION, 0, "cpu", "TIME", "", &t->rate.rate.cpu_ns,
		 .min = RECORDING_TICK_MIN, .max = RECORDING_TICK_MAX},
		{OPT_DURATION, 0, "wall", "TIME", "", &t->rate.rate.wall_ns,
		 .min = RECORDING_TICK_MIN, .max = RECORDING_TICK_MAX},
		{OPT_DURATION, 0, "rate-for", "TIME", "", &t->rate_ns, .min = RECORDING_S,
		 .max = DAY_NS},
		{OPT_DURATION, 0, "dump", "TIME", "", &t->dump_ns, .min = RECORDING_S,
		 .max = 30 * DAY_NS},
		{OPT_END},
	};

	return opt_assign(opts, name, value, e);
}

int trigger_set(struct trigger *t, const char *name, const char *value, struct error *e)
{
	int rc = whom_set(t, name, value, e);

	if (rc != -ENOENT)
		return rc;
	if (!strcmp(name, "when"))
		return when_set(t, value, e);
	if (!strcmp(name, "again-below"))
		return again_set(t, value, e);
	if (!strcmp(name, "method"))
		return method_set(t, value, e);
	if (!strcmp(name, "run"))
		return run_set(t, value, e);
	if (!strcmp(name, "run-as"))
		return user_set(t, value, e);
	rc = number_set(t, name, value, e);
	t->rate.cpu |= !strcmp(name, "cpu");
	t->rate.wall |= !strcmp(name, "wall");
	if (rc != -ENOENT)
		return rc;
	error_set(e, -EINVAL, EXIT_USAGE, "a trigger has no '%s'", name);
	return error_hint(e, "gnomon-daemon(1) lists what it has");
}

static int trigger_check(const struct trigger *t, struct error *e)
{
	const char *label = t->whom.label;

	if (!*label)
		return error_set(e, -EINVAL, EXIT_USAGE, "a trigger has no name");
	if (label[strspn(label, LETTERS)]) /* files are called so */
		return error_set(e, -EINVAL, EXIT_USAGE,
				 "trigger '%s': a name is of letters, digits, - and _", label);
	if (!t->what)
		return error_set(e, -EINVAL, EXIT_USAGE, "trigger '%s' does not say when", label);
	if (trigger_has_method(t) != (t->method != NULL))
		return error_set(e, -EINVAL, EXIT_USAGE,
				 t->method ? "trigger '%s' has a method, and is about none"
					   : "trigger '%s' does not say which 'method' it is about",
				 label);
	if (t->what < TRIGGER_LEVELS && t->below > t->above)
		return error_set(e, -EINVAL, EXIT_USAGE,
				 "trigger '%s' would fire again above what it fires at", label);
	if ((t->rate.cpu || t->rate.wall) != (t->rate_ns != 0))
		return error_set(e, -EINVAL, EXIT_USAGE,
				 "trigger '%s': 'cpu' or 'wall', and 'rate-for', go together",
				 label);
	if (t->what == TRIGGER_EXIT && t->rate_ns)
		return error_set(e, -EINVAL, EXIT_USAGE,
				 "trigger '%s': who has ended is not sampled any more", label);
	if (!t->run_as && t->argv[0])
		return error_set(e, -EINVAL, EXIT_USAGE,
				 "trigger '%s' does not say as whom (run-as) it runs '%s'", label,
				 t->argv[0]);
	return 0;
}

/* What it decides by is not recorded. */
static int source_check(const struct trigger *t, const struct session_config *how, struct error *e)
{
	bool vitals =
		t->what == TRIGGER_GC || t->what == TRIGGER_THROTTLED || t->what == TRIGGER_LIVE;
	bool cpu = t->what == TRIGGER_CPU || t->what == TRIGGER_METHOD;
	bool wall = t->what == TRIGGER_QUEUED || t->what == TRIGGER_BLOCKED ||
		    t->what == TRIGGER_FROZEN || t->what == TRIGGER_DEADLOCK;
	const char *missing = NULL;

	if (vitals && !how->form.vitals)
		missing = "no-vitals";
	else if (cpu && !how->cpu_ns)
		missing = "no-cpu";
	else if (wall && !how->wall_ns)
		missing = "no-wall";
	else if (t->what == TRIGGER_DEADLOCK && !how->causes)
		missing = "no-causes";
	if (!missing)
		return 0;
	return error_set(e, -EINVAL, EXIT_USAGE, "trigger '%s' would never fire with '%s'",
			 t->whom.label, missing);
}

int triggers_check(const struct triggers *t, const struct session_config *how, struct error *e)
{
	size_t methods = 0;
	int rc = 0;

	for (size_t i = 0; i < t->n && !rc; i++)
		rc = trigger_check(&t->v[i], e);
	for (size_t i = 0; i < t->n && !rc; i++)
		rc = source_check(&t->v[i], how, e);
	for (size_t i = 0; i < t->n; i++)
		methods += trigger_has_method(&t->v[i]);
	if (!rc && methods > WATCH_METHODS)
		rc = error_set(e, -E2BIG, EXIT_USAGE, "there are more than %d triggers of methods",
			       WATCH_METHODS);
	return rc;
}

int triggers_users(struct triggers *t, struct error *e)
{
	for (size_t i = 0; i < t->n; i++) {
		struct trigger *x = &t->v[i];
		const struct passwd *p = x->run_as ? getpwnam(x->run_as) : NULL;

		if (x->run_as && !p)
			return error_set(e, -EINVAL, EXIT_USAGE,
					 "trigger '%s': there is no user '%s'", x->whom.label,
					 x->run_as);
		x->uid = p ? p->pw_uid : (uint32_t)-1;
		x->gid = p ? p->pw_gid : (uint32_t)-1;
	}
	return 0;
}
