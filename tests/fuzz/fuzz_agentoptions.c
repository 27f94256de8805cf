/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/agent/options.c user/agent/str.c
/*
 * The agent's option string, inside the target: anybody who may attach can load the library with
 * another.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1);
	struct agent_options o;

	memcpy(s, data, size);
	s[size] = '\0';
	options_parse(&o, s);
	if (o.path &&
	    (o.path < s || o.path + o.path_len > s + strlen(s) || memchr(o.path, ',', o.path_len)))
		abort();
	if (!strchr(s, '=') && (o.session || o.stop || o.path || o.perfmap))
		abort();
	free(s);
	options_parse(&o, NULL);
	if (o.session || o.stop || o.path)
		abort();
	return 0;
}
