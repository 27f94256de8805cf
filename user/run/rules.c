/* SPDX-License-Identifier: Apache-2.0 */
#include "run/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/select.h"

struct rule *rules_add(struct rules *r, const char *label)
{
	struct rule *v = realloc(r->v, (r->n + 1) * sizeof(*v));

	if (!v)
		return NULL;
	r->v = v;
	v += r->n;
	*v = (struct rule){.label = strdup(label), .record = true};
	if (!v->label)
		return NULL;
	r->n++;
	return v;
}

void rule_free(struct rule *r)
{
	free(r->label);
	free(r->name);
	free(r->container);
	free(r->cgroup);
	free(r->user);
}

void rules_free(struct rules *r)
{
	for (size_t i = 0; i < r->n; i++)
		rule_free(&r->v[i]);
	free(r->v);
	*r = (struct rules){0};
}

bool rules_rate(const struct rule *r, struct rate_wish *out)
{
	*out = (struct rate_wish){
		.cpu = r->cpu_ns || r->no_cpu,
		.wall = r->wall_ns || r->no_wall,
		.rate = {.cpu_ns = r->no_cpu ? 0 : r->cpu_ns,
			 .wall_ns = r->no_wall ? 0 : r->wall_ns},
	};
	snprintf(out->reason, sizeof(out->reason), "section '%s'", r->label);
	return out->cpu || out->wall;
}

static bool user_match(const char *user, const struct jvm_proc *j)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", j->uid);
	return !strcmp(user, j->user) || !strcmp(user, number);
}

bool rule_fits(const struct rule *r, const struct cgroup_mounts *mounts, const struct jvm_proc *j)
{
	const struct select_spec name = {.name = r->name}, container = {.container = r->container},
				 cgroup = {.cgroup = r->cgroup};

	return (!r->name || select_match(&name, mounts, j)) &&
	       (!r->container || select_match(&container, mounts, j)) &&
	       (!r->cgroup || select_match(&cgroup, mounts, j)) &&
	       (!r->user || user_match(r->user, j));
}

const struct rule *rules_find(const struct rules *r, const struct cgroup_mounts *mounts,
			      const struct jvm_proc *j)
{
	for (size_t i = 0; i < r->n; i++)
		if (rule_fits(&r->v[i], mounts, j))
			return &r->v[i];
	return NULL;
}

bool rules_want(const struct rules *r, const struct cgroup_mounts *mounts, const struct jvm_proc *j)
{
	const struct rule *fits = rules_find(r, mounts, j);

	return fits ? fits->record : r->otherwise;
}
