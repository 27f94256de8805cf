// SPDX-License-Identifier: Apache-2.0
// FUZZ-LINK: user/push/pods.c user/push/labels.c user/base/jsonread.c user/base/buffer.c user/base/utf8.c
/* A list of pods as a kubelet, or somebody in its place, may answer: any bytes; the table made of
 * it never has more than lines. */
#include <stdlib.h>
#include <string.h>

#include "push/pods.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void labels_use(const struct buffer *table)
{
	struct labels l = {0};
	const char *end = memchr(table->data, ' ', table->len);
	char key[80] = "u";

	if (end && end - (const char *)table->data < (int)sizeof(key)) {
		memcpy(key, table->data, (size_t)(end - (const char *)table->data));
		key[end - (const char *)table->data] = '\0';
	}
	if (labels_set(&l, "k8s_pod_uid", key) || pods_label(table, &l))
		abort();
	labels_free(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const wanted[] = {"app", "tier"};
	struct buffer table = BUFFER_INIT;
	char *copy = malloc(size + 1); /* what is read behind its end is found */

	if (!copy)
		return 0;
	copy = realloc(copy, size ? size : 1);
	memcpy(copy, data, size);
	if (!pods_read(&table, copy, size, wanted, 2) && table.len) {
		if (table.data[table.len - 1] != '\n' || memchr(table.data, '\0', table.len))
			abort();
		labels_use(&table);
	}
	free(copy);
	buffer_free(&table);
	return 0;
}
