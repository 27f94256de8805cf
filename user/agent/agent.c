/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry point. The library is loaded once per JVM and stays; every later attach calls
 * Agent_OnAttach() again, which takes or gives back a reader's slot and, for a new reader, writes
 * everything that exists. Attach operations are executed one after the other by one thread of the
 * JVM, so nothing here is entered twice at a time.
 */
#include "agent/agent.h"

#include "agent/ring.h"
#include "agent/sys.h"

__attribute__((visibility("default"))) int32_t Agent_OnAttach(vm_env vm, char *opts, void *unused);

static vm_env the_vm, the_jvmti;
static uint32_t emitting_tid; /* thread that is inside GenerateEvents */
static uint32_t pace_ms;      /* how long emission may still wait for the reader */

#define PACE_MS 2000

static const int events[] = {
	EVENT_CompiledMethodLoad,
	EVENT_CompiledMethodUnload,
	EVENT_DynamicCodeGenerated,
	EVENT_ThreadStart,
	EVENT_ThreadEnd,
};

static void *callbacks[EVENT_COUNT] = {
	[EVENT_CompiledMethodLoad - EVENT_FIRST] = on_compiled_load,
	[EVENT_CompiledMethodUnload - EVENT_FIRST] = on_compiled_unload,
	[EVENT_DynamicCodeGenerated - EVENT_FIRST] = on_dynamic_code,
	[EVENT_ThreadStart - EVENT_FIRST] = on_thread_start,
	[EVENT_ThreadEnd - EVENT_FIRST] = on_thread_end,
};

static vm_env vm_getenv(vm_env vm, int32_t version)
{
	vm_env env = NULL;
	int32_t (*get)(vm_env, vm_env *, int32_t) =
		(int32_t(*)(vm_env, vm_env *, int32_t))(uintptr_t)(*vm)[INVOKE_GetEnv];

	return get(vm, &env, version) == VM_OK ? env : NULL;
}

vm_env agent_jni(void)
{
	return vm_getenv(the_vm, VM_JNI_VERSION);
}

void agent_free(vm_env jvmti, void *p)
{
	if (p)
		JVMTI_CALL(jvmti, Deallocate, (vm_env, uint8_t *), p);
}

static bool events_switch(bool on)
{
	bool ok = true;
	size_t i;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		ok &= !JVMTI_CALL(the_jvmti, SetEventNotificationMode,
				  (vm_env, int32_t, int32_t, void *), on, events[i], NULL);
	ring_state(on ? GNA_ON : GNA_OFF);
	return ok;
}

static void agent_quiet(void)
{
	events_switch(false);
	/* a reader may have come between the look and the switch */
	if (ring_wanted() || perfmap_wanted())
		events_switch(true);
	else
		ring_release();
}

bool agent_listening(void)
{
	if (ring_wanted() || perfmap_wanted())
		return true;
	agent_quiet();
	return false;
}

uint16_t agent_flags(void)
{
	uint32_t tid = __atomic_load_n(&emitting_tid, __ATOMIC_ACQUIRE);

	if (!tid || tid != sys_gettid())
		return 0;
	ring_pace(&pace_ms);
	return GNA_F_EXISTING;
}

static bool jvmti_init(vm_env vm)
{
	struct vm_capabilities caps = {0};
	vm_env env = vm_getenv(vm, VM_JVMTI_VERSION);

	if (!env)
		return false;
	caps.bits[CAP_compiled_method_load / 32] |= 1u << CAP_compiled_method_load % 32;
	caps.bits[CAP_get_line_numbers / 32] |= 1u << CAP_get_line_numbers % 32;
	if (JVMTI_CALL(env, AddCapabilities, (vm_env, const void *), &caps))
		return false;
	if (JVMTI_CALL(env, SetEventCallbacks, (vm_env, const void *, int32_t), callbacks,
		       (int32_t)sizeof(callbacks)))
		return false;
	the_vm = vm;
	the_jvmti = env;
	return true;
}

static void emit_mark(uint64_t nonce, uint32_t generation)
{
	struct gna_mark m = {.nonce = nonce, .generation = generation};

	record_init(&m.r, GNA_MARK, 0);
	ring_record(&m, sizeof(m), NULL, 0);
}

/*
 * Events are on before the emission, so nothing falls between; what is then reported twice is the
 * same to the reader.
 */
static void emit_all(uint64_t nonce)
{
	uint32_t generation = ring_generation_next();
	vm_env jni = agent_jni();

	methods_forget();
	pace_ms = PACE_MS;
	__atomic_store_n(&emitting_tid, sys_gettid(), __ATOMIC_RELEASE);
	if (jni)
		threads_emit(the_jvmti, jni);
	JVMTI_CALL(the_jvmti, GenerateEvents, (vm_env, int32_t), EVENT_DynamicCodeGenerated);
	JVMTI_CALL(the_jvmti, GenerateEvents, (vm_env, int32_t), EVENT_CompiledMethodLoad);
	__atomic_store_n(&emitting_tid, 0, __ATOMIC_RELEASE);
	emit_mark(nonce, generation);
}

static int32_t session_start(const struct agent_options *o)
{
	if (o->session && !ring_join(o->session, o->path, o->path_len))
		return VM_ERR;
	if (o->perfmap && perfmap_open())
		return VM_ERR;
	if (!events_switch(true))
		return VM_ERR;
	emit_all(o->session);
	if (o->perfmap && !o->session) {
		/* a snapshot: the file is complete, nobody follows */
		perfmap_close();
		agent_listening();
	}
	return VM_OK;
}

int32_t Agent_OnAttach(vm_env vm, char *opts, void *unused)
{
	struct agent_options o;

	options_parse(&o, opts);
	if (!the_jvmti && !jvmti_init(vm))
		return VM_ERR;
	if (ring_init(o.ring))
		return VM_ERR;
	if (o.stop) {
		ring_leave(o.stop);
		perfmap_close();
		agent_listening();
		return VM_OK;
	}
	if (!o.session && !o.perfmap)
		return VM_OK;
	return session_start(&o);
}
