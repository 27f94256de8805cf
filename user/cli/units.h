/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with their units, as options and settings have them. Each: 0 or -EINVAL. */
#ifndef GNOMON_CLI_UNITS_H
#define GNOMON_CLI_UNITS_H

#include <stdint.h>
#include <sys/types.h>

/* Decimal digits; *end is what follows them. */
int number_parse(const char *s, uint64_t *v, const char **end);

/* A process id; -ENOENT where it is no number, but a name perhaps. */
int pid_parse(const char *s, pid_t *pid);

/* "10ms" -> ns. Not on a missing unit, overflow, negative or trailing characters. */
int duration_parse(const char *s, uint64_t *ns);
/* "64k" -> bytes; a number alone is bytes, too. */
int size_parse(const char *s, uint64_t *bytes);

#endif
