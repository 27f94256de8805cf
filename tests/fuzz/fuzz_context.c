// SPDX-License-Identifier: Apache-2.0
// FUZZ-LINK: user/context/process.c user/context/place.c user/context/record.c user/target/maps.c user/base/buffer.c
// FUZZ-LINK: user/target/procfs.c user/broker/broker.c user/broker/workers.c user/base/fdmsg.c user/base/shared.c user/broker/grants.c user/base/rights.c user/broker/opening.c user/broker/reader.c user/broker/file.c user/base/inroot.c user/base/log.c user/base/utf8.c user/base/beat.c
/*
 * What a process publishes of its requests: a whole process that does (unit/ctximage.h), damaged
 * where the input says: bytes of three, where (two) and what (one). The first byte chooses how the
 * library gets at its variable.
 */
#include "../unit/ctximage.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void record_use(const struct ctx_place *p, const struct ctx_memory *m)
{
	struct ctx_record r;
	struct ctx_entry e;
	uint32_t at = 0;

	if (ctx_record_read(p, m, IMAGE_THREAD, &r))
		return;
	while (ctx_record_next(&r, &at, &e))
		if (e.value < r.attrs || e.value + e.len > r.attrs + r.attrs_len)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t types[] = {R_X86_64_TLSDESC, R_X86_64_DTPMOD64, R_X86_64_TPOFF64};
	static struct ctx_process process;
	struct ctximage image = {0};
	struct ctx_memory m = {image_read, &image};
	struct ctx_place p;
	uint32_t version;

	if (!size)
		return 0;
	image_process(&image);
	image_library(&image, types[data[0] % 3], data[0] & 4, data[0] & 8, data[0] & 16);
	image_thread(&image);
	image_u64(&image, IMAGE_SLOTS, IMAGE_MODULE);
	image_u64(&image, IMAGE_SLOTS + 8, data[0] & 32 ? IMAGE_DESC : (uint64_t)-0x20);
	for (size_t i = 1; i + 3 <= size; i += 3)
		image.b[(data[i] | data[i + 1] << 8) % CTXIMAGE_SIZE] = data[i + 2];
	process.published = 0;
	ctx_process_read(&process, &m, CTXIMAGE_AT, &version);
	if (!ctx_place_of(&m, IMAGE_LIBRARY, data[0] & 64 ? CTX_MUSL : CTX_GLIBC, EM_X86_64, &p))
		record_use(&p, &m);
	return 0;
}
