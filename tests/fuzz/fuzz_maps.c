/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/target/maps.c user/base/buffer.c
// FUZZ-LINK: user/target/procfs.c user/broker/broker.c user/broker/workers.c user/base/fdmsg.c user/base/shared.c user/broker/grants.c user/base/rights.c user/broker/opening.c user/broker/reader.c user/broker/file.c user/base/inroot.c user/base/log.c user/base/utf8.c user/base/beat.c
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct maps *m = maps_new();
	size_t sum = 0;

	if (maps_parse(m, (const char *)data, size) || maps_parse(m, (const char *)data, size / 2))
		abort();
	for (size_t i = 0; i < maps_count(m); i++) {
		const struct mapping *mp = maps_at(m, i);

		if (mp->start >= mp->end)
			abort();
		maps_find(m, mp->start);
		sum += strlen(maps_path(m, mp));
	}
	if (sum > size * (maps_count(m) + 1))
		abort();
	maps_free(m);
	return 0;
}
