/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/innermap.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "capture/features.h"

/* from the kernel's include/linux/errno.h: it is not meant for user space but returned to it */
#define ENOTSUPP 524

/*
 * One call for all. -ENOTSUPP: this kernel cannot do that with this kind of map, and nothing was
 * done.
 */
static int batch_update(int map, const void *keys, const void *values, uint32_t n)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t count = n;

	return bpf_map_update_batch(map, keys, values, &count, &opts) ? -errno : 0;
}

/* A call for each. After each the kernel waits until no program can hold what was there before. */
static int single_updates(int map, const uint32_t *keys, const int *fds, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (bpf_map_update_elem(map, &keys[i], &fds[i], BPF_ANY))
			return -errno;
	return 0;
}

static int array_fill(int fd, const void *values, uint32_t n)
{
	uint32_t *keys = calloc(n ? n : 1, sizeof(*keys));
	int rc;

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		keys[i] = i;
	rc = batch_update(fd, keys, values, n);
	free(keys);
	return rc;
}

int innermap_array(const void *values, uint32_t value_size, uint32_t n, uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = flags);
	int fd, rc;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "gn_inner", sizeof(uint32_t), value_size, n, &opts);
	if (fd < 0)
		return -errno;
	rc = array_fill(fd, values, n);
	if (rc) {
		close(fd);
		return rc;
	}
	return fd;
}

int innermap_put(int outer, const uint32_t *keys, const int *fds, uint32_t n)
{
	int rc = -ENOTSUPP;

	if (!n)
		return 0;
	if (!feature_is_taken(FEATURE_INNER_BATCH))
		rc = batch_update(outer, keys, fds, n);
	return rc == -ENOTSUPP ? single_updates(outer, keys, fds, n) : rc;
}

int innermap_wait(struct innermap_waiting *w, uint32_t key, int fd)
{
	int rc = w->n < INNERMAP_WAITING_MAX ? 0 : innermap_flush(w);

	if (rc) {
		close(fd);
		return rc;
	}
	w->keys[w->n] = key;
	w->fds[w->n++] = fd;
	return 0;
}

void innermap_forget(struct innermap_waiting *w, uint32_t key)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		if (w->keys[i] == key) {
			close(w->fds[i]);
			continue;
		}
		w->keys[kept] = w->keys[i];
		w->fds[kept++] = w->fds[i];
	}
	w->n = kept;
}

int innermap_flush(struct innermap_waiting *w)
{
	int rc = innermap_put(w->outer, w->keys, w->fds, w->n);

	if (!rc)
		innermap_drop(w);
	return rc;
}

void innermap_drop(struct innermap_waiting *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		close(w->fds[i]);
	w->n = 0;
}
