/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording is asked for on the command line, and its way from there: which JVMs, which
 * files, and rendering where the output is not JFR.
 */
#ifndef GNOMON_CLI_RECORDING_H
#define GNOMON_CLI_RECORDING_H

#include "cli/shipping.h"
#include "cli/outname.h"
#include "cli/rendering.h"
#include "run/session.h"
#include "target/select.h"

struct recording {
	struct select_spec select;
	struct opt_list threads; /* names or numbers of those to sample; none: all */
	char *const *argv;	 /* a program to start instead; NULL: none */
	const char *output;	 /* NULL: a name of its own in the current directory */
	int format;		 /* enum format; -1: by the output's name, else JFR */
	bool keep;		 /* keep the JFR file of what is rendered, beside it */
	struct session_config cfg;
	struct rendering render;
	struct shipping_options ship; /* where it is sent to meanwhile */
	char made[1024];	      /* what recording_run() wrote, if it is one file; else "" */
};

#define RECORDING_MS	   1000000ull
#define RECORDING_S	   1000000000ull
#define RECORDING_LONGEST  (365ull * 24 * 3600 * RECORDING_S)
#define RECORDING_TICK_MIN (RECORDING_MS / 10)
#define RECORDING_TICK_MAX (4 * RECORDING_S)
#define RECORDING_CPU_NS   (10 * RECORDING_MS) /* where nothing else is asked for */
#define RECORDING_FILE_MAX (4ull << 30)
#define RECORDING_WALL_NS  (20 * RECORDING_MS)

/*
 * The options that all commands have that record, for an option table: `r` is a struct recording
 * that lives as long as the table, the texts say what is so without -d and -o.
 */
/* clang-format off */
#define RECORDING_OPTS(r, no_duration, file, no_output)                                            \
	{OPT_DURATION, 'd', "duration", "TIME", "how long, 30 is 30s (default: " no_duration ")",  \
	 &(r).cfg.duration_ns, .min = 100 * RECORDING_MS, .max = RECORDING_LONGEST, .bare = true}, \
	{OPT_STRING, 'o', "output", file, no_output, &(r).output, .once = true},                   \
	{OPT_FLAG, 0, "keep", NULL, "keep the JFR file of what is rendered, beside it",            \
	 &(r).keep},                                                                               \
	{OPT_FLAG, 0, "force", NULL, "replace files that exist at the start",                      \
	 &(r).cfg.overwrite},                                                                      \
	{OPT_DURATION, 0, "cpu", "TIME",                                                           \
	 "CPU time between two CPU samples of a thread (default 10ms)", &(r).cfg.cpu_ns,           \
	 .min = RECORDING_TICK_MIN, .max = RECORDING_TICK_MAX},                                    \
	{OPT_DURATION, 0, "wall", "TIME",                                                          \
	 "time between two wall samples of a thread (default 20ms)", &(r).cfg.wall_ns,             \
	 .min = RECORDING_TICK_MIN, .max = RECORDING_TICK_MAX},                                    \
	{OPT_LIST, 't', "thread", "GLOB|TID",                                                      \
	 "sample only threads so named or numbered (may be repeated)", &(r).threads},              \
	{OPT_FLAG, 'q', "quiet", NULL, "no progress, no summary", &(r).cfg.quiet}
/* clang-format on */

/*
 * A JVM by its pid or its name, as an argument has it, beside what options say. EXIT_USAGE where
 * there are two.
 */
int recording_target(struct recording *r, const char *arg, struct error *e);

/* What a JVM's file is named after, but for the time; label: room for the container's. */
struct outname_facts recording_facts(const struct jvm_proc *j, char label[CONTAINER_NAME_LEN]);

/* Returns an exit code: where it is not EXIT_OK, e->msg says why, or a program's own is empty. */
int recording_run(struct recording *r, struct error *e);

/*
 * What `gnomon record` has options for, as settings of a daemon, by the options' long names: begin,
 * then each, then how it is to be recorded. -ENOENT: there is no such setting. EXIT_USAGE where
 * they make no sense. Strings of theirs live as long as what comes of them.
 */
void record_settings_begin(void);
int record_setting(const char *name, const char *value, struct error *e);
int record_settings_end(struct session_config *out, struct shipping_options *ship, struct error *e);

#endif
