/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/sym/ksyms.c user/base/buffer.c user/base/error.c user/base/frame.c
// FUZZ-LINK: user/base/utf8.c
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sym/ksyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frame_name n;
	struct ksyms *k;
	uint64_t addr = 0;

	if (ksyms_parse(&k, (const char *)data, size))
		return 0;
	memcpy(&addr, data, size < sizeof(addr) ? size : sizeof(addr));
	for (int shift = 0; shift < 64; shift += 4) {
		ksyms_lookup(k, addr >> shift, &n);
		ksyms_lookup(k, ~addr >> shift, &n);
	}
	ksyms_find(k, "f", &addr);
	ksyms_free(k);
	return 0;
}
