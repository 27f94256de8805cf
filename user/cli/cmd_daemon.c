/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "cli/cmds.h"
#include "cli/outname.h"
#include "cli/recording.h"
#include "cli/settings.h"
#include "run/daemon.h"
#include "target/pidns.h"

static struct {
	const char *config;
	bool check;
} o;

static const struct opt opts[] = {
	{OPT_STRING, 0, "config", "FILE", "its configuration (default " SETTINGS_PATH ")",
	 &o.config, .once = true},
	{OPT_FLAG, 0, "check", NULL, "read the configuration, say what is wrong with it, and end",
	 &o.check},
	{OPT_END},
};

struct daemon_state {
	struct settings settings; /* those in force */
	struct outname names;
	struct shipping *ship; /* NULL: nothing is sent */
};

/* A JVM's directory says when it started, so that after our restart it is the same one. */
static int directory_name(void *ctx, const struct jvm_proc *j, char *path, size_t cap)
{
	const struct daemon_state *d = ctx;
	char label[CONTAINER_NAME_LEN], time[OUTNAME_TIME_LEN];
	struct outname_facts facts = recording_facts(j, label);

	outname_start(j->id.start, time);
	facts.time = time;
	return outname_make(&d->names, &facts, 0, path, cap);
}

static int names_read(struct daemon_state *d, struct error *e)
{
	char pattern[OUTNAME_LEN];
	size_t n = 0;

	for (const char *p = d->settings.directory; *p && n < sizeof(pattern) - 16; p++) {
		if (*p == '%')
			pattern[n++] = '%';
		pattern[n++] = *p;
	}
	snprintf(pattern + n, sizeof(pattern) - n, "/%%n-%%c-%%p-%%t");
	return outname_read(&d->names, pattern, e);
}

static const char *path_of(void)
{
	return o.config ? o.config : SETTINGS_PATH;
}

static int names_find(struct settings *s, struct error *e)
{
	struct error why = {0};
	int rc = settings_names(s, &why);

	return rc ? error_set(e, rc, EXIT_USAGE, "'%s': %s", path_of(), why.msg) : 0;
}

/* In the process that runs commands. */
static int triggers_read(void *ctx, struct triggers *out, struct error *e)
{
	struct settings newer;
	int rc = settings_read(&newer, o.config, e);

	if (rc)
		return rc;
	rc = names_find(&newer, e);
	if (!rc) {
		*out = newer.triggers;
		newer.triggers = (struct triggers){0};
	}
	settings_free(&newer);
	return rc;
}

static int reload(void *ctx, struct daemon_orders *orders, struct error *e)
{
	struct daemon_state *d = ctx;
	struct settings newer;
	const char *restart;
	int rc = settings_read(&newer, o.config, e);

	if (rc)
		return rc;
	restart = settings_renew(&d->settings, &newer);
	if (restart)
		log_warn("'%s' has changed, which takes a restart: until then it stays as it was",
			 restart);
	/* the newer ones are d's now, which hands them on */
	orders->rules = d->settings.rules;
	orders->keep = d->settings.keep;
	orders->budget = d->settings.limits;
	d->settings.rules = (struct rules){0};
	orders->triggers = d->settings.triggers;
	d->settings.triggers = (struct triggers){0};
	settings_free(&newer);
	return 0;
}

static void delivery(void *ctx, struct delivery *to)
{
	const struct daemon_state *d = ctx;

	shipping_read(d->ship, to);
}

/*
 * What waits for being sent lies in the daemon's directory, unless told otherwise, and is sent the
 * next time.
 */
static int ship_begin(struct daemon_state *d, struct session_config *session, struct error *e)
{
	struct shipping_options *o = &d->settings.ship;
	static char spool[4096];

	if (!o->urls.n)
		return 0;
	o->dir = d->settings.directory;
	if (!o->to.spool) {
		if (mkdir(d->settings.directory, 0700) && errno != EEXIST)
			return error_create(e, d->settings.directory, errno);
		snprintf(spool, sizeof(spool), "%s/.push", d->settings.directory);
		o->to.spool = spool;
	}
	return shipping_start(&d->ship, o, session, e);
}

static int record(struct daemon_state *d, struct error *e)
{
	struct settings *s = &d->settings;
	struct daemon_orders orders = {
		.rules = s->rules, .triggers = s->triggers, .keep = s->keep, .budget = s->limits};
	struct daemon_config cfg = {
		.record = s->record,
		.dir = s->directory,
		.socket = s->socket,
		.gid = s->gid,
		.metrics = s->metrics,
		.version = GNOMON_VERSION,
		.name = directory_name,
		.name_ctx = d,
		.reload = reload,
		.triggers = triggers_read,
		.delivery = delivery,
		.ctx = d,
	};
	struct error late = {0};
	int rc = names_read(d, e);

	s->rules = (struct rules){0};
	s->triggers = (struct triggers){0};
	if (!rc)
		rc = pidns_check(e);
	if (!rc)
		rc = ship_begin(d, &cfg.record, e);
	if (!rc)
		rc = daemon_run(&cfg, &orders, e);
	if (shipping_finish(d->ship, true, &late))
		log_warn("%s", late.msg);
	rules_free(&orders.rules);
	triggers_free(&orders.triggers);
	return rc;
}

static void check_tell(const struct settings *s)
{
	size_t n = s->rules.n + s->triggers.n;

	printf("%s: %zu section%s, no error\n", path_of(), n, n == 1 ? "" : "s");
}

static int run(int argc, char **argv, struct error *e)
{
	struct daemon_state d = {0};
	int rc;

	if (argc) {
		error_set(e, -EINVAL, EXIT_USAGE, "an argument too many: '%s'", argv[0]);
		error_hint(e, "which JVMs are recorded stands in the configuration");
		return EXIT_USAGE;
	}
	if (settings_read(&d.settings, o.config, e))
		return (int)e->exit;
	if (names_find(&d.settings, e)) {
		settings_free(&d.settings);
		return (int)e->exit;
	}
	if (o.check) {
		check_tell(&d.settings);
		settings_free(&d.settings);
		return EXIT_OK;
	}
	/* who comes and goes is what a service's log is for */
	if (log_level < 1)
		log_level = 1;
	rc = record(&d, e);
	settings_free(&d.settings);
	return rc ? (int)e->exit : EXIT_OK;
}

const struct command cmd_daemon = {
	.name = "daemon",
	.summary = "record all JVMs, those that come too, until stopped, and keep the last hours",
	.usage = "daemon [--config FILE] [--check]",
	.opts = opts,
	.notes = "Each JVM has a directory of files of a minute, NAME-CONTAINER-PID-START, below\n"
		 "/var/lib/gnomon. Each file is a recording by itself; the oldest are removed as\n"
		 "max-age, max-size, max-total-size and min-free of the configuration say. What "
		 "is\n"
		 "written survives kill -9 of the daemon.\n\n"
		 "SIGHUP reads the configuration again: JVMs that it still wants are recorded on\n"
		 "without a gap; one that makes no sense changes nothing. SIGTERM and Ctrl-C end "
		 "it.\n",
	.examples = "  gnomon daemon\n"
		    "  gnomon daemon --config ./gnomon.conf --check\n",
	.run = run,
	.looks = true,
};
