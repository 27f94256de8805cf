/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/jvm/perfmap.c user/jvm/jproc.c user/base/buffer.c user/base/error.c
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perfmap *m = perfmap_new();
	struct frame_name f;
	uint64_t pc;

	if (perfmap_parse(m, (const char *)data, size))
		abort();
	for (pc = 0; pc < 64; pc++)
		if (perfmap_lookup(m, pc, &f) && strlen(f.klass) + strlen(f.method) > 2 * size + 8)
			abort();
	perfmap_free(m);
	return 0;
}
