/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gnomon doctor finds: a list of checks in groups. Each module below adds the checks of one
 * subject; cmd_doctor.c prints them.
 */
#ifndef GNOMON_CLI_DOCTOR_H
#define GNOMON_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum check_status {
	CHECK_OK,
	CHECK_DEGRADED, /* a recording works, but something about it is worse */
	CHECK_MISSING,
	CHECK_UNKNOWN, /* could not be tried, for want of permission */
};

struct check {
	const char *group;
	char name[48];
	char value[200];
	char remedy[240]; /* "" when ok */
	enum check_status status;
	enum exit_code fatal; /* what a recording would fail with, EXIT_OK if it would not */
};

struct doctor {
	struct check *v;
	size_t n;
	char **groups; /* owns the names */
	size_t groups_n;
	bool failed; /* out of memory */
};

/* The checks added from now on belong to this group. */
void doctor_group(struct doctor *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Add a check; `fatal` only counts when it is CHECK_MISSING. Returns it for doctor_remedy(), or a
 * place that does no harm when memory ran out.
 */
struct check *doctor_add(struct doctor *d, enum check_status status, enum exit_code fatal,
			 const char *name, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void doctor_remedy(struct check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doctor_free(struct doctor *d);

/* ---- the subjects -----------------------------------------------------------------------------
 */
void doctor_kernel(struct doctor *d);	    /* version, lockdown, sysctls */
void doctor_privileges(struct doctor *d);   /* capabilities, limits */
void doctor_surroundings(struct doctor *d); /* namespaces, cgroups, /proc */
void doctor_bpf(struct doctor *d);	    /* what a recording takes: all tried */
void doctor_jvms(struct doctor *d);	    /* what will work with each JVM */

struct pushing;

/* Adds what a server answers to an empty profile. Where it cannot be asked, an error with its exit
 * code. */
int doctor_server(struct doctor *d, const struct pushing *options, struct error *e);

#endif
