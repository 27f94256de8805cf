/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/jvm/attachflags.c
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "jvm/attachflags.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct attach_flags f;
	int capable = attachflags_perfdata(data, size);

	if (capable < -1 || capable > 1)
		abort();
	attachflags_parse(&f, text, size / 2, text + size / 2, size - size / 2);
	return 0;
}
