/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/sym/demangle.c
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sym/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 3), *out = malloc(1024);

	name[0] = '_';
	name[1] = 'Z';
	memcpy(name + 2, data, size);
	name[size + 2] = 0;
	for (int i = 0; i < 4; i++) {
		name[1] = i & 1 ? 'R' : 'Z';
		if (demangle(name, i & 2, out, 1024) && strlen(out) >= 1024)
			abort();
	}
	free(name);
	free(out);
	return 0;
}
