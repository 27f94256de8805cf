/* SPDX-License-Identifier: Apache-2.0 */
/* The options that say who tells what pods are called, for every command that sends profiles. */
#ifndef GNOMON_CLI_PODDING_H
#define GNOMON_CLI_PODDING_H

#include "cli/opt.h"
#include "push/podwatch.h"

struct podding {
	const char *pods, *token, *ca;
	struct opt_list labels;
};

/* clang-format off */
/* For an option table; p is a struct podding that lives as long as the table. */
#define PODDING_OPTS(p)                                                                            \
	{OPT_STRING, 0, "pods", "URL", "what pods are called: the kubelet's https://NODE:10250/pods, or a file", \
	 &(p).pods},                                                                               \
	{OPT_LIST, 0, "pod-label", "NAME", "a label of pods that is sent, too (may be repeated)",  \
	 &(p).labels},                                                                             \
	{OPT_STRING, 0, "pods-token", "FILE", "the kubelet's bearer token (the service account's)", \
	 &(p).token},                                                                              \
	{OPT_STRING, 0, "pods-ca", "FILE", "certificates for the kubelet (the service account's)", \
	 &(p).ca}
/* clang-format on */

/*
 * Reads the options into *to, which they must outlive; podding_end() frees the rest. *wanted: an
 * option is given. EXIT_USAGE, EXIT_INPUT.
 */
int podding_source(const struct podding *p, uint64_t timeout_ns, struct pods_source *to,
		   bool *wanted, struct error *e);
void podding_end(struct pods_source *s);

#endif
