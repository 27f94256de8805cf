/* SPDX-License-Identifier: Apache-2.0 */
/* Sending what is recorded while it is recorded: the options for it, and the way from there. */
#ifndef GNOMON_CLI_SHIPPING_H
#define GNOMON_CLI_SHIPPING_H

#include "cli/podding.h"
#include "cli/pushing.h"
#include "push/follower.h"
#include "run/session.h"

#define SHIPPING_WINDOW_NS 15000000000ull

struct shipping_options {
	struct pushing to; /* its url is not looked at */
	struct opt_list urls;
	const char *dir; /* of the recordings, a directory for each JVM; NULL: they lie anywhere */
	uint64_t window_ns;
	bool by_thread;
	struct podding pods;
};

#define SHIPPING_INIT                                                                              \
	{                                                                                          \
		.to = PUSHING_INIT, .window_ns = SHIPPING_WINDOW_NS                                \
	}

/* clang-format off */
/* For an option table; o is a struct shipping_options that lives as long as the table. */
#define SHIPPING_OPTS(o)                                                                               \
	{OPT_LIST, 0, "push", "URL",                                                               \
	 "send it meanwhile: http://HOST:4040 of Pyroscope, otlp+http://HOST:4318 (may be repeated)", \
	 &(o).urls},                                                                               \
	{OPT_DURATION, 0, "push-window", "TIME", "the time that one profile covers (15s)",          \
	 &(o).window_ns, .min = 1000000000, .max = 3600000000000, .bare = true},                   \
	{OPT_FLAG, 0, "push-by-thread", NULL, "a label for each thread in it, not only for its group", \
	 &(o).by_thread},                                                                          \
	PODDING_OPTS((o).pods),                                                                    \
	PUSHING_OPTS((o).to),                                                                      \
	{OPT_STRING, 0, "spool", "DIR", "what could not be sent is kept below it", &(o).to.spool}, \
	{OPT_SIZE, 0, "spool-size", "SIZE", "at most SIZE of it for each URL, the oldest goes first (256m)", \
	 &(o).to.spool_cap, .min = 1 << 20}
/* clang-format on */

struct shipping;

/*
 * Starts what sends, and has `session` tell it of what is whole; while there is one thread.
 * *out is NULL where there is no URL. EXIT_USAGE, EXIT_OUTPUT.
 */
int shipping_start(struct shipping **out, const struct shipping_options *o,
		   struct session_config *session, struct error *e);

/* On any thread; nothing where l is NULL. */
void shipping_read(const struct shipping *l, struct delivery *d);

/*
 * When nothing more is recorded: waits until it is sent, or the time for that is over. `quiet`:
 * says only what was not sent. EXIT_OUTPUT where something was not.
 */
int shipping_finish(struct shipping *l, bool quiet, struct error *e);

void shipping_options_free(struct shipping_options *o);

#endif
