/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/settings.h"

#include <errno.h>
#include <grp.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/opt.h"
#include "cli/recording.h"
#include "cli/triggers.h"
#include "run/control.h"

#define LINE_MAX_BYTES 190 /* libinih cuts longer ones in two */
#define FILE_MAX_BYTES (1 << 20)
#define SECTION_MAX    49 /* likewise */

#define DAY_NS	   (24ull * 3600 * RECORDING_S)
#define GIB	   (1ull << 30)
#define CHUNK_NS   (60 * RECORDING_S)
#define HELD_BYTES (4ull << 20) /* of a JVM, while the disk is full */

/* What stands before the first section. */
struct pair {
	char *name, *value;
	struct pair *next;
};

/* One at a time: the table points to it. */
static struct settings now;
static bool otherwise;

static const struct opt own[] = {
	{OPT_STRING, 0, "directory", "DIR", "", &now.directory},
	{OPT_STRING, 0, "socket", "PATH", "", &now.socket},
	{OPT_STRING, 0, "group", "GROUP", "", &now.group},
	{OPT_STRING, 0, "metrics", "FILE", "", &now.metrics},
	{OPT_DURATION, 0, "max-age", "TIME", "", &now.keep.age_max_ns, .min = RECORDING_S,
	 .max = 10 * RECORDING_LONGEST},
	{OPT_SIZE, 0, "max-size", "SIZE", "", &now.keep.jvm_max_bytes, .min = 64 << 10,
	 .max = 1ull << 50},
	{OPT_SIZE, 0, "max-total-size", "SIZE", "", &now.keep.total_max_bytes, .min = 64 << 10,
	 .max = 1ull << 50},
	{OPT_SIZE, 0, "min-free", "SIZE", "", &now.keep.free_min_bytes, .max = 1ull << 50},
	{OPT_STRING, 0, "budget", "SHARE", "", &now.budget},
	{OPT_STRING, 0, "jvm-budget", "SHARE", "", &now.jvm_budget},
	{OPT_FLAG, 0, "record", NULL, "", &otherwise},
	{OPT_END},
};

/* Those that a reload changes. */
static bool may_change(const char *name)
{
	return !strcmp(name, "max-age") || !strcmp(name, "max-size") ||
	       !strcmp(name, "max-total-size") || !strcmp(name, "min-free") ||
	       !strcmp(name, "budget") || !strcmp(name, "jvm-budget") || !strcmp(name, "record");
}

static int no_memory(struct error *e)
{
	return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

/* ---- what stands before the first section ---------------------------------------------------- */

static bool pair_there(const struct pair *in, const struct pair *p)
{
	while (in && (strcmp(in->name, p->name) || strcmp(in->value, p->value)))
		in = in->next;
	return in;
}

static struct pair *pair_add(struct settings *s, const char *name, const char *value)
{
	struct pair *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->next = s->strings;
	s->strings = p;
	p->name = strdup(name);
	p->value = strdup(value);
	return p->name && p->value ? p : NULL;
}

static int setting(const char *name, const char *value, struct error *e)
{
	const struct pair *p = pair_add(&now, name, value);
	int rc;

	if (!p)
		return no_memory(e);
	rc = opt_assign(own, p->name, p->value, e);
	if (rc == -ENOENT)
		rc = record_setting(p->name, p->value, e);
	if (rc == -ENOENT) {
		error_set(e, -EINVAL, EXIT_USAGE, "there is no setting '%s'", name);
		error_hint(e, "gnomon-daemon(1) lists them");
	}
	return rc;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static int rule_set(struct rule *r, const char *name, const char *value, struct error *e)
{
	const struct opt record[] = {
		{OPT_FLAG, 0, "record", NULL, "", &r->record},
		{OPT_DURATION, 0, "cpu", "TIME", "", &r->cpu_ns, .min = RECORDING_TICK_MIN,
		 .max = RECORDING_TICK_MAX},
		{OPT_DURATION, 0, "wall", "TIME", "", &r->wall_ns, .min = RECORDING_TICK_MIN,
		 .max = RECORDING_TICK_MAX},
		{OPT_FLAG, 0, "no-cpu", NULL, "", &r->no_cpu},
		{OPT_FLAG, 0, "no-wall", NULL, "", &r->no_wall},
		{OPT_END},
	};
	const struct {
		const char *name;
		char **to;
	} words[] = {{"name", &r->name},
		     {"container", &r->container},
		     {"cgroup", &r->cgroup},
		     {"user", &r->user}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(name, words[i].name))
			continue;
		if (*words[i].to || !*value)
			return error_set(e, -EINVAL, EXIT_USAGE,
					 *value ? "'%s' is given twice" : "'%s' has no value",
					 name);
		*words[i].to = strdup(value);
		return *words[i].to ? 0 : no_memory(e);
	}
	if (opt_assign(record, name, value, e) != -ENOENT)
		return e->msg[0] ? -EINVAL : 0;
	error_set(e, -EINVAL, EXIT_USAGE, "a section has no '%s'", name);
	return error_hint(e, "it has name, container, cgroup, user, record, cpu, wall, no-cpu and "
			     "no-wall; what is for all JVMs stands before the first section");
}

static int rule_setting(const char *section, const char *name, const char *value, struct error *e)
{
	struct rules *r = &now.rules;
	struct rule *last = r->n ? &r->v[r->n - 1] : NULL;

	if (!last || strcmp(last->label, section))
		last = rules_add(r, section);
	return last ? rule_set(last, name, value, e) : no_memory(e);
}

static int trigger_setting(const char *label, const char *name, const char *value, struct error *e)
{
	struct triggers *t = &now.triggers;
	struct trigger *last = t->n ? &t->v[t->n - 1] : NULL;

	if (!last || strcmp(last->whom.label, label))
		last = triggers_add(t, label);
	if (!last && t->n == TRIGGERS_MAX)
		return error_set(e, -E2BIG, EXIT_USAGE, "there are more than %d triggers",
				 TRIGGERS_MAX);
	return last ? trigger_set(last, name, value, e) : no_memory(e);
}

static int section_setting(const char *section, const char *name, const char *value,
			   struct error *e)
{
	const char *trigger = trigger_label(section);

	return trigger ? trigger_setting(trigger, name, value, e)
		       : rule_setting(section, name, value, e);
}

/* One that says nothing of which JVMs it is about would decide for all. */
static int rules_check(struct error *e)
{
	for (size_t i = 0; i < now.rules.n; i++) {
		const struct rule *r = &now.rules.v[i];

		if ((r->cpu_ns && r->no_cpu) || (r->wall_ns && r->no_wall))
			return error_set(e, -EINVAL, EXIT_USAGE,
					 "section '%s' wants samples, and none", r->label);
		if (r->name || r->container || r->cgroup || r->user)
			continue;
		error_set(e, -EINVAL, EXIT_USAGE,
			  "section '%s' does not say which JVMs it is about", r->label);
		return error_hint(e, "it wants a name, container, cgroup or user");
	}
	return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int on_pair(void *ctx, const char *section, const char *name, const char *value)
{
	struct error *e = ctx;

	if (e->exit)
		return 0; /* the first one counts */
	return !(*section ? section_setting(section, name, value, e) : setting(name, value, e));
}

static int lines_check(const char *text, const char *path, struct error *e)
{
	unsigned int line = 1;

	for (const char *p = text; *p; line++) {
		size_t n = strcspn(p, "\n");

		if (n > LINE_MAX_BYTES || (*p == '[' && n > SECTION_MAX))
			return error_set(e, -EINVAL, EXIT_USAGE,
					 "'%s', line %u: the line is too long", path, line);
		p += n + (p[n] == '\n');
	}
	return 0;
}

static void defaults_set(void)
{
	now = (struct settings){
		.directory = "/var/lib/gnomon",
		.socket = CONTROL_PATH,
		.gid = (uint32_t)-1,
		.keep = {.age_max_ns = DAY_NS,
			 .jvm_max_bytes = GIB,
			 .total_max_bytes = 10 * GIB,
			 .free_min_bytes = GIB},
	};
	otherwise = true;
	record_settings_begin();
}

/* "1.5%", or "none". */
static int share_set(const char *name, const char *text, double *share, struct error *e)
{
	char *end = NULL;
	double v;

	*share = 0;
	if (!text || !strcmp(text, "none"))
		return 0;
	v = strtod(text, &end);
	if (end != text && !strcmp(end, "%") && v >= 0.01 && v <= 100) {
		*share = v / 100;
		return 0;
	}
	error_set(e, -EINVAL, EXIT_USAGE, "'%s' is no %s", text, name);
	return error_hint(e, "it is a share of all CPUs, as 1%%, from 0.01%% on, or none");
}

static int budgets_set(struct error *e)
{
	int rc = share_set("budget", now.budget, &now.limits.share, e);

	return rc ? rc : share_set("jvm-budget", now.jvm_budget, &now.limits.jvm_share, e);
}

static int on_any(void *ctx, const char *section, const char *name, const char *value)
{
	return 1;
}

static int parse(const char *text, const char *path, struct error *e)
{
	struct error why = {0};
	int line = ini_parse_string(text, on_any, NULL), rc = 0;

	/* what is no configuration at all comes first, since lines behind it may mean anything */
	if (!line)
		line = ini_parse_string(text, on_pair, &why);
	if (line) {
		error_set(e, -EINVAL, EXIT_USAGE, "'%s', line %d: %s", path, line,
			  why.exit ? why.msg : "expected NAME = VALUE or [SECTION]");
		return why.hint[0] ? error_hint(e, "%s", why.hint) : -EINVAL;
	}
	rc = rules_check(&why);
	if (!rc)
		rc = budgets_set(&why);
	if (!rc)
		rc = record_settings_end(&now.record, &now.ship, &why);
	if (!rc)
		rc = triggers_check(&now.triggers, &now.record, &why);
	if (!rc && now.record.clock == CPU_ENGINE_THREAD)
		rc = error_set(&why, -EINVAL, EXIT_USAGE,
			       "'cpu-engine = thread' is for one JVM: those of a daemon are "
			       "sampled by the CPUs' clocks");
	if (rc) {
		error_set(e, rc, EXIT_USAGE, "'%s': %s", path, why.msg);
		error_hint(e, "%s", why.hint);
	}
	return rc;
}

static void form_set(struct jfrw_form *form)
{
	form->segments = true;
	form->held_max_bytes = HELD_BYTES;
	if (!form->chunk_max_ns)
		form->chunk_max_ns = CHUNK_NS;
}

int settings_parse(struct settings *s, const char *text, const char *path, struct error *e)
{
	int rc = lines_check(text, path, e);

	if (rc)
		return rc;
	defaults_set();
	rc = parse(text, path, e);
	now.rules.otherwise = otherwise;
	now.record.quiet = true;
	form_set(&now.record.form);
	if (rc)
		settings_free(&now);
	else
		*s = now;
	now = (struct settings){0};
	return rc;
}

/* Malloc'd; NULL and *e, or errno ENOENT. */
static char *file_text(const char *path, struct error *e)
{
	FILE *f = fopen(path, "re");
	char *text = f ? calloc(1, FILE_MAX_BYTES + 1) : NULL;
	size_t n = text ? fread(text, 1, FILE_MAX_BYTES, f) : 0;
	int err = !f || ferror(f) ? errno : 0;

	if (f)
		fclose(f);
	if (!err && text && (n < FILE_MAX_BYTES))
		return text;
	free(text);
	if (f && !text)
		no_memory(e);
	else
		error_set(e, err ? -err : -EFBIG, EXIT_USAGE, "cannot read '%s': %s", path,
			  strerror(err ? err : EFBIG));
	errno = err;
	return NULL;
}

int settings_read(struct settings *s, const char *path, struct error *e)
{
	struct error why = {0};
	char *text = file_text(path ? path : SETTINGS_PATH, &why);
	int rc;

	if (!text && (path || why.rc != -ENOENT)) {
		*e = why;
		return why.rc;
	}
	rc = settings_parse(s, text ? text : "", path ? path : SETTINGS_PATH, e);
	free(text);
	return rc;
}

int settings_names(struct settings *s, struct error *e)
{
	const struct group *g = s->group ? getgrnam(s->group) : NULL;

	if (s->group && !g)
		return error_set(e, -EINVAL, EXIT_USAGE, "there is no group '%s'", s->group);
	if (g)
		s->gid = g->gr_gid;
	return triggers_users(&s->triggers, e);
}

void settings_free(struct settings *s)
{
	for (struct pair *p = s->strings, *next; p; p = next) {
		next = p->next;
		free(p->name);
		free(p->value);
		free(p);
	}
	rules_free(&s->rules);
	triggers_free(&s->triggers);
	free((void *)s->record.threads);
	shipping_options_free(&s->ship);
	*s = (struct settings){0};
}

/* One of a that b has not, or with another value. */
static const char *pair_missing(const struct pair *a, const struct pair *b)
{
	for (; a; a = a->next)
		if (!may_change(a->name) && !pair_there(b, a))
			return a->name;
	return NULL;
}

const char *settings_renew(struct settings *s, struct settings *newer)
{
	const char *name = pair_missing(s->strings, newer->strings);
	struct rules rules = s->rules;
	struct triggers triggers = s->triggers;

	s->keep = newer->keep;
	s->limits = newer->limits;
	s->rules = newer->rules;
	newer->rules = rules;
	s->triggers = newer->triggers;
	newer->triggers = triggers;
	return name ? name : pair_missing(newer->strings, s->strings);
}
