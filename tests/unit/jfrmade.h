/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings made by our own writer, for tests of what reads them. */
#ifndef GNOMON_TESTS_JFRMADE_H
#define GNOMON_TESTS_JFRMADE_H

#include <stdlib.h>
#include <unistd.h>

#include "jfr/write.h"

#define MS    1000000ULL
#define START 5000000000ULL	     /* of every such recording, monotonic */
#define EPOCH 1700000000000000000ULL /* the same instant, since 1970 */

static inline void jm_period(struct jfrw *w, uint64_t event, const char *period)
{
	jfrw_active_setting(
		w, START,
		&(struct jfr_active_setting){.id = event, .name = "period", .value = period});
}

/*
 * A file, or another in its place, in which CPU samples are 10 ms apart and wall samples 20 ms.
 * NULL: it cannot be made.
 */
static inline struct jfrw *jm_open(const char *path, struct jfrw_form form)
{
	struct jfrw_config cfg = {.path = path,
				  .overwrite = true,
				  .start_unix_ns = EPOCH,
				  .start_mono_ns = START,
				  .cpu_period_ns = 10 * MS,
				  .form = form};
	struct jfrw *w;

	if (jfrw_open(&w, &cfg, NULL))
		return NULL;
	if (form.cpu_event == JFRW_EXECUTION)
		jm_period(w, JFR_EXECUTION_SAMPLE, "10 ms");
	jm_period(w, JFR_WALL_CLOCK_SAMPLE, "20 ms");
	return w;
}

/* The same in a new file; `path` ends in XXXXXX, as mkstemp() takes it. */
static inline struct jfrw *jm_temp(char *path)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return NULL;
	close(fd);
	return jm_open(path, (struct jfrw_form){0});
}

/* The thread "main", which most of them are of. */
static inline uint32_t jm_main(struct jfrw *w)
{
	return jfrw_thread(
		w, &(struct jfrw_thread){
			   .os_name = "java", .os_tid = 4711, .java_name = "main", .java_tid = 1});
}

#endif
