/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's configuration file. Before the first section: settings of the daemon, and those
 * options of `gnomon record` that say how is recorded, by their long names. Each section is a rule:
 * which JVMs it is about, and whether these are recorded.
 */
#ifndef GNOMON_CLI_SETTINGS_H
#define GNOMON_CLI_SETTINGS_H

#include <stdint.h>

#include "base/error.h"
#include "cli/shipping.h"
#include "run/budget.h"
#include "run/retention.h"
#include "run/rules.h"
#include "run/session.h"
#include "run/trigger.h"

#define SETTINGS_PATH "/etc/gnomon/gnomon.conf"

struct settings {
	const char *directory;
	const char *socket, *metrics;
	const char *group; /* NULL: none */
	uint32_t gid;	   /* its number, or (uint32_t)-1: none, or not looked up yet */
	struct retention_policy keep;
	const char *budget, *jvm_budget; /* as they were given */
	struct budget_limits limits;	 /* that these are */
	struct rules rules;
	struct triggers triggers;
	struct session_config record; /* how; of whom and where to is not in it */
	struct shipping_options ship; /* where it is sent to meanwhile */
	void *strings;		      /* internal: what the above points to */
};

/*
 * Without a configuration: the defaults. Settings that were read earlier stay as they are, so that
 * a file that makes no sense changes nothing.
 */
int settings_parse(struct settings *s, const char *text, const char *path, struct error *e);

/* `path` NULL: SETTINGS_PATH, if it is there. EXIT_USAGE, and the line is named. */
int settings_read(struct settings *s, const char *path, struct error *e);

/*
 * Looks up the group and the users that it names, which may ask a directory service: the gid, and
 * those of triggers. EXIT_USAGE: there is none of that name.
 */
int settings_names(struct settings *s, struct error *e);

/* What was recorded with it must have ended. */
void settings_free(struct settings *s);

/*
 * Takes from `now` what may change while recording: rules and retention. The name of a setting that
 * has changed and takes a restart, or NULL.
 */
const char *settings_renew(struct settings *s, struct settings *now);

#endif
