/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JVM whose memory is anything at all: opening it, its code cache, names of frames, its threads.
 * Everything has to end, in bounded time and memory.
 *
 * Input: the first byte says how. Even: the rest is the image of libjvm.so and all it points to
 * (seeds image-*: test_vmstructs --seed DIR). Odd: then come a release, a byte for each field of
 * the layout (times 8; 255: there is none), 16 frames, and the memory, which every address below
 * 2^46 leads into.
 */
// FUZZ-LINK: user/jvm/codecache.c user/jvm/mem.c user/jvm/method.c user/jvm/stream.c
// FUZZ-LINK: user/jvm/symbol.c user/jvm/heap.c user/jvm/heapepoch.c user/jvm/zheap.c user/jvm/threads.c user/jvm/monitors.c user/jvm/unloads.c user/jvm/statics.c
// FUZZ-LINK: user/jvm/perfdata.c user/jvm/vmstructs.c user/base/error.c
// FUZZ-LINK: user/base/descriptor.c user/base/digest.c
// FUZZ-LINK: user/base/utf8.c
// FUZZ-LINK: user/target/procfs.c user/base/inroot.c user/jvm/memguard.c user/target/mapquery.c user/target/maps.c user/base/buffer.c
// FUZZ-LINK: user/base/log.c user/broker/broker.c user/broker/workers.c user/base/fdmsg.c user/base/shared.c user/broker/grants.c user/base/rights.c user/broker/opening.c user/broker/reader.c user/broker/file.c user/base/beat.c
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "jvm/codecache.h"
#include "jvm/method.h"
#include "jvm/monitors.h"
#include "jvm/threads.h"
#include "jvm/unloads.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"
#include "tests/fuzz/repeated.h"

#define BASE	0x7f0000000000ULL
#define FIELDS	(sizeof(struct vm_layout) / sizeof(uint64_t))
#define NFRAMES 16
#define READS	4000000 /* words and pages of one run */

struct memory {
	const uint8_t *data;
	size_t len;
	uint64_t low, high;
	unsigned int reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct memory *m = ctx;

	if (m->reads++ > READS)
		abort();
	if (!m->len || addr < m->low || addr >= m->high || len > m->high - addr)
		return -EFAULT;
	repeated_copy(m->data, m->len, addr - m->low, dst, len);
	return 0;
}

struct some_threads {
	struct vm *vm;
	unsigned int n;
};

static int on_thread(void *arg, uint64_t thread, pid_t tid)
{
	struct some_threads *some = arg;
	struct java_thread t;

	if (!vm_thread_read(some->vm, thread, tid, now_ns(), &t) &&
	    strlen(t.name) >= THREAD_NAME_MAX)
		abort();
	return ++some->n > 1000;
}

static void name_check(const struct frame_name *f, int n, int max)
{
	if (n < 1 || n > max)
		abort();
	for (int i = 0; i < n; i++)
		if (!f[i].klass || !f[i].method || !f[i].sig ||
		    strlen(f[i].klass) >= FRAME_NAME_MAX || strlen(f[i].method) >= FRAME_NAME_MAX)
			abort();
}

/* What the kernel side says of monitors is read in the target, too. */
static void monitors_check(struct vm *vm, const struct gn_frame *frames, size_t n)
{
	char name[FRAME_NAME_MAX];
	struct gn_locks locks;
	uint64_t low, high;
	int len;

	if (!vm_locks(vm, &locks) && locks.klass_bytes != 4 && locks.klass_bytes != 8)
		abort();
	for (size_t i = 0; i < n; i++) {
		vm_thread_holds(vm, frames[i].pc, vm_monitor_held(vm, frames[i].data));
		if (vm_thread_stack(vm, frames[i].pc, &low, &high) && low > high)
			abort();
		len = vm_class_name(vm, frames[i].data, name, sizeof(name));
		if (len >= 0 && (size_t)len != strlen(name))
			abort();
	}
}

static void use(struct vm *vm, const struct gn_frame *frames, size_t n)
{
	static struct frame_name out[VM_INLINE_MAX];
	static struct gn_jvm jvm;
	struct gn_vthreads layout;
	struct some_threads threads = {vm, 0};
	struct vm_cache_use kept;

	if (!codecache_fill(vm, &jvm)) {
		if (jvm.nheaps > GN_JVM_HEAPS)
			abort();
		codecache_refresh(vm, &jvm);
	}
	for (size_t i = 0; i < n; i++) {
		vm_at(vm, i % 3 ? now_ns() : 0);
		name_check(out, vm_name(vm, &frames[i], out, i % 2 ? VM_INLINE_MAX : 1),
			   VM_INLINE_MAX);
		name_check(out, vm_name_unlocker(vm, &frames[i], out, VM_INLINE_MAX),
			   VM_INLINE_MAX);
	}
	vm_cache_use(vm, &kept);
	if (kept.bytes > 128U << 20)
		abort();
	vm_threads(vm, on_thread, &threads);
	vm_vthreads(vm, &layout);
	monitors_check(vm, frames, n);
	vm_refresh(vm);
}

static void image(const uint8_t *data, size_t size)
{
	struct memory m = {data, size, BASE, BASE + size, 0};
	struct gn_frame f = {GN_FRAME(BASE + 64, GN_FRAME_STUB, 0), 0};
	struct mem *mem = mem_new(memory_read, &m);
	struct vm *vm;

	if (!mem || vm_open_mem(mem, BASE, &vm, NULL))
		return;
	use(vm, &f, 1);
	vm_close(vm);
}

static void layout(const uint8_t *data, size_t size)
{
	struct gn_frame frames[NFRAMES];
	struct memory m;
	struct vm *vm;
	uint64_t *at;

	if (size < 1 + FIELDS + sizeof(frames) + 8)
		return;
	vm = calloc(1, sizeof(*vm));
	if (!vm)
		return;
	vm->release = data[0] % 32;
	vm->has = UINT32_MAX;
	at = (uint64_t *)&vm->at;
	for (size_t i = 0; i < FIELDS; i++)
		at[i] = data[1 + i] == 255 ? VM_NONE : data[1 + i] * 8ULL;
	memcpy(frames, data + 1 + FIELDS, sizeof(frames));
	for (int i = 0; i < NFRAMES; i++)
		frames[i].pc = GN_FRAME(frames[i].pc & ~7ULL & 0x3fffffffffff,
					1 + (frames[i].pc >> 48 & 7), 0);
	m = (struct memory){data + 1 + FIELDS + sizeof(frames), size - 1 - FIELDS - sizeof(frames),
			    0, 1ULL << 46, 0};
	vm->mem = mem_new(memory_read, &m);
	if (vm->mem)
		use(vm, frames, NFRAMES);
	vm_close(vm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 1)
		layout(data + 1, size - 1);
	else
		image(data + 1, size - 1);
	return 0;
}
