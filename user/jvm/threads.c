/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/threads.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/stream.h"
#include "jvm/symbol.h"
#include "jvm/vm.h"

#define THREADS_MAX 131072
#define FIELDS_MAX  1024 /* of a class */
#define SUPERS_MAX  64	 /* classes above a thread's */
#define FIELD_NONE  0	 /* offset 0 is the object's header */

/* How this JVM lays out its heap, and where the few fields needed are (offsets in the object). */
struct oops {
	bool compressed, compressed_klass, compact, zgc;
	uint64_t base, klass_base;
	uint32_t shift, klass_shift;
	uint32_t name, tid, daemon, holder, holder_daemon, value, coder;
	bool thread_done, holder_done, string_done;
	bool unknown; /* it cannot be told; looking again would take as long for every thread */
};

void oops_free(struct vm *vm)
{
	free(vm->oops);
	vm->oops = NULL;
}

/* ---- the heap ---------------------------------------------------------------------------------
 */

static struct oops *oops_of(struct vm *vm)
{
	const struct vm_layout *at = &vm->at;
	struct oops *o = vm->oops;

	if (o)
		return o->unknown ? NULL : o;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	vm->oops = o;
	o->compressed = vm_flag(vm, "UseCompressedOops") == 1;
	o->compact = vm_flag(vm, "UseCompactObjectHeaders") == 1;
	/* the flag is gone once there is no other way */
	o->compressed_klass = vm_flag(vm, "UseCompressedClassPointers") != 0;
	/* generational ZGC shifts its pointers; before, the colours were part of the address */
	o->zgc = vm_flag(vm, "UseZGC") == 1 &&
		 (vm->release >= 24 || vm_flag(vm, "ZGenerational") == 1);
	o->unknown = mem_u64(vm->mem, at->oops_base, &o->base) ||
		     mem_u32(vm->mem, at->oops_shift, &o->shift) ||
		     mem_u64(vm->mem, at->klass_base, &o->klass_base) ||
		     mem_u32(vm->mem, at->klass_shift, &o->klass_shift) || o->shift > 16 ||
		     o->klass_shift > 16;
	return o->unknown ? NULL : o;
}

/*
 * A pointer of generational ZGC on x86 (JDK gc/z/zAddress.hpp): one of bits 12-15 is set and the
 * address begins right above it.
 */
static uint64_t zgc_address(uint64_t v)
{
	for (unsigned int i = 12; i < 16; i++)
		if (v >> i & 1)
			return v >> (i + 1);
	return 0;
}

/* The object that a field (or, `wide`, a handle) at addr refers to; 0 none. */
static uint64_t oop_load(struct vm *vm, uint64_t addr, bool wide)
{
	const struct oops *o = vm->oops;
	uint32_t narrow;
	uint64_t v;

	if (o->compressed && !wide) {
		if (mem_u32(vm->mem, addr, &narrow) || !narrow)
			return 0;
		return o->base + ((uint64_t)narrow << o->shift);
	}
	if (mem_u64(vm->mem, addr, &v) || !v)
		return 0;
	return o->zgc ? zgc_address(v) : v;
}

static uint64_t oop_klass(struct vm *vm, uint64_t obj)
{
	const struct oops *o = vm->oops;
	uint32_t narrow;
	uint64_t v;

	if (o->compact) {
		if (vm->at.mark_klass_shift > 63 || mem_u64(vm->mem, obj, &v))
			return 0;
		return o->klass_base + (v >> vm->at.mark_klass_shift << o->klass_shift);
	}
	if (o->compressed_klass) {
		if (mem_u32(vm->mem, obj + vm->at.oop_narrow_klass, &narrow))
			return 0;
		return o->klass_base + ((uint64_t)narrow << o->klass_shift);
	}
	return mem_u64(vm->mem, obj + vm->at.oop_klass, &v) ? 0 : v;
}

/* Array header: where a byte array's length is and where its bytes start. */
static void array_layout(const struct vm *vm, uint32_t *length, uint32_t *data)
{
	*length = vm->oops->compact ? 8 : vm->oops->compressed_klass ? 12 : 16;
	*data = *length + 4;
	/* JDK 23 gave up aligning the elements to 8 (JDK-8139457) */
	if (vm->release < 23)
		*data = (*data + 7) & ~7U;
}

/* ---- fields of classes ------------------------------------------------------------------------
 */

struct wanted {
	const char *name, *sig;
	uint32_t *offset;
};

static void field_found(struct vm *vm, uint64_t pool, uint32_t name, uint32_t sig, uint32_t offset,
			const struct wanted *w, unsigned int n)
{
	char text[64];
	uint64_t sym;

	if (pool_symbol(vm, pool, name, &sym) || symbol_read(vm, sym, text, sizeof(text)) < 0)
		return;
	for (unsigned int i = 0; i < n; i++) {
		if (strcmp(w[i].name, text))
			continue;
		if (pool_symbol(vm, pool, sig, &sym) ||
		    symbol_read(vm, sym, text, sizeof(text)) < 0 || strcmp(text, w[i].sig))
			return;
		*w[i].offset = offset;
		return;
	}
}

/* JDK 21: a stream of UNSIGNED5 (oops/fieldInfo.hpp). */
static void fields_from_stream(struct vm *vm, uint64_t pool, uint64_t array, const struct wanted *w,
			       unsigned int n)
{
	uint8_t buf[8192];
	struct stream s;
	uint32_t count;
	int32_t len;

	if (mem_i32(vm->mem, array + vm->at.array_length, &len) || len <= 0)
		return;
	if ((size_t)len > sizeof(buf))
		len = sizeof(buf);
	if (mem_read(vm->mem, array + vm->at.array_u1_data, buf, (size_t)len))
		return;
	s = stream_of(buf, (size_t)len, vm->release);
	count = stream_unsigned(&s);
	stream_unsigned(&s); /* injected fields: they come last and are not wanted */
	for (uint32_t i = 0; i < count && i < FIELDS_MAX && !s.failed; i++) {
		uint32_t name = stream_unsigned(&s), sig = stream_unsigned(&s);
		uint32_t offset = stream_unsigned(&s), flags;

		stream_unsigned(&s); /* access */
		flags = stream_unsigned(&s);
		if (flags & 1)
			stream_unsigned(&s); /* initial value */
		if (flags & 4)
			stream_unsigned(&s); /* generic signature */
		if (flags & 16)
			stream_unsigned(&s); /* contention group */
		if (!s.failed)
			field_found(vm, pool, name, sig, offset, w, n);
	}
}

/* Before: six u2 each; the offset is in the last two, above two tag bits. */
static void fields_from_array(struct vm *vm, uint64_t klass, uint64_t pool, uint64_t array,
			      const struct wanted *w, unsigned int n)
{
	uint16_t count, f[6];

	if (vm->at.ik_java_fields == VM_NONE ||
	    mem_u16(vm->mem, klass + vm->at.ik_java_fields, &count))
		return;
	for (unsigned int i = 0; i < count && i < FIELDS_MAX; i++) {
		if (mem_read(vm->mem, array + vm->at.array_u2_data + i * sizeof(f), f, sizeof(f)))
			return;
		field_found(vm, pool, f[1], f[2], ((uint32_t)f[5] << 16 | f[4]) >> 2, w, n);
	}
}

static void fields_find(struct vm *vm, uint64_t klass, const struct wanted *w, unsigned int n)
{
	bool stream = vm->at.ik_fieldinfo != VM_NONE;
	uint64_t pool, array;

	if (mem_u64(vm->mem, klass + vm->at.ik_constants, &pool) || !is_metadata(pool) ||
	    mem_u64(vm->mem, klass + (stream ? vm->at.ik_fieldinfo : vm->at.ik_fields), &array) ||
	    !is_metadata(array))
		return;
	if (stream)
		fields_from_stream(vm, pool, array, w, n);
	else
		fields_from_array(vm, klass, pool, array, w, n);
}

/* Is obj's class, or one above it, `name`? Then that class, else 0. */
static uint64_t klass_above(struct vm *vm, uint64_t obj, const char *name)
{
	uint64_t klass = oop_klass(vm, obj);
	char text[64];

	for (int i = 0; i < SUPERS_MAX && klass; i++) {
		if (klass_name(vm, klass, text, sizeof(text)) < 0)
			return 0;
		if (!strcmp(text, name))
			return klass;
		if (mem_u64(vm->mem, klass + vm->at.klass_super, &klass))
			return 0;
	}
	return 0;
}

static void find_thread_fields(struct vm *vm, uint64_t klass)
{
	struct oops *o = vm->oops;
	const struct wanted w[] = {
		{"name", "Ljava/lang/String;", &o->name},
		{"tid", "J", &o->tid},
		{"daemon", "Z", &o->daemon},
		{"holder", "Ljava/lang/Thread$FieldHolder;", &o->holder},
	};

	if (!o->thread_done)
		fields_find(vm, klass, w, 4);
	o->thread_done = true;
}

static void find_holder_fields(struct vm *vm, uint64_t klass)
{
	struct oops *o = vm->oops;
	const struct wanted w[] = {{"daemon", "Z", &o->holder_daemon}};

	if (!o->holder_done)
		fields_find(vm, klass, w, 1);
	o->holder_done = true;
}

static void find_string_fields(struct vm *vm, uint64_t klass)
{
	struct oops *o = vm->oops;
	const struct wanted w[] = {{"value", "[B", &o->value}, {"coder", "B", &o->coder}};

	if (!o->string_done)
		fields_find(vm, klass, w, 2);
	o->string_done = true;
}

/* ---- strings ----------------------------------------------------------------------------------
 */

static size_t utf8_put(char *out, size_t room, uint32_t c)
{
	uint8_t b[4];
	size_t n;

	if (c < 0x20 || c == 0x7f)
		c = '?';
	if (c < 0x80) {
		b[0] = (uint8_t)c;
		n = 1;
	} else if (c < 0x800) {
		b[0] = (uint8_t)(0xc0 | c >> 6);
		n = 2;
	} else if (c < 0x10000) {
		b[0] = (uint8_t)(0xe0 | c >> 12);
		n = 3;
	} else {
		b[0] = (uint8_t)(0xf0 | c >> 18);
		n = 4;
	}
	for (size_t i = 1; i < n; i++)
		b[i] = (uint8_t)(0x80 | (c >> (6 * (n - 1 - i)) & 0x3f));
	if (n > room)
		return 0;
	memcpy(out, b, n);
	return n;
}

static uint32_t utf16_at(const uint8_t *p, size_t i)
{
	return (uint32_t)(p[i] | p[i + 1] << 8);
}

/* A String's bytes (Latin-1, or UTF-16 in the machine's order) as UTF-8 with a terminator. */
static void string_decode(const uint8_t *p, size_t len, bool wide, char *out, size_t cap)
{
	size_t n = 0, step = wide ? 2 : 1, put;

	for (size_t i = 0; i + step <= len; i += step) {
		uint32_t c = wide ? utf16_at(p, i) : p[i], low;

		if (c >= 0xd800 && c < 0xe000) {
			low = i + 4 <= len ? utf16_at(p, i + 2) : 0;
			if (c < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				i += 2;
			} else {
				c = '?';
			}
		}
		put = utf8_put(out + n, cap - 1 - n, c);
		if (!put)
			break;
		n += put;
	}
	out[n] = 0;
}

static void string_read(struct vm *vm, uint64_t str, char *out, size_t cap)
{
	uint64_t klass = klass_above(vm, str, "java/lang/String"), array;
	uint8_t buf[2 * THREAD_NAME_MAX], coder;
	uint32_t at_length, at_data;
	int32_t len;

	out[0] = 0;
	if (!klass)
		return;
	find_string_fields(vm, klass);
	if (vm->oops->value == FIELD_NONE || vm->oops->coder == FIELD_NONE)
		return;
	array = oop_load(vm, str + vm->oops->value, false);
	array_layout(vm, &at_length, &at_data);
	if (!array || mem_u8(vm->mem, str + vm->oops->coder, &coder) ||
	    mem_i32(vm->mem, array + at_length, &len) || len <= 0)
		return;
	if ((size_t)len > sizeof(buf))
		len = sizeof(buf);
	if (mem_read(vm->mem, array + at_data, buf, (size_t)len))
		return;
	string_decode(buf, (size_t)len, coder != 0, out, cap);
}

/* ---- threads ----------------------------------------------------------------------------------
 */

static void daemon_read(struct vm *vm, uint64_t obj, struct java_thread *t)
{
	uint64_t holder = 0, klass;
	uint8_t v;

	if (vm->oops->daemon != FIELD_NONE) {
		if (!mem_u8(vm->mem, obj + vm->oops->daemon, &v))
			t->daemon = v != 0;
		return;
	}
	if (vm->oops->holder != FIELD_NONE)
		holder = oop_load(vm, obj + vm->oops->holder, false);
	klass = holder ? klass_above(vm, holder, "java/lang/Thread$FieldHolder") : 0;
	if (!klass)
		return;
	find_holder_fields(vm, klass);
	if (vm->oops->holder_daemon != FIELD_NONE &&
	    !mem_u8(vm->mem, holder + vm->oops->holder_daemon, &v))
		t->daemon = v != 0;
}

/* What java.lang.Thread says; leaves *t alone where that cannot be had. */
static void object_read(struct vm *vm, struct java_thread *t)
{
	const struct oops *o;
	uint64_t handle, obj, klass;
	uint64_t id;

	if (!vm_has(vm, VM_THREAD_NAMES) || !(o = oops_of(vm)) ||
	    mem_u64(vm->mem, t->thread + vm->at.jt_object + vm->at.oh_obj, &handle) || !handle)
		return;
	obj = oop_load(vm, handle, true);
	klass = obj ? klass_above(vm, obj, "java/lang/Thread") : 0;
	if (!klass)
		return;
	find_thread_fields(vm, klass);
	if (o->tid != FIELD_NONE && !mem_u64(vm->mem, obj + o->tid, &id))
		t->id = (int64_t)id;
	if (o->name != FIELD_NONE)
		string_read(vm, oop_load(vm, obj + o->name, false), t->name, sizeof(t->name));
	daemon_read(vm, obj, t);
}

static void thread_start(struct vm *vm, uint64_t thread, struct java_thread *t)
{
	uint64_t os;
	int32_t tid = 0;

	memset(t, 0, sizeof(*t));
	t->thread = thread;
	t->daemon = -1;
	if (!mem_u64(vm->mem, thread + vm->at.jt_osthread, &os) && os &&
	    !mem_i32(vm->mem, os + vm->at.ost_id, &tid) && tid > 0)
		t->tid = tid;
}

/* The list now: *threads is malloc'ed. Its length, or negative. */
static int threads_list(struct vm *vm, uint64_t **threads)
{
	uint64_t list, again, array;
	uint32_t n;

	*threads = NULL;
	if (!vm_has(vm, VM_THREADS))
		return -ENOTSUP;
	mem_flush(vm->mem);
	if (mem_u64(vm->mem, vm->at.tl_list, &list) || !list ||
	    mem_u32(vm->mem, list + vm->at.tl_length, &n) || n > THREADS_MAX ||
	    mem_u64(vm->mem, list + vm->at.tl_threads, &array))
		return -EFAULT;
	*threads = malloc(((size_t)n + 1) * sizeof(**threads));
	if (!*threads)
		return -ENOMEM;
	if ((n && mem_read_now(vm->mem, array, *threads, (size_t)n * sizeof(**threads))) ||
	    mem_read_now(vm->mem, vm->at.tl_list, &again, sizeof(again)) || again != list) {
		free(*threads);
		*threads = NULL;
		return -EFAULT;
	}
	return (int)n;
}

/* A list is replaced whenever a thread starts or ends, so a busy JVM may need a few tries. */
static int threads_list_retry(struct vm *vm, uint64_t **threads)
{
	int n = -EFAULT;

	for (int i = 0; i < 4 && n == -EFAULT; i++)
		n = threads_list(vm, threads);
	return n;
}

int vm_threads(struct vm *vm, java_thread_fn cb, void *arg)
{
	struct java_thread t;
	uint64_t *threads;
	int n = threads_list_retry(vm, &threads), rc = 0;

	for (int i = 0; i < n && !rc; i++) {
		thread_start(vm, threads[i], &t);
		object_read(vm, &t);
		rc = cb(arg, &t);
	}
	free(threads);
	return n < 0 ? n : rc;
}

int vm_thread_by_tid(struct vm *vm, pid_t tid, struct java_thread *out)
{
	uint64_t *threads;
	int n = threads_list_retry(vm, &threads), rc = -ENOENT;

	for (int i = 0; i < n && rc; i++) {
		thread_start(vm, threads[i], out);
		if (out->tid != tid)
			continue;
		object_read(vm, out);
		rc = 0;
	}
	free(threads);
	return n < 0 ? n : rc;
}

int vm_thread_by_address(struct vm *vm, uint64_t thread, struct java_thread *out)
{
	uint64_t *threads;
	int n = threads_list_retry(vm, &threads), rc = -ENOENT;

	for (int i = 0; i < n && rc; i++) {
		if (threads[i] != thread)
			continue;
		thread_start(vm, thread, out);
		object_read(vm, out);
		rc = 0;
	}
	free(threads);
	return n < 0 ? n : rc;
}
