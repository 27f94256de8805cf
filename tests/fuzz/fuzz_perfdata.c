/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a JVM's performance counters, which change between two looks: the first half of the
 * input is what lies there at the first, the second half at the later ones. The same bytes are a
 * page of the JVM's static variables, and whatever any pointer leads to.
 */
// FUZZ-LINK: user/jvm/perfdata.c user/jvm/counters.c user/jvm/collections.c user/jvm/vmclock.c
// FUZZ-LINK: user/jvm/gctimer.c user/jvm/gccause.c user/jvm/statics.c user/jvm/mem.c user/target/procfs.c user/base/inroot.c
// FUZZ-LINK: user/base/utf8.c tests/fuzz/novm.c
// FUZZ-LINK: user/base/log.c user/broker/broker.c user/broker/workers.c user/base/fdmsg.c user/base/shared.c user/broker/grants.c user/base/rights.c user/broker/opening.c user/broker/reader.c user/broker/file.c user/base/beat.c
// FUZZ-LINK: user/jvm/memguard.c user/target/mapquery.c user/target/maps.c user/base/buffer.c
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/collections.h"
#include "jvm/perfdata.h"

#define BASE	0x10000ULL
#define STATICS 0x7f0000000000ULL
#define PAGE	4096u

struct bytes {
	const uint8_t *p;
	size_t len;
};

static int bytes_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const struct bytes *b = ctx;

	if (addr >= STATICS && (addr - STATICS > 2 * PAGE || len > 2 * PAGE - (addr - STATICS)))
		return -1;
	if (addr >= STATICS || addr >= BASE << 16) {
		for (size_t i = 0; i < len; i++)
			((uint8_t *)dst)[i] = b->len ? b->p[(addr + i) % b->len] : 0;
		return 0;
	}
	if (addr < BASE || addr - BASE > b->len || len > b->len - (addr - BASE))
		return -1;
	memcpy(dst, b->p + (addr - BASE), len);
	return 0;
}

static void on_one(void *ctx, const struct collection *c)
{
	if (!memchr(c->name, 0, sizeof(c->name)) || !memchr(c->cause, 0, sizeof(c->cause)))
		abort();
}

static void on_gap(void *ctx, const struct collections_gap *g)
{
	if (!memchr(g->name, 0, sizeof(g->name)) || !g->count)
		abort();
}

static void on_text(void *ctx, const char *name, const char *value)
{
	for (; *value; value++)
		if ((uint8_t)*value < ' ')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct collections_fns fns = {.one = on_one, .gap = on_gap};
	struct collections all = COLLECTIONS_INIT;
	struct bytes b = {data, size / 2};
	struct mem *mem = mem_new(bytes_read, &b);
	struct counters *c = counters_new(mem, BASE);

	counters_place_set(c, STATICS + 64, STATICS + 128, 17 + 4 * (size % 3));
	for (int i = 0; i < 3; i++) {
		collections_look(&all, c, &fns);
		counters_texts(c, "java.property.", on_text, NULL);
		b = (struct bytes){data + size / 2, size - size / 2};
	}
	counters_close(c);
	mem_close(mem);
	if (perfdata_can_attach(data, size) > 1)
		abort();
	return 0;
}
