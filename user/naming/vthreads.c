/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/vthreads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#define VTHREADS_MAX 65536

struct vthread_name {
	uint64_t id;
	char *name;
	UT_hash_handle hh;
};

struct vthreads {
	struct vthread_name *names;
};

struct vthreads *vthreads_new(void)
{
	return calloc(1, sizeof(struct vthreads));
}

static void names_drop(struct vthreads *v)
{
	struct vthread_name *n, *tmp;

	HASH_ITER(hh, v->names, n, tmp) {
		HASH_DEL(v->names, n);
		free(n->name);
		free(n);
	}
}

void vthreads_free(struct vthreads *v)
{
	if (!v)
		return;
	names_drop(v);
	free(v);
}

static struct vthread_name *find(const struct vthreads *v, uint64_t id)
{
	struct vthread_name *n;

	HASH_FIND(hh, v->names, &id, sizeof(id), n);
	return n;
}

bool vthreads_has(const struct vthreads *v, uint64_t id)
{
	return find(v, id) != NULL;
}

bool vthreads_add(struct vthreads *v, uint64_t id, const char *name, bool cut)
{
	char text[VTHREAD_NAME_LEN + 8];
	struct vthread_name *n = find(v, id);
	bool full = !n && HASH_COUNT(v->names) >= VTHREADS_MAX;

	if (full)
		names_drop(v);
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n)
			return full;
		n->id = id;
		HASH_ADD(hh, v->names, id, sizeof(n->id), n);
	}
	snprintf(text, sizeof(text), "%s%s", name, cut ? "..." : "");
	if (n->name && !strcmp(n->name, text))
		return full;
	free(n->name);
	n->name = strdup(text);
	return full;
}

uint32_t vthreads_jfr(struct vthreads *v, struct jfrw *w, uint64_t id, const struct member *on)
{
	const struct vthread_name *n = find(v, id);

	return jfrw_thread(w, &(struct jfrw_thread){
				      .os_name = on->comm,
				      .os_tid = (uint64_t)on->tid,
				      .java_name = n && n->name ? n->name : "",
				      .java_tid = id,
				      .groups = "VirtualThreads\0",
				      .is_virtual = true,
			      });
}
