/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/jvm/agentstream.c user/jvm/agentindex.c user/base/buffer.c
// FUZZ-LINK: user/base/descriptor.c user/base/digest.c
/*
 * The agent's ring as a hostile target could leave it: the memory file has any header (of the right
 * kind after one byte that is even), any size, and changes between two reads. Reading is bounded by
 * the ring, and what comes of it goes where the collector takes it.
 *
 * Input: a byte of flags, the header's fields, then what the ring repeats.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jvm/agentindex.h"
#include "jvm/agentstream.h"

#define NONCE	 7
#define FILE_MAX (GNA_DATA + GNA_RING_MIN)
#define FIELDS	 offsetof(struct gna_header, slot)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct jproc self = {.dir = -1};
static int ring = -1;

/* One memory file for all runs: the descriptors of this process are what is searched. */
static void set_up(void)
{
	self.dir = open("/proc/self", O_PATH | O_DIRECTORY);
	ring = memfd_create(GNA_MEMFD, MFD_CLOEXEC);
	if (self.dir < 0 || ring < 0)
		abort();
}

static void header_make(struct gna_header *h, const uint8_t *fields, bool valid)
{
	memset(h, 0, sizeof(*h));
	memcpy(h, fields, FIELDS);
	memset(h->path, 'a', sizeof(h->path) - (h->seq & 1)); /* with an end, or without one */
	h->slot[h->pid % GNA_SLOTS] = (struct gna_slot){.nonce = NONCE, .rpos = h->dropped};
	if (!valid)
		return;
	h->magic = GNA_MAGIC;
	h->version = GNA_VERSION;
	h->data_offset = GNA_DATA;
	h->ring_size = GNA_RING_MIN;
}

/* Positions as a writer has them, or as the bytes have them. */
static void positions_make(struct gna_header *h, uint8_t flags)
{
	if (!(flags & 2))
		return;
	h->wpos = h->dropped + h->wpos % (GNA_RING_MIN + 64);
	h->reserve = h->wpos + h->reserve % 512;
}

static void write_at(off_t at, const void *p, size_t n)
{
	if (pwrite(ring, p, n, at) != (ssize_t)n)
		abort();
}

static void ring_fill(const uint8_t *data, size_t size)
{
	static uint8_t bytes[GNA_RING_MIN];

	for (size_t i = 0; size && i < sizeof(bytes); i++)
		bytes[i] = data[i % size];
	write_at(GNA_DATA, bytes, sizeof(bytes));
}

static void stream_use(struct agentstream *s, const uint8_t *later)
{
	struct agentindex *ix = agentindex_new(1 << 20);
	struct buffer b = BUFFER_INIT;

	if (strlen(s->path) >= GNA_PATH_MAX)
		abort();
	for (int i = 0; i < 3; i++) {
		int64_t n = agentstream_read(s, &b);

		if (n > (int64_t)s->ring_size || b.len > 3 * s->ring_size)
			abort();
		if (n > 0 && agentindex_feed(ix, b.data, b.len) > (int64_t)b.len)
			abort();
		agentstream_renew(s);
		/* what the target changes behind our back; at last it takes the file away */
		write_at(16, later + 16, FIELDS - 16);
		if (i == 1 && ftruncate(ring, later[0] * 300))
			abort();
	}
	agentstream_leave(s);
	agentindex_free(ix);
	buffer_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agentstream s;
	struct gna_header h;

	if (size < 1 + 2 * FIELDS)
		return 0;
	if (ring < 0)
		set_up();
	header_make(&h, data + 1, !(data[0] & 1));
	positions_make(&h, data[0]);
	if (ftruncate(ring, 0) || ftruncate(ring, data[0] & 4 ? GNA_DATA + data[1] : FILE_MAX))
		abort();
	write_at(0, &h, sizeof(h));
	if (!(data[0] & 4))
		ring_fill(data + 1 + 2 * FIELDS, size - 1 - 2 * FIELDS);
	if (!agentstream_open(&s, &self, data[0] & 8 ? 0 : NONCE)) {
		stream_use(&s, data + 1 + FIELDS);
		agentstream_close(&s);
	}
	return 0;
}
