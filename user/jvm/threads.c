/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/threads.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/heap.h"
#include "jvm/heapepoch.h"
#include "jvm/symbol.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"

#define THREADS_MAX 131072
#define GROUPS_MAX  16 /* nested groups */
#define TRAIL_MAX   (5 + 4 * GROUPS_MAX)
#define TRIES	    4 /* to read a thread's names while objects move */

/* ---- fields of classes ------------------------------------------------------------------------
 */

static void find_thread_fields(struct vm *vm, uint64_t klass)
{
	struct oops *o = vm->oops;
	const struct field_query w[] = {
		{"name", "Ljava/lang/String;", &o->name},
		{"tid", "J", &o->tid},
		{"eetop", "J", &o->eetop},
		{"group", "Ljava/lang/ThreadGroup;", &o->group},
		{"holder", "Ljava/lang/Thread$FieldHolder;",
		 &o->holder}, /* since JDK 19 it has the group */
	};

	if (!o->thread_done)
		fields_find(vm, klass, w, 5);
	o->thread_done = true;
}

static void find_holder_fields(struct vm *vm, uint64_t klass)
{
	struct oops *o = vm->oops;
	const struct field_query w[] = {{"group", "Ljava/lang/ThreadGroup;", &o->holder_group}};

	if (!o->holder_done)
		fields_find(vm, klass, w, 1);
	o->holder_done = true;
}

static void find_group_fields(struct vm *vm, uint64_t klass)
{
	struct oops *o = vm->oops;
	const struct field_query w[] = {
		{"name", "Ljava/lang/String;", &o->group_name},
		{"parent", "Ljava/lang/ThreadGroup;", &o->group_parent},
	};

	if (!o->group_done)
		fields_find(vm, klass, w, 2);
	o->group_done = true;
}

static void find_string_fields(struct vm *vm, uint64_t klass)
{
	struct oops *o = vm->oops;
	const struct field_query w[] = {{"value", "[B", &o->value}, {"coder", "B", &o->coder}};

	if (!o->string_done)
		fields_find(vm, klass, w, 2);
	o->string_done = true;
}

/* ---- references -------------------------------------------------------------------------------
 */

/*
 * The references that were followed. If a collector has moved an object it has changed one of them.
 */
struct trail {
	struct {
		uint64_t at, to;
		bool wide;
	} of[TRAIL_MAX];
	unsigned int n;
};

/* As oop_load(); 0 too if the trail is full. */
static uint64_t follow(struct vm *vm, struct trail *t, uint64_t addr, bool wide)
{
	uint64_t to = oop_load(vm, addr, wide);

	if (t->n == TRAIL_MAX)
		return 0;
	t->of[t->n].at = addr;
	t->of[t->n].wide = wide;
	t->of[t->n++].to = to;
	return to;
}

static bool unchanged(struct vm *vm, const struct trail *t)
{
	mem_flush(vm->mem);
	for (unsigned int i = 0; i < t->n; i++)
		if (oop_load(vm, t->of[i].at, t->of[i].wide) != t->of[i].to)
			return false;
	return true;
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

void java_string_decode(const uint8_t *p, size_t len, bool wide, char *out, size_t cap)
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

static void string_read(struct vm *vm, struct trail *t, uint64_t str, char *out, size_t cap)
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
	array = follow(vm, t, str + vm->oops->value, false);
	array_layout(vm, &at_length, &at_data);
	if (!array || mem_u8(vm->mem, str + vm->oops->coder, &coder) ||
	    mem_i32(vm->mem, array + at_length, &len) || len <= 0)
		return;
	if ((size_t)len > sizeof(buf))
		len = sizeof(buf);
	if (mem_read(vm->mem, array + at_data, buf, (size_t)len))
		return;
	java_string_decode(buf, (size_t)len, coder != 0, out, cap);
}

void java_string_read(struct vm *vm, uint64_t str, char *out, size_t cap)
{
	struct trail trail = {.n = 0};

	string_read(vm, &trail, str, out, cap);
}

/* ---- thread groups ----------------------------------------------------------------------------
 */

static uint64_t thread_group(struct vm *vm, struct trail *t, uint64_t thread)
{
	const struct oops *o = vm->oops;
	uint64_t holder, klass;

	if (o->group != FIELD_NONE)
		return follow(vm, t, thread + o->group, false);
	holder = o->holder == FIELD_NONE ? 0 : follow(vm, t, thread + o->holder, false);
	klass = holder ? klass_above(vm, holder, "java/lang/Thread$FieldHolder") : 0;
	if (!klass)
		return 0;
	find_holder_fields(vm, klass);
	return o->holder_group == FIELD_NONE ? 0 : follow(vm, t, holder + o->holder_group, false);
}

/* Reads a group's name and its parent. */
static bool group_read(struct vm *vm, struct trail *t, uint64_t group, char *name, size_t room,
		       uint64_t *parent)
{
	uint64_t klass = klass_above(vm, group, "java/lang/ThreadGroup");
	const struct oops *o = vm->oops;

	if (!klass)
		return false;
	find_group_fields(vm, klass);
	if (o->group_name == FIELD_NONE || o->group_parent == FIELD_NONE)
		return false;
	string_read(vm, t, follow(vm, t, group + o->group_name, false), name, room);
	*parent = follow(vm, t, group + o->group_parent, false);
	return name[0] && strlen(name) < room - 1; /* a longer one may have been cut */
}

/* Reads all groups of a thread or none; the outermost is the JVM's own. */
static void groups_read(struct vm *vm, struct trail *t, uint64_t thread, char *out, size_t cap)
{
	uint64_t group = thread_group(vm, t, thread);
	size_t n = 0, last = 0;

	for (int i = 0; i < GROUPS_MAX && group && cap - n > 2; i++) {
		if (!group_read(vm, t, group, out + n, cap - n - 1, &group))
			break;
		last = n;
		n += strlen(out + n) + 1;
	}
	out[n] = 0;
	if (group || strcmp(out + last, "system"))
		out[0] = 0;
}

/* ---- threads ----------------------------------------------------------------------------------
 */

/*
 * Whether the object is the thread's now: it refers back to the JavaThread until the thread ends.
 * While a garbage collector moves objects, another thread's object may lie there.
 */
static bool object_is_of(struct vm *vm, uint64_t obj, uint64_t thread)
{
	uint64_t back;

	return vm->oops->eetop == FIELD_NONE ||
	       (!mem_u64(vm->mem, obj + vm->oops->eetop, &back) && back == thread);
}

/* Reads what java.lang.Thread says; leaves *t alone if that cannot be read. */
static void object_read(struct vm *vm, struct trail *trail, struct java_thread *t)
{
	const struct oops *o = vm->oops;
	uint64_t handle, obj, klass, id;
	bool carrier;

	if (mem_u64(vm->mem, t->thread + vm->at.jt_object + vm->at.oh_obj, &handle) || !handle)
		return;
	obj = follow(vm, trail, handle, true);
	klass = obj ? klass_above(vm, obj, "java/lang/Thread") : 0;
	if (!klass)
		return;
	carrier = vm->at.jt_vthread != VM_NONE &&
		  klass_above(vm, obj, "jdk/internal/misc/CarrierThread");
	find_thread_fields(vm, klass);
	if (!object_is_of(vm, obj, t->thread))
		return;
	if (o->tid != FIELD_NONE && !mem_u64(vm->mem, obj + o->tid, &id))
		t->id = (int64_t)id;
	if (o->name != FIELD_NONE)
		string_read(vm, trail, follow(vm, trail, obj + o->name, false), t->name,
			    sizeof(t->name));
	groups_read(vm, trail, obj, t->groups, sizeof(t->groups));
	if (carrier)
		mem_u64(vm->mem, t->thread + vm->at.jt_vthread + vm->at.oh_obj, &t->carrier);
}

uint64_t vm_virtual_klass(struct vm *vm)
{
	struct oops *o = oops_of(vm);
	uint64_t thread, base;

	if (!o || mem_u64(vm->mem, vm->at.class_thread, &thread) || !is_metadata(thread))
		return 0;
	find_thread_fields(vm, thread);
	base = klass_below(vm, thread, "java/lang/BaseVirtualThread");
	return base ? klass_below(vm, base, "java/lang/VirtualThread") : 0;
}

static bool string_layout(struct vm *vm)
{
	uint64_t string;

	if (mem_u64(vm->mem, vm->at.class_string, &string) || !is_metadata(string))
		return false;
	find_string_fields(vm, string);
	return vm->oops->value != FIELD_NONE && vm->oops->coder != FIELD_NONE;
}

int vm_vthreads(struct vm *vm, struct gn_vthreads *out)
{
	uint32_t at, bytes, shift, length, data;
	const struct heap_epoch *e;
	const struct oops *o;
	uint64_t klass;

	if (!vm_has(vm, VM_THREAD_NAMES) || vm->at.class_thread == VM_NONE ||
	    vm->at.class_string == VM_NONE)
		return -ENOTSUP;
	klass = vm_virtual_klass(vm);
	if (!klass)
		return -ENOENT;
	o = vm->oops;
	e = heap_epoch_of(vm);
	if (!e || !string_layout(vm) || o->tid == FIELD_NONE || o->name == FIELD_NONE ||
	    (o->compact && vm->at.mark_klass_shift > 63))
		return -ENOTSUP;
	array_layout(vm, &length, &data);
	*out = (struct gn_vthreads){
		.klass = klass_in_header(vm, klass, &at, &bytes, &shift),
		.id = (uint16_t)o->tid,
		.name = (uint16_t)o->name,
		.value = (uint16_t)o->value,
		.coder = (uint16_t)o->coder,
		.length = (uint16_t)length,
		.bytes = (uint16_t)data,
	};
	out->klass_at = (uint16_t)at;
	out->klass_bytes = (uint16_t)bytes;
	out->klass_shift = (uint16_t)shift;
	heap_epoch_tell(vm, e, &out->heap);
	return 0;
}

static void thread_start(struct vm *vm, uint64_t thread, struct java_thread *t)
{
	uint64_t os;
	int32_t tid = 0;

	memset(t, 0, sizeof(*t));
	t->thread = thread;
	if (!mem_u64(vm->mem, thread + vm->at.jt_osthread, &os) && os &&
	    !mem_i32(vm->mem, os + vm->at.ost_id, &tid) && tid > 0)
		t->tid = tid;
}

/*
 * Reads the list of threads as it is now: *threads is malloc'ed. Returns its length or a negative
 * errno.
 */
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
		rc = t.tid ? cb(arg, t.thread, t.tid) : 0;
	}
	free(threads);
	return n < 0 ? n : rc;
}

int vm_threads_mark(struct vm *vm, struct vm_threads_mark *out)
{
	uint64_t started = vm->unloads.at[UNLOADS_THREADS];

	if (!vm_has(vm, VM_THREADS) || !started)
		return -ENOENT;
	if (mem_read_now(vm->mem, vm->at.tl_list, &out->list, sizeof(out->list)) ||
	    mem_read_now(vm->mem, started, &out->started, sizeof(out->started)))
		return -EFAULT;
	return 0;
}

/* Reads the thread within one epoch. -EAGAIN: objects moved meanwhile, or there are none yet. */
static int thread_read(struct vm *vm, uint64_t thread, uint64_t since, struct java_thread *out)
{
	struct heap_epoch *e = vm_has(vm, VM_THREAD_NAMES) ? heap_epoch_of(vm) : NULL;
	struct trail trail = {.n = 0};
	bool same;

	if (!e) {
		mem_flush(vm->mem);
		thread_start(vm, thread, out);
		return vm_has(vm, VM_THREAD_NAMES) && !vm->oops ? -EAGAIN : 0;
	}
	if (!heap_epoch_go_on(vm, e, since)) {
		thread_start(vm, thread, out);
		return -EAGAIN;
	}
	thread_start(vm, thread, out);
	object_read(vm, &trail, out);
	same = e->still || unchanged(vm, &trail);
	if (heap_epoch_end(vm, e) && same)
		return 0;
	thread_start(vm, thread, out);
	return -EAGAIN;
}

int vm_thread_read(struct vm *vm, uint64_t thread, pid_t tid, uint64_t since,
		   struct java_thread *out)
{
	int rc = -EAGAIN;

	if (!vm_has(vm, VM_THREADS))
		return -ENOTSUP;
	for (int i = 0; i < TRIES && rc == -EAGAIN; i++)
		rc = thread_read(vm, thread, since, out);
	if (!out->tid || out->tid != tid)
		return -ENOENT;
	return rc;
}
