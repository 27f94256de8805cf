/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/jvm/perfdata.c
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "jvm/perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int capable = perfdata_can_attach(data, size);

	if (capable < -1 || capable > 1)
		abort();
	return 0;
}
