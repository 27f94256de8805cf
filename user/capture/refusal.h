/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libbpf says while it loads: into the log, and of the program that was refused last what a
 * message at the top can say of it.
 */
#ifndef GNOMON_CAPTURE_REFUSAL_H
#define GNOMON_CAPTURE_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

/* From now on. Of all threads. */
void refusal_listen(void);

/* "'wall_switch': invalid access to ...": the program and why; false: none was refused. */
bool refusal_told(char *buf, size_t size);

/* A line as libbpf prints it, with what follows its end: for refusal_listen() and its tests. */
void refusal_note(const char *line);

#endif
