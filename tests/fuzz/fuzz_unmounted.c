/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual threads of a JVM whose heap is anything at all: tables that are circles, objects of
 * any class and size, stacks of anything, collections at any time. Everything has to end, within
 * what a draw may cost, and what is told has to be whole.
 *
 * Input: a byte for the release, one for flags (bit 0 compressed references, 1 ZGC, 2 the older
 * one), a byte for each field of the layout (times 8), for each offset of a field (times 4) and
 * each class (which are small numbers), then the memory, which every address below 2^46 leads into.
 */
// FUZZ-LINK: user/jvm/chunk.c user/jvm/classes.c user/jvm/zheap.c user/jvm/codecache.c user/jvm/mem.c user/jvm/method.c user/jvm/stream.c
// FUZZ-LINK: user/jvm/symbol.c user/jvm/heap.c user/jvm/heapepoch.c user/jvm/threads.c user/jvm/unloads.c user/jvm/statics.c
// FUZZ-LINK: user/jvm/perfdata.c user/jvm/vmstructs.c user/base/error.c
// FUZZ-LINK: user/base/descriptor.c user/base/digest.c
// FUZZ-LINK: user/base/utf8.c
// FUZZ-LINK: user/target/procfs.c user/base/inroot.c user/jvm/memguard.c user/target/mapquery.c user/target/maps.c user/base/buffer.c
// FUZZ-LINK: user/base/log.c user/broker/broker.c user/broker/workers.c user/base/fdmsg.c user/base/shared.c user/broker/grants.c user/base/rights.c user/broker/opening.c user/broker/reader.c user/broker/file.c user/base/beat.c
#include "jvm/unmounted.c"
#include "tests/fuzz/repeated.h"

#define READS  2000000 /* words and pages of one run */
#define PLACES 256

struct memory {
	const uint8_t *data;
	size_t len;
	unsigned int reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct memory *m = ctx;

	if (m->reads++ > READS)
		abort();
	if (!m->len || addr >= 1ULL << 46)
		return -EFAULT;
	repeated_copy(m->data, m->len, addr, dst, len);
	return 0;
}

static void on_thread(void *ctx, const struct unmounted_thread *t)
{
	struct vm *vm = ctx;
	char name[UNMOUNTED_NAME];

	if (!t->state || t->state >= UNMOUNTED_STATES || t->nframes > GN_MAX_FRAMES ||
	    (!t->nframes && t->state != UNMOUNTED_QUEUED))
		abort();
	for (uint32_t i = 0; i < t->nframes; i++) {
		uint32_t kind = gn_frame_kind(&t->frames[i]);

		if (kind != GN_FRAME_INTERP && kind != GN_FRAME_NMETHOD && kind != GN_FRAME_STUB)
			abort();
	}
	unmounted_name(vm, t->name, name);
	if (strlen(name) >= UNMOUNTED_NAME)
		abort();
}

#define FIELDS	(sizeof(struct vm_layout) / sizeof(uint64_t))
#define OFFSETS (sizeof(struct fields) / sizeof(uint32_t))
#define CLASSES (sizeof(struct known) / sizeof(uint64_t))
#define HEAD	(2 + FIELDS + OFFSETS + CLASSES)

static void layout_set(struct vm *vm, struct unmounted *u, struct oops *o, const uint8_t *d)
{
	uint64_t *at = (uint64_t *)&vm->at, *k = (uint64_t *)&u->k;
	uint32_t *f = (uint32_t *)&u->f;

	vm->release = 21 + d[0] % 5;
	vm->has = UINT32_MAX;
	for (size_t i = 0; i < FIELDS; i++)
		at[i] = d[2 + i] == 255 ? VM_NONE : d[2 + i] * 8ULL;
	for (size_t i = 0; i < OFFSETS; i++)
		f[i] = d[2 + FIELDS + i] * 4U;
	u->f.stack %= HEADER_MAX + 1;
	for (size_t i = 0; i < CLASSES; i++)
		k[i] = d[2 + FIELDS + OFFSETS + i] * 8ULL;
	o->compressed = o->compressed_klass = d[1] & 1;
	o->zgc = (d[1] & 6) == 2;
	u->epoch.z = d[1] & 2 && !o->compressed;
	o->tid = 16;
	o->name = 24;
	o->string_done = true;
	o->value = 8;
	o->coder = 12;
	u->virtual = d[0] * 8ULL;
	vm->oops = o;
	for (int i = 0; i < STATES; i++)
		u->state_of[i] = (uint8_t)(i % UNMOUNTED_STATES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unmounted_counts counts = {0};
	struct memory m = {0};
	struct unmounted *u;
	struct oops *o;
	struct vm *vm;

	if (size < HEAD + 8)
		return 0;
	m.data = data + HEAD;
	m.len = size - HEAD;
	vm = calloc(1, sizeof(*vm));
	u = unmounted_new();
	o = calloc(1, sizeof(*o));
	if (!vm || !u || !o)
		abort();
	vm->mem = mem_new(memory_read, &m);
	layout_set(vm, u, o, data);
	if (u->epoch.z && zheap_find(vm, o->zgc, &u->epoch.zheap))
		u->epoch.z = false;
	u->asked = u->fields_done = true;
	unmounted_begin(u, vm);
	u->maps[0] = (struct map){.table = 64, .length = PLACES};
	u->nmaps = 1;
	u->places = PLACES;
	unmounted_draw(u, vm, PLACES, size, on_thread, vm, &counts);
	if (counts.told + counts.unsettled + counts.unknown + counts.mounted > counts.threads)
		abort();
	unmounted_free(u);
	vm_close(vm);
	return 0;
}
