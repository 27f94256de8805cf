/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording takes of the kernel: each feature as `record` itself tries it, and then all
 * programs of a recording, loaded and attached.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/features.h"
#include "cli/doctor.h"

static void verdict(struct doctor *d, const struct feature_info *f, int rc)
{
	bool needed = f->need != FEATURE_BETTER;
	struct check *c;

	if (!rc) {
		doctor_add(d, CHECK_OK, EXIT_OK, f->name, "%s", f->use);
	} else if (rc != -EOPNOTSUPP) {
		c = doctor_add(d, CHECK_UNKNOWN, EXIT_OK, f->name, "%s: %s", f->use,
			       rc == -EPERM ? "not permitted to try" : strerror(-rc));
		doctor_remedy(c, "%s", rc == -EPERM ? "run as root" : "allow more: ulimit -n");
	} else if (needed) {
		c = doctor_add(d, CHECK_MISSING, EXIT_KERNEL, f->name, "%s: not with this kernel",
			       f->use);
		doctor_remedy(c, "%s%s", f->remedy,
			      f->need == FEATURE_FOR_WALL ? " (CPU samples alone: --no-wall)" : "");
	} else {
		c = doctor_add(d, CHECK_DEGRADED, EXIT_OK, f->name, "%s", f->without);
		doctor_remedy(c, "%s", f->remedy);
	}
}

static void check_kind(struct doctor *d, enum feature_kind kind)
{
	const struct feature_info *f;

	for (int i = 0; (f = feature_info(i)); i++)
		if (f->kind == kind)
			verdict(d, f, feature_try(i));
}

/* The proof, since the features above are only those that somebody thought of. */
static void check_programs(struct doctor *d)
{
	static const char name[] = "a recording's programs";
	struct error e = {0};
	struct check *c;

	if (!capture_trial(true, &e)) {
		doctor_add(d, CHECK_OK, EXIT_OK, name, "loaded, attached and taken out again");
		return;
	}
	c = doctor_add(d, e.exit == EXIT_PERMISSION ? CHECK_UNKNOWN : CHECK_MISSING,
		       e.exit == EXIT_PERMISSION ? EXIT_OK : e.exit, name, "%s", e.msg);
	doctor_remedy(c, "%s", e.hint);
}

void doctor_bpf(struct doctor *d)
{
	features_try(FEATURE_ALL);
	doctor_group(d, "BPF hooks");
	check_kind(d, FEATURE_OF_HOOKS);
	doctor_group(d, "BPF helpers and maps");
	check_kind(d, FEATURE_OF_HELPERS);
	check_kind(d, FEATURE_OF_MAPS);
	doctor_group(d, "clocks");
	check_kind(d, FEATURE_OF_CLOCKS);
	doctor_group(d, "all of it");
	check_programs(d);
}
