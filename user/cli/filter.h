/* SPDX-License-Identifier: Apache-2.0 */
/* The options by which a command shows a part of a recording. All commands have the same ones. */
#ifndef GNOMON_CLI_FILTER_H
#define GNOMON_CLI_FILTER_H

#include "cli/instant.h"
#include "cli/opt.h"
#include "out/profile.h"
#include "out/served.h"

struct filter {
	struct instant from, to;
	struct opt_list threads, states, endpoints, include, exclude, focus, hide, idle_rules;
	struct opt_list traces, spans, endpoint_rules;
	uint64_t slower_ns;
	bool idle;
};

/* Rows of an option table. f is a struct filter that lives as long as the table. */
/* clang-format off */
#define FILTER_OPTS(f)                                                                             \
	FILTER_TIME_OPTS(f),                                                                       \
	FILTER_SAMPLE_OPTS(f)
#define FILTER_TIME_OPTS(f)                                                                        \
	{OPT_INSTANT, 0, "from", "TIME", "leave out what is before: 30s, -5m, 14:00, date T time", \
	 &(f).from},                                                                               \
	{OPT_INSTANT, 0, "to", "TIME", "leave out what is after", &(f).to}
#define FILTER_SAMPLE_OPTS(f)                                                                      \
	{OPT_LIST, 't', "thread", "GLOB", "only threads of such a name", &(f).threads},            \
	{OPT_LIST, 's', "state", "GLOB", "only such states: RUNNING, PARKED, QUEUED ...",          \
	 &(f).states},                                                                             \
	{OPT_LIST, 'e', "endpoint", "GLOB", "only while such an endpoint was served",              \
	 &(f).endpoints},                                                                          \
	{OPT_LIST, 0, "endpoint-rule", "RULE", "requests are what is done below such a method",    \
	 &(f).endpoint_rules},                                                                     \
	{OPT_LIST, 0, "trace", "GLOB", "only what was done for such a trace id", &(f).traces},     \
	{OPT_LIST, 0, "span", "GLOB", "only what was done in such a span", &(f).spans},            \
	{OPT_DURATION, 0, "slower-than", "TIME", "only for requests of TIME or longer: 500ms",     \
	 &(f).slower_ns},                                                                          \
	{OPT_LIST, 'i', "include", "GLOB", "only stacks with such a method", &(f).include},        \
	{OPT_LIST, 'x', "exclude", "GLOB", "leave out stacks with such a method",                  \
	 &(f).exclude},                                                                            \
	{OPT_LIST, 0, "focus", "GLOB", "begin stacks at their outermost such method",              \
	 &(f).focus},                                                                              \
	{OPT_LIST, 0, "hide", "GLOB", "drop such methods, charge their callers", &(f).hide},       \
	{OPT_FLAG, 0, "idle", NULL, "count threads that wait for work, too", &(f).idle},           \
	{OPT_LIST, 0, "idle-rule", "RULE", "a thread with such a frame waits for work",            \
	 &(f).idle_rules}
/* clang-format on */

#define FILTER_TIME_NOTES                                                                          \
	"TIME is 30s or 1m since the recording's start, -5m before its end, 14:00 or 14:00:05 by " \
	"the\nclock (the last one that was recorded), or 2026-11-23T14:00; with a Z behind it, "   \
	"in UTC.\n\n"
#define FILTER_NOTES                                                                               \
	"GLOB is a shell pattern with * and ?; without these it is enough that the name "          \
	"contains\n"                                                                               \
	"it. Options that take one may be repeated: any of them has to match. Endpoints are "      \
	"those\n"                                                                                  \
	"of gnomon.Context, or of events with a text field 'endpoint'. With --endpoint-rule "      \
	"METHOD, or "                                                                              \
	"'METHOD > CALLED',\nrequests are what is done below METHOD, and the outermost such "      \
	"CALLED "                                                                                  \
	"is the endpoint.\n\n"                                                                     \
	"A thread that waits for work, as a pool's worker, a timer or a selector does, is IDLE "   \
	"and\nleft out; a line says how much that is. Its RULE is GLOB, or 'GLOB > GLOB' for a "   \
	"caller and\nwhat it called, and adds to those known.\n"

/* Tells whether the filter leaves out samples for another reason than their time. */
bool filter_samples_given(const struct filter *f);

/* Fill the options of a profile, but for its time. */
void filter_apply(const struct filter *f, struct profile_options *o);
/* Likewise of what is read of requests. */
void filter_served(const struct filter *f, struct served_options *o);

/* For a command that reads one recording: not 0, EXIT_USAGE, where it was given none, or several.
 */
int filter_one(int argc, const char *command, struct error *e);

/*
 * Open a recording, a file or a directory of the daemon, and cut of it what lies from `from` to
 * `to`, of which neither is NULL. EXIT_USAGE when that is no time, EXIT_INPUT when there is nothing
 * of it. On success, to be freed with stretch_free().
 */
int filter_stretch(const char *path, const struct instant *from, const struct instant *to,
		   struct stretch *s, struct error *e);

/* Say on stderr how much idle time was left out, for what is read by programs. */
void filter_idle_note(const struct profile *p);

/* Say on stderr when there is nothing to show, and why. */
void filter_nothing_warn(const struct filter *f, const struct profile *p);

/* Say on stderr what of a recording could not be read. */
void report_warn(const char *path, const struct jfr_report *r);

#endif
