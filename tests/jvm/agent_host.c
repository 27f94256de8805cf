/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process without a JVM that loads the agent and runs its entry points against tables of its own.
 * Built with whatever C library is at hand: the library must not need any. Prints what it finds in
 * the ring; usage: agent_host LIBRARY.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/stream.h"
#include "agent/vm.h"

typedef int32_t (*attach_fn)(vm_env vm, char *opts, void *unused);
typedef void (*load_fn)(vm_env, void *, int32_t, const void *, int32_t,
			const struct vm_addr_location *, const void *);
typedef void (*thread_fn)(vm_env, vm_env, void *);

static void *callbacks[EVENT_COUNT];
static int enabled[EVENT_COUNT], allocated, refs;

static void fail(const char *what)
{
	printf("FAIL: %s\n", what);
	exit(1);
}

/* ---- the tables ------------------------------------------------------------------------------ */

static char *text(const char *s)
{
	allocated++;
	return strdup(s);
}

static int32_t deallocate(void *env, void *p)
{
	if (!p)
		fail("Deallocate of NULL");
	allocated--;
	free(p);
	return 0;
}

static int32_t set_mode(void *env, int32_t on, int32_t event, void *thread, ...)
{
	enabled[event - EVENT_FIRST] = on;
	return 0;
}

static int32_t set_callbacks(void *env, const void *c, int32_t size)
{
	if (size != sizeof(callbacks))
		fail("size of the callbacks");
	memcpy(callbacks, c, sizeof(callbacks));
	return 0;
}

static int32_t add_capabilities(void *env, const void *c)
{
	return 0;
}

static int32_t method_name(void *env, void *id, char **name, char **sig, char **generic)
{
	*name = text((uintptr_t)id == 1 ? "outer" : "inner");
	*sig = text("()V");
	return 0;
}

static int32_t declaring_class(void *env, void *id, void **klass)
{
	refs++;
	*klass = &refs;
	return 0;
}

static int32_t class_signature(void *env, void *klass, char **sig, char **generic)
{
	*sig = text("Lx/Y;");
	return 0;
}

static int32_t modifiers(void *env, void *id, int32_t *m)
{
	*m = 1;
	return 0;
}

static int32_t line_table(void *env, void *id, int32_t *n, struct vm_line **lines)
{
	return 101; /* ABSENT_INFORMATION */
}

static int32_t all_threads(void *env, int32_t *n, void ***threads)
{
	*n = 2;
	*threads = calloc(2, sizeof(void *));
	allocated++;
	(*threads)[0] = (*threads)[1] = &refs;
	refs += 2;
	return 0;
}

static int32_t current_thread(void *env, void **thread)
{
	refs++;
	*thread = &refs;
	return 0;
}

static int32_t thread_info(void *env, void *thread, struct vm_thread_info *info)
{
	info->name = text("a thread");
	info->thread_group = info->context_class_loader = &refs;
	refs += 2;
	return 0;
}

static void *const *jvmti;

static int32_t generate(void *env, int32_t event)
{
	struct vm_pc_stack pcs = {.pc = (void *)0x1010, .depth = 2};
	struct vm_inline_record in = {.header = {CMLR_INLINE_INFO, 1, 0, NULL}, .npcs = 1};
	void *methods[2] = {(void *)2, (void *)1};
	int32_t bcis[2] = {3, 4};

	if (event != EVENT_CompiledMethodLoad)
		return 0;
	pcs.methods = methods;
	pcs.bcis = bcis;
	in.pcs = &pcs;
	((load_fn)(uintptr_t)callbacks[EVENT_CompiledMethodLoad - EVENT_FIRST])(
		&jvmti, (void *)1, 64, (void *)0x1000, 0, NULL, &in);
	return 0;
}

static void *jvmti_table[160] = {
	[JVMTI_SetEventNotificationMode - 1] = set_mode,
	[JVMTI_GetAllThreads - 1] = all_threads,
	[JVMTI_GetThreadInfo - 1] = thread_info,
	[JVMTI_GetCurrentThread - 1] = current_thread,
	[JVMTI_Deallocate - 1] = deallocate,
	[JVMTI_GetClassSignature - 1] = class_signature,
	[JVMTI_GetMethodName - 1] = method_name,
	[JVMTI_GetMethodDeclaringClass - 1] = declaring_class,
	[JVMTI_GetMethodModifiers - 1] = modifiers,
	[JVMTI_GetLineNumberTable - 1] = line_table,
	[JVMTI_SetEventCallbacks - 1] = set_callbacks,
	[JVMTI_GenerateEvents - 1] = generate,
	[JVMTI_AddCapabilities - 1] = add_capabilities,
};
static void *const *jvmti = jvmti_table;

static void *find_class(void *env, const char *name)
{
	refs++;
	return &refs;
}

static void delete_ref(void *env, void *ref)
{
	if (!ref)
		fail("DeleteLocalRef of NULL");
	refs--;
}

static void *field_id(void *env, void *klass, const char *name, const char *sig)
{
	return &refs;
}

static int64_t long_field(void *env, void *obj, void *id)
{
	return 0x7000;
}

static void exception_clear(void *env)
{
}

static void *jni_table[240] = {
	[JNI_FindClass] = find_class,
	[JNI_DeleteLocalRef] = delete_ref,
	[JNI_GetFieldID] = field_id,
	[JNI_GetLongField] = long_field,
	[JNI_ExceptionClear] = exception_clear,
};
static void *const *jni = jni_table;

static int32_t get_env(void *vm, void **env, int32_t version)
{
	*env = version == VM_JVMTI_VERSION ? (void *)&jvmti : (void *)&jni;
	return 0;
}

static void *vm_table[8] = {[INVOKE_GetEnv] = get_env};
static void *const *vm = vm_table;

/* ---- what came of it ------------------------------------------------------------------------- */

static int memfd_find(void)
{
	char path[64], link[64];
	int fd;

	for (fd = 3; fd < 64; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		if (strstr(link, GNA_MEMFD))
			return fd;
	}
	fail("no memfd");
	return -1;
}

static void ring_print(int fd)
{
	static uint8_t data[GNA_RING_MIN];
	struct gna_header h;
	struct gna_record r;
	uint64_t at;

	if (pread(fd, &h, sizeof(h), 0) != sizeof(h) || h.magic != GNA_MAGIC)
		fail("header");
	if (pread(fd, data, sizeof(data), GNA_DATA) != sizeof(data))
		fail("ring");
	/* after a stop the memory is given back and reads as zero */
	for (at = 0; at < h.wpos; at += r.size) {
		memcpy(&r, data + at, sizeof(r));
		if (!r.size)
			break;
		printf("%d ", r.type);
	}
	printf("state %d dropped %d\n", h.state, (int)h.dropped);
}

static void attach(attach_fn f, const char *options)
{
	char opts[256];

	snprintf(opts, sizeof(opts), "%s", options);
	if (f((vm_env)&vm, opts, NULL))
		fail(options);
	if (allocated)
		fail("memory of the JVM is not given back");
	if (refs)
		fail("local references are left");
}

int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_LAZY) : NULL;
	attach_fn f = lib ? (attach_fn)(uintptr_t)dlsym(lib, "Agent_OnAttach") : NULL;

	if (!f) {
		printf("%s\n", dlerror());
		return 1;
	}
	attach(f, "session=abc,ring=10000,path=/x.so");
	ring_print(memfd_find());
	((thread_fn)(uintptr_t)callbacks[EVENT_ThreadStart - EVENT_FIRST])((vm_env)&jvmti,
									   (vm_env)&jni, &refs);
	ring_print(memfd_find());
	if (!enabled[EVENT_ThreadStart - EVENT_FIRST])
		fail("events are off");
	attach(f, "stop=abc");
	if (enabled[EVENT_ThreadStart - EVENT_FIRST])
		fail("events are on");
	ring_print(memfd_find());
	return 0;
}
