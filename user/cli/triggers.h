/* SPDX-License-Identifier: Apache-2.0 */
/* Sections [trigger NAME] of the daemon's configuration. */
#ifndef GNOMON_CLI_TRIGGERS_H
#define GNOMON_CLI_TRIGGERS_H

#include "base/error.h"
#include "run/session.h"
#include "run/trigger.h"

/* The label of a section that is one; NULL: it is another. */
const char *trigger_label(const char *section);

/* A line of it. A negative errno and *e: it makes no sense. */
int trigger_set(struct trigger *t, const char *name, const char *value, struct error *e);

/* Of whole sections: what is missing, or does not go together; `how` is recorded. */
int triggers_check(const struct triggers *t, const struct session_config *how, struct error *e);

/* Looks up as whom they run what. EXIT_USAGE: there is no such user. */
int triggers_users(struct triggers *t, struct error *e);

#endif
