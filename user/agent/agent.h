/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the agent share. Everything here runs on threads of the JVM. */
#ifndef GNOMON_AGENT_AGENT_H
#define GNOMON_AGENT_AGENT_H

#include "agent/vm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent_options {
	uint64_t session; /* 0 = none */
	uint64_t stop;	  /* session to end, 0 = none */
	uint64_t ring;	  /* bytes */
	const char *path; /* not terminated */
	size_t path_len;
	bool perfmap;
};

/* Unknown words are skipped: a newer collector may know more. */
void options_parse(struct agent_options *o, const char *s);

vm_env agent_jni(void);			/* of this thread, NULL if it is not attached */
void agent_free(vm_env jvmti, void *p); /* JVMTI Deallocate; p may be NULL */
bool agent_listening(void);		/* a reader is there; else events go off */
uint16_t agent_flags(void);		/* GNA_F_EXISTING while this thread emits what exists */

/* method.c: JVMTI event callbacks */
void on_compiled_load(vm_env jvmti, void *method, int32_t size, const void *addr, int32_t map_len,
		      const struct vm_addr_location *map, const void *info);
void on_compiled_unload(vm_env jvmti, void *method, const void *addr);
void on_dynamic_code(vm_env jvmti, const char *name, const void *addr, int32_t len);
void methods_forget(void); /* send every method's names again */

/* thread.c */
void on_thread_start(vm_env jvmti, vm_env jni, void *thread);
void on_thread_end(vm_env jvmti, vm_env jni, void *thread);
void threads_emit(vm_env jvmti, vm_env jni);

/* perfmap.c: /tmp/perf-PID.map, which perf and bpftrace read */
int perfmap_open(void);
void perfmap_close(void);
bool perfmap_wanted(void);
void perfmap_add(const void *addr, uint32_t size, const char *klass, const char *name);

#endif
