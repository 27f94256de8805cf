/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Kubernetes calls the pods of this host: of a PodList, as the kubelet answers to GET /pods,
 * or a file has it, the labels that profiles of their processes get. These are known by the pod's
 * uid, or else by the container's id.
 *
 *	k8s_namespace_name, k8s_pod_name, k8s_pod_uid, k8s_node_name, k8s_container_name
 *	k8s_deployment_name, k8s_statefulset_name, k8s_daemonset_name, k8s_job_name
 *	k8s_pod_label_NAME	of the pod's labels that are wanted
 */
#ifndef GNOMON_PUSH_PODS_H
#define GNOMON_PUSH_PODS_H

#include "base/buffer.h"
#include "push/labels.h"

#define PODS_WANTED    8	  /* labels of a pod, beside its names */
#define PODS_MOST      (4u << 20) /* bytes of a table */
#define PODS_JSON_MOST (64u << 20)

/*
 * Appends the table: lines "KEY NAME=VALUE\n", where KEY is a uid or a container's id. 0; -EBADMSG:
 * it is no list of pods; -E2BIG, -ENOMEM.
 */
int pods_read(struct buffer *table, const void *json, size_t n, const char *const *wanted,
	      size_t nwanted);

/*
 * Sets what the table has of the pod and the container that the labels say, in place of what they
 * say of it. 0 or -ENOMEM.
 */
int pods_label(const struct buffer *table, struct labels *l);

#endif
