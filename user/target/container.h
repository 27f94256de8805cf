/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which container a process is in, told from its cgroup paths: each runtime names its groups after
 * the container. Names are best effort; the id is what identifies.
 */
#ifndef GNOMON_TARGET_CONTAINER_H
#define GNOMON_TARGET_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum container_kind {
	CONTAINER_NONE = 0,
	CONTAINER_DOCKER,
	CONTAINER_CONTAINERD,
	CONTAINER_CRIO,
	CONTAINER_PODMAN,
	CONTAINER_LXC,
	CONTAINER_NSPAWN,
	CONTAINER_KUBERNETES, /* a pod's container, its runtime not told by the path */
	CONTAINER_OTHER,      /* namespaces of its own, but no path we know */
};

#define CONTAINER_ID_LEN    72 /* 64 hexadecimal digits, or a name */
#define CONTAINER_NAME_LEN  128
#define CONTAINER_GROUP_LEN 1024

struct container {
	enum container_kind kind;
	char id[CONTAINER_ID_LEN];     /* "" where there is none */
	char name[CONTAINER_NAME_LEN]; /* "" not known; for lxc and nspawn the same as the id */
	char pod[CONTAINER_ID_LEN];    /* uid of the Kubernetes pod, "" none */
	/*
	 * Its control group's path, which says whose the container is; "" where a user may have
	 * made the group: below his own service manager ("user@1000.service") he calls groups as he
	 * likes.
	 */
	char group[CONTAINER_GROUP_LEN];
};

/* Pure: from the text of /proc/PID/cgroup. The innermost container wins. True when in one. */
bool container_parse(const char *cgroup_text, size_t len, struct container *out);

/*
 * The container of a process, with its name where that is cheap. Falls back to CONTAINER_OTHER when
 * its PID namespace is not ours. 0 or a negative errno.
 */
int container_read(pid_t pid, struct container *out);

/* "docker", "podman", ...; "" for none. */
const char *container_kind_name(enum container_kind kind);

/* Writes what a table shows of a container: its name, else the first 12 characters of the id, else
 * "(own ns)". */
void container_label(const struct container *c, char *buf, size_t cap);

/* `what` is a name, a pod uid, an id or the beginning of one (at least 4 characters). */
bool container_match(const struct container *c, const char *what);

/* Pure helpers for the state that runtimes keep; true and the name when found. */
bool container_docker_name(const char *json, size_t len, char *name, size_t cap);

#endif
