/* SPDX-License-Identifier: Apache-2.0 */
#include "push/pods.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonread.h"

#define KEY_MOST    80	/* a container's id has 64 digits, a uid 36 characters */
#define TEXT_MOST   300 /* names in Kubernetes have 253 characters at most */
#define LABELS_KEPT 4	/* places for the labels of the options */

/* What all lines of one pod say. */
struct pod {
	struct buffer lines; /* "NAME=VALUE\n" */
};

/* ---- a table --------------------------------------------------------------------------------- */

static void line_add(struct pod *p, const char *name, const char *value)
{
	if (*value && !strchr(value, '\n'))
		buffer_printf(&p->lines, "%s=%s\n", name, value);
}

static void member_add(struct pod *p, struct json_value of, const char *key, const char *name)
{
	struct json_value v;
	char text[TEXT_MOST];

	if (json_member(of, key, &v) && json_copy(v, text, sizeof(text)))
		line_add(p, name, text);
}

/* The lines once more, each behind the key. */
static void lines_put(struct buffer *table, const struct pod *p, const char *key)
{
	const char *at = (const char *)p->lines.data, *end;

	if (!at || !*key || strpbrk(key, " \n"))
		return;
	end = at + p->lines.len;
	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		buffer_printf(table, "%s ", key);
		buffer_add(table, at, (size_t)(nl + 1 - at));
		at = nl + 1;
	}
}

/* ---- a pod ----------------------------------------------------------------------------------- */

/* "web-6d4cf56db6" is of the Deployment "web" where the pod's template has that hash. */
static bool deployment_of(struct json_value labels, char *set)
{
	struct json_value v;
	char hash[64];
	size_t n = strlen(set), h;

	if (!json_member(labels, "pod-template-hash", &v) || !json_copy(v, hash, sizeof(hash)))
		return false;
	h = strlen(hash);
	if (!h || n <= h + 1 || strcmp(set + n - h, hash) != 0 || set[n - h - 1] != '-')
		return false;
	set[n - h - 1] = '\0';
	return true;
}

static void owner_add(struct pod *p, struct json_value owner, struct json_value labels)
{
	static const char *const kinds[][2] = {
		{"StatefulSet", "k8s_statefulset_name"},
		{"DaemonSet", "k8s_daemonset_name"},
		{"Job", "k8s_job_name"},
	};
	struct json_value v;
	char kind[64], name[TEXT_MOST];

	if (!json_member(owner, "kind", &v) || !json_copy(v, kind, sizeof(kind)) ||
	    !json_member(owner, "name", &v) || !json_copy(v, name, sizeof(name)))
		return;
	if (!strcmp(kind, "ReplicaSet") && deployment_of(labels, name))
		line_add(p, "k8s_deployment_name", name);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i][0]))
			line_add(p, kinds[i][1], name);
}

static void wanted_add(struct pod *p, struct json_value labels, const char *const *wanted, size_t n)
{
	char name[TEXT_MOST];

	for (size_t i = 0; i < n && i < PODS_WANTED; i++) {
		snprintf(name, sizeof(name), "k8s_pod_label_%s", wanted[i]);
		member_add(p, labels, wanted[i], name);
	}
}

static void names_add_all(struct pod *p, struct json_value meta, struct json_value spec,
			  const char *const *wanted, size_t n)
{
	struct json_value labels = {0}, owners, owner;

	json_member(meta, "labels", &labels);
	member_add(p, meta, "namespace", "k8s_namespace_name");
	member_add(p, meta, "name", "k8s_pod_name");
	member_add(p, meta, "uid", "k8s_pod_uid");
	member_add(p, spec, "nodeName", "k8s_node_name");
	if (json_member(meta, "ownerReferences", &owners))
		while (json_next(&owners, NULL, &owner))
			owner_add(p, owner, labels);
	wanted_add(p, labels, wanted, n);
}

/* "containerd://0123..." */
static void container_put(struct buffer *table, struct pod *p, struct json_value status)
{
	size_t before = p->lines.len;
	struct json_value v;
	char id[TEXT_MOST], *key;

	if (!json_member(status, "containerID", &v) || !json_copy(v, id, sizeof(id)))
		return;
	key = strstr(id, "://");
	member_add(p, status, "name", "k8s_container_name");
	if (key && strlen(key + 3) < KEY_MOST)
		lines_put(table, p, key + 3);
	p->lines.len = before;
}

static void containers_put(struct buffer *table, struct pod *p, struct json_value pod)
{
	static const char *const lists[] = {"containerStatuses", "initContainerStatuses",
					    "ephemeralContainerStatuses"};
	struct json_value status, list, one;

	if (!json_member(pod, "status", &status))
		return;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (json_member(status, lists[i], &list))
			while (json_next(&list, NULL, &one))
				container_put(table, p, one);
}

/* A pod of a file on the node has one uid in its control group, and another in the API server. */
static void uids_put(struct buffer *table, struct pod *p, struct json_value meta)
{
	struct json_value notes, v;
	char key[KEY_MOST];

	if (json_member(meta, "uid", &v) && json_copy(v, key, sizeof(key)))
		lines_put(table, p, key);
	if (json_member(meta, "annotations", &notes) &&
	    json_member(notes, "kubernetes.io/config.mirror", &v) && json_copy(v, key, sizeof(key)))
		lines_put(table, p, key);
}

static int pod_put(struct buffer *table, struct json_value pod, const char *const *wanted, size_t n)
{
	struct json_value meta, spec = {0};
	struct pod p = {.lines = BUFFER_INIT};
	int rc;

	if (!json_member(pod, "metadata", &meta))
		return 0;
	json_member(pod, "spec", &spec);
	names_add_all(&p, meta, spec, wanted, n);
	uids_put(table, &p, meta);
	containers_put(table, &p, pod);
	rc = p.lines.failed || table->failed ? -ENOMEM : table->len > PODS_MOST ? -E2BIG : 0;
	buffer_free(&p.lines);
	return rc;
}

int pods_read(struct buffer *table, const void *json, size_t n, const char *const *wanted,
	      size_t nwanted)
{
	struct json_value all = {json, (const char *)json + n}, kind, items, pod;
	char text[32];
	int rc = 0;

	if (!n || !json_member(all, "kind", &kind) || !json_copy(kind, text, sizeof(text)) ||
	    (strcmp(text, "PodList") && strcmp(text, "List")) || !json_member(all, "items", &items))
		return -EBADMSG;
	while (!rc && json_next(&items, NULL, &pod))
		rc = pod_put(table, pod, wanted, nwanted);
	return rc;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static int line_set(struct labels *l, const char *line, size_t n)
{
	char text[2 * TEXT_MOST];
	char *value;
	int rc;

	if (n >= sizeof(text))
		return 0;
	memcpy(text, line, n);
	text[n] = '\0';
	value = strchr(text, '=');
	if (!value)
		return 0;
	*value++ = '\0';
	if (labels_room(l) <= LABELS_KEPT && !labels_get(l, text))
		return 0;
	rc = labels_set(l, text, value);
	return rc == -ENOMEM ? rc : 0;
}

/* False: the table has none of that key. */
static bool key_label(const struct buffer *table, const char *key, struct labels *l, int *rc)
{
	const char *at = (const char *)table->data, *end = at + table->len;
	size_t n = strlen(key);
	bool any = false;

	while (at < end && !*rc) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		if (!nl)
			break;
		if ((size_t)(nl - at) > n && at[n] == ' ' && !memcmp(at, key, n)) {
			*rc = line_set(l, at + n + 1, (size_t)(nl - at) - n - 1);
			any = true;
		}
		at = nl + 1;
	}
	return any;
}

int pods_label(const struct buffer *table, struct labels *l)
{
	const char *id = labels_get(l, "container_id"), *uid = labels_get(l, "k8s_pod_uid");
	char key[2][KEY_MOST] = {"", ""};
	int rc = 0;

	/* copies, since labels move as others come */
	snprintf(key[0], KEY_MOST, "%s", id ? id : "");
	snprintf(key[1], KEY_MOST, "%s", uid ? uid : "");
	for (int i = 0; i < 2; i++)
		if (key[i][0] && key_label(table, key[i], l, &rc))
			break;
	return rc;
}
