/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/resource.h"

#include <stdlib.h>
#include <string.h>

#include "context/process.h"
#include "jfr/write.h"
#include "jvm/mem.h"
#include "target/attributes.h"
#include "target/container.h"
#include "target/procfs.h"

static void write_one(struct jfrw *out, uint64_t time, const char *source, const char *key,
		      const char *value)
{
	struct jfr_resource r = {.key = key, .value = value, .source = source};

	if (*value && attribute_is_known(key))
		jfrw_resource(out, time, &r);
}

static int read_memory(void *arg, uint64_t addr, void *dst, size_t len)
{
	return mem_read(arg, addr, dst, len);
}

static void attributes_write(struct jfrw *out, uint64_t time, const struct ctx_process *p)
{
	for (uint32_t i = 0; i < p->nresource; i++) {
		const struct ctx_attribute *c = &p->resource[i];
		struct attribute a;

		if (attribute_copy(&a, c->key.p, c->key.len, c->value.p, c->value.len))
			write_one(out, time, "process context", a.key, a.value);
	}
}

static void context_write(struct jfrw *out, pid_t tgid, const struct maps *maps, uint64_t time)
{
	uint64_t at = maps ? ctx_process_find(maps) : 0;
	struct mem *mem = at ? mem_open(tgid) : NULL;
	const struct ctx_memory m = {read_memory, mem};
	struct ctx_process *p = mem ? calloc(1, sizeof(*p)) : NULL;
	uint32_t version;

	if (p && !ctx_process_read(p, &m, at, &version))
		attributes_write(out, time, p);
	free(p);
	mem_close(mem);
}

static void environment_write(struct jfrw *out, pid_t tgid, uint64_t time)
{
	struct proc_args env = {0};
	const char *name, *more;
	struct attribute a;

	if (proc_environ_read(tgid, &env))
		return;
	name = proc_env_find(&env, "OTEL_SERVICE_NAME");
	more = proc_env_find(&env, "OTEL_RESOURCE_ATTRIBUTES");
	if (name)
		write_one(out, time, "OTEL_SERVICE_NAME", "service.name", name);
	while (more && attribute_next(&more, &a))
		write_one(out, time, "OTEL_RESOURCE_ATTRIBUTES", a.key, a.value);
	proc_args_free(&env);
}

static void container_write(struct jfrw *out, pid_t tgid, uint64_t time)
{
	struct container c;

	if (container_read(tgid, &c) || c.kind == CONTAINER_NONE)
		return;
	write_one(out, time, "control group", "container.id", c.id);
	write_one(out, time, "control group", "container.name", c.name);
	write_one(out, time, "control group", "k8s.pod.uid", c.pod);
}

void resource_write(struct jfrw *out, pid_t tgid, const struct maps *maps, uint64_t time)
{
	context_write(out, tgid, maps, time);
	environment_write(out, tgid, time);
	container_write(out, tgid, time);
}
