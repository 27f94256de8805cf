/* SPDX-License-Identifier: Apache-2.0 */
#include "target/container.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/procfs.h"
#include "target/text.h"

#define CONTAINER_CGROUP_MAX (64u << 10)
#define CONTAINER_JSON_MAX   (1u << 20)
#define CONTAINER_UP_MAX     32 /* parents looked at for the container's monitor */

static const struct {
	const char *prefix; /* of "PREFIX<id>" and "PREFIX<id>.scope" */
	enum container_kind kind;
} scopes[] = {
	{"docker-", CONTAINER_DOCKER},
	{"libpod-", CONTAINER_PODMAN},
	{"cri-containerd-", CONTAINER_CONTAINERD},
	{"containerd-", CONTAINER_CONTAINERD},
	{"nerdctl-", CONTAINER_CONTAINERD},
	{"crio-", CONTAINER_CRIO},
};

static const char *const kind_names[] = {
	[CONTAINER_NONE] = "",
	[CONTAINER_DOCKER] = "docker",
	[CONTAINER_CONTAINERD] = "containerd",
	[CONTAINER_CRIO] = "cri-o",
	[CONTAINER_PODMAN] = "podman",
	[CONTAINER_LXC] = "lxc",
	[CONTAINER_NSPAWN] = "systemd-nspawn",
	[CONTAINER_KUBERNETES] = "kubernetes",
	[CONTAINER_OTHER] = "other",
};

const char *container_kind_name(enum container_kind kind)
{
	return (size_t)kind < sizeof(kind_names) / sizeof(kind_names[0]) ? kind_names[kind] : "";
}

/* ---- cgroup paths ---------------------------------------------------------------------------- */

static bool is_hex_id(struct text t, size_t least)
{
	if (text_len(t) < least || text_len(t) > 64)
		return false;
	for (const char *p = t.p; p < t.end; p++)
		if (!isdigit((unsigned char)*p) && (*p < 'a' || *p > 'f'))
			return false;
	return true;
}

static void id_set(struct container *c, enum container_kind kind, struct text id)
{
	c->kind = kind;
	c->name[0] = '\0';
	text_copy(id, c->id, sizeof(c->id));
}

/* systemd writes a '-' in a unit name as \x2d (systemd-escape(1)). */
static void name_set(struct container *c, enum container_kind kind, struct text t)
{
	size_t n = 0;

	c->kind = kind;
	while (t.p < t.end && n + 1 < sizeof(c->id)) {
		bool dash = text_eat(&t, "\\x2d");
		char ch = dash ? '-' : *t.p;

		t.p += !dash;
		c->id[n++] = (char)((unsigned char)ch < 0x20 || ch == 0x7f ? '?' : ch);
	}
	c->id[n] = '\0';
	snprintf(c->name, sizeof(c->name), "%s", c->id);
}

/* "docker-<id>.scope"; a monitor's group ("libpod-conmon-<id>.scope") is not the container. */
static bool scope_match(struct text part, struct container *c)
{
	text_eat_end(&part, ".scope");
	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
		struct text id = part;

		if (text_eat(&id, scopes[i].prefix) && is_hex_id(id, 12)) {
			id_set(c, scopes[i].kind, id);
			return true;
		}
	}
	return false;
}

/* "kubepods-...-pod<uid>.slice:cri-containerd:<id>": a systemd path given to cgroupfs. */
static bool colon_match(struct text part, struct container *c)
{
	struct text slice, runtime;

	if (!text_cut(&part, ':', &slice) || !text_cut(&part, ':', &runtime) ||
	    !is_hex_id(part, 12))
		return false;
	id_set(c,
	       text_is(runtime, "docker")   ? CONTAINER_DOCKER
	       : text_is(runtime, "crio")   ? CONTAINER_CRIO
	       : text_is(runtime, "libpod") ? CONTAINER_PODMAN
					    : CONTAINER_CONTAINERD,
	       part);
	return true;
}

/* "pod<uid>" (cgroupfs) or "kubepods[-qos]-pod<uid>.slice" (systemd, dashes as underscores). */
static void pod_match(struct text part, struct container *c)
{
	struct text uid = part, slice;

	if (text_cut(&uid, ':', &slice))
		uid = slice;
	if (text_eat_end(&uid, ".slice")) {
		const char *at = memmem(uid.p, text_len(uid), "-pod", 4);

		if (!text_starts(uid, "kubepods") || !at)
			return;
		uid.p = at + 4;
	} else if (!text_eat(&uid, "pod")) {
		return;
	}
	if (text_len(uid) < 32 || text_len(uid) >= sizeof(c->pod))
		return;
	text_copy(uid, c->pod, sizeof(c->pod));
	for (char *p = c->pod; *p; p++)
		if (*p == '_')
			*p = '-';
}

static bool lxc_match(struct text part, struct text prev, struct container *c)
{
	bool below = text_is(prev, "lxc") || text_is(prev, "lxc.payload");

	if (!below && !text_eat(&part, "lxc.payload."))
		return false;
	if (part.p == part.end || text_is(part, ".."))
		return false;
	name_set(c, CONTAINER_LXC, part);
	return true;
}

static bool nspawn_match(struct text part, struct container *c)
{
	if (text_eat(&part, "systemd-nspawn@")) {
		if (!text_eat_end(&part, ".service"))
			return false;
	} else if (!text_eat(&part, "machine-") || !text_eat_end(&part, ".scope") ||
		   text_starts(part, "qemu") || text_starts(part, "libvirt")) {
		return false; /* virtual machines share machine.slice */
	}
	if (part.p == part.end)
		return false;
	name_set(c, CONTAINER_NSPAWN, part);
	return true;
}

/* A bare 64-digit component: the parent tells whose. */
static bool bare_match(struct text part, struct text prev, bool ecs, struct container *c)
{
	if (!is_hex_id(part, 64) || text_len(part) != 64)
		return false;
	id_set(c,
	       text_is(prev, "docker") || ecs ? CONTAINER_DOCKER
	       : c->pod[0]		      ? CONTAINER_KUBERNETES
					      : CONTAINER_CONTAINERD,
	       part);
	return true;
}

/* "user@1000.service": what lies below it is that user's. */
static bool is_users(struct text part)
{
	return text_starts(part, "user@") && text_ends(part, ".service");
}

static bool part_match(struct text part, struct text prev, bool ecs, struct container *c)
{
	return scope_match(part, c) || colon_match(part, c) || lxc_match(part, prev, c) ||
	       nspawn_match(part, c) || bare_match(part, prev, ecs, c);
}

static bool path_match(struct text path, struct container *c)
{
	struct text part, prev = {path.p, path.p}, group = path;
	bool found = false, ecs = false, users = false;

	memset(c, 0, sizeof(*c));
	while (text_cut(&path, '/', &part)) {
		pod_match(part, c);
		ecs |= text_is(part, "ecs");
		users |= is_users(part);
		group.end = part.end;
		if (part_match(part, prev, ecs, c)) {
			found = true;
			if (!users)
				text_copy(group, c->group, sizeof(c->group));
		}
		prev = part;
	}
	return found;
}

bool container_parse(const char *cgroup_text, size_t len, struct container *out)
{
	struct text t = text_of(cgroup_text, len), line, part;

	while (text_line(&t, &line))
		if (text_cut(&line, ':', &part) && text_cut(&line, ':', &part) &&
		    path_match(line, out))
			return true;
	memset(out, 0, sizeof(*out));
	return false;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Names are [a-zA-Z0-9_.-]; anything else ends it, so nothing odd reaches a terminal. */
static bool name_take(const char *p, const char *end, char *name, size_t cap)
{
	size_t n = 0;

	while (p < end && n + 1 < cap && (isalnum((unsigned char)*p) || strchr("_.-", *p)) && *p)
		name[n++] = *p++;
	name[n] = '\0';
	return n > 0;
}

/* Only the container's own name begins with a slash; volumes and networks have "Name" too. */
bool container_docker_name(const char *json, size_t len, char *name, size_t cap)
{
	static const char key[] = "\"Name\":\"/";
	const char *at = len ? memmem(json, len, key, sizeof(key) - 1) : NULL;

	name[0] = '\0';
	return at && name_take(at + sizeof(key) - 1, json + len, name, cap);
}

static void docker_name(struct container *c)
{
	char path[192], *buf = malloc(CONTAINER_JSON_MAX);
	ssize_t n;

	if (!buf)
		return;
	snprintf(path, sizeof(path), "/var/lib/docker/containers/%s/config.v2.json", c->id);
	n = file_read(path, buf, CONTAINER_JSON_MAX);
	if (n > 0)
		container_docker_name(buf, (size_t)n, c->name, sizeof(c->name));
	free(buf);
}

/* conmon, the parent of the container's first process: "conmon ... -c <id> ... -n <name>". */
static bool conmon_name(const struct proc_args *a, struct container *c)
{
	const char *id = "", *name = "";

	for (size_t i = 1; i + 1 < a->n; i++) {
		if (!strcmp(a->v[i], "-c"))
			id = a->v[i + 1];
		else if (!strcmp(a->v[i], "-n"))
			name = a->v[i + 1];
	}
	return !strcmp(id, c->id) && name_take(name, name + strlen(name), c->name, sizeof(c->name));
}

static void monitor_name(pid_t pid, struct container *c)
{
	for (int i = 0; i < CONTAINER_UP_MAX && pid > 1; i++) {
		struct proc_args a;
		struct proc_stat st;
		bool found = false;

		if (proc_leader_read(pid, &st) || st.ppid <= 1)
			return;
		pid = st.ppid;
		if (!proc_comm_read(pid, 0, st.comm, sizeof(st.comm)) &&
		    !strcmp(st.comm, "conmon") && !proc_cmdline_read(pid, &a)) {
			found = conmon_name(&a, c);
			proc_args_free(&a);
		}
		if (found)
			return;
	}
}

/* Kubernetes sets the host name of a pod to the pod's name. */
static void pod_name(pid_t pid, struct container *c)
{
	struct proc_args env;
	const char *v;

	if (proc_environ_read(pid, &env))
		return;
	v = proc_env_find(&env, "HOSTNAME");
	if (v)
		name_take(v, v + strlen(v), c->name, sizeof(c->name));
	proc_args_free(&env);
}

/* ---- of a process ---------------------------------------------------------------------------- */

static bool ns_differ(pid_t pid)
{
	char own[64], ns[64];

	/* a private mount namespace alone is an ordinary systemd service (PrivateTmp=) */
	return proc_link_read(getpid(), "ns/pid", own, sizeof(own)) > 0 &&
	       proc_link_read(pid, "ns/pid", ns, sizeof(ns)) > 0 && strcmp(own, ns);
}

int container_read(pid_t pid, struct container *out)
{
	char *text;
	size_t len;
	int rc = proc_read_all(pid, "cgroup", CONTAINER_CGROUP_MAX, &text, &len);
	bool found;

	memset(out, 0, sizeof(*out));
	if (rc)
		return rc;
	found = container_parse(text, len, out);
	free(text);
	if (!found) {
		if (ns_differ(pid))
			out->kind = CONTAINER_OTHER;
		return 0;
	}
	if (out->kind == CONTAINER_DOCKER)
		docker_name(out);
	else if (out->kind == CONTAINER_PODMAN || out->kind == CONTAINER_CRIO)
		monitor_name(pid, out);
	if (!out->name[0] && out->pod[0])
		pod_name(pid, out);
	return 0;
}

void container_label(const struct container *c, char *buf, size_t cap)
{
	if (c->kind == CONTAINER_NONE)
		snprintf(buf, cap, "-");
	else if (c->name[0])
		snprintf(buf, cap, "%s", c->name);
	else if (c->id[0])
		snprintf(buf, cap, "%.12s", c->id);
	else
		snprintf(buf, cap, "(own ns)");
}

bool container_match(const struct container *c, const char *what)
{
	size_t n = strlen(what);

	if (c->kind == CONTAINER_NONE || !n)
		return false;
	return !strcmp(c->name, what) || !strcmp(c->pod, what) || !strcmp(c->id, what) ||
	       (n >= 4 && !strncmp(c->id, what, n) && is_hex_id(text_of(what, n), 4));
}
