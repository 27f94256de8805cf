/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages for a person, on stderr, one line each. Warnings are always shown; info with -v, debug
 * with -vv. Thread safe: a line is one write. With -vvv modules print what they see of a target's
 * stacks, in a form of their own.
 */
#ifndef GNOMON_BASE_LOG_H
#define GNOMON_BASE_LOG_H

extern int log_level; /* 0 warnings only, 1 info, 2 debug, 3 trace */

void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
