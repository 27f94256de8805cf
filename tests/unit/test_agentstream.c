/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of an agent's ring against rings of every kind, in memfds of this very process. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "jvm/agentstream.h"

#define RING  GNA_RING_MIN
#define NONCE 0x1234567890abcdefULL

static struct jproc self;

static struct gna_header header(void)
{
	return (struct gna_header){
		.magic = GNA_MAGIC,
		.version = GNA_VERSION,
		.data_offset = GNA_DATA,
		.ring_size = RING,
		.state = GNA_ON,
		.slot[2] = {.nonce = NONCE},
		.path = "/tmp/.gnomon-agent-1-0.so",
	};
}

static void put(int fd, off_t at, const void *p, size_t n)
{
	assert_int_equal(pwrite(fd, p, n, at), n);
}

static int ring(const struct gna_header *h, off_t size)
{
	int fd = memfd_create(GNA_MEMFD, MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	put(fd, 0, h, sizeof(*h));
	return fd;
}

static int opened(struct gna_header h, off_t size, uint64_t nonce, struct agentstream *s)
{
	int fd = ring(&h, size), rc = agentstream_open(s, &self, nonce);

	close(fd);
	return rc;
}

static void positions(int fd, uint64_t wpos, uint64_t reserve)
{
	put(fd, offsetof(struct gna_header, wpos), &wpos, sizeof(wpos));
	put(fd, offsetof(struct gna_header, reserve), &reserve, sizeof(reserve));
}

static void is_read(void **state)
{
	struct gna_header h = header();
	struct buffer b = BUFFER_INIT;
	struct agentstream s;
	uint64_t lease;
	int fd = ring(&h, GNA_DATA + RING);

	assert_int_equal(agentstream_open(&s, &self, NONCE), 0);
	assert_string_equal(s.path, h.path);
	assert_int_equal(agentstream_read(&s, &b), 0);
	put(fd, GNA_DATA, "whatever", 8);
	positions(fd, 8, 4096);
	assert_int_equal(agentstream_read(&s, &b), 8);
	assert_memory_equal(b.data, "whatever", 8);
	/* across the ring's end */
	s.rpos = RING - 3;
	put(fd, GNA_DATA + RING - 3, "abc", 3);
	put(fd, GNA_DATA, "defgh", 5);
	positions(fd, RING + 5, RING + 5);
	buffer_clear(&b);
	assert_int_equal(agentstream_read(&s, &b), 8);
	assert_memory_equal(b.data, "abcdefgh", 8);
	assert_int_equal(agentstream_renew(&s), 0);
	assert_int_equal(pread(fd, &lease, sizeof(lease),
			       offsetof(struct gna_header, slot) + 2 * sizeof(struct gna_slot) +
				       offsetof(struct gna_slot, lease)),
			 sizeof(lease));
	assert_true(lease > now_ns());
	buffer_free(&b);
	agentstream_close(&s);
	close(fd);
}

/* What another version's agent, or no agent at all, has made is left alone. */
static void is_refused(void **state)
{
	off_t size = GNA_DATA + RING;
	struct agentstream s;
	struct gna_header h;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		h = header();                                                                      \
		h.change;                                                                          \
		assert_int_equal(opened(h, size, NONCE, &s), -ENOENT);                             \
	} while (0)
	REFUSED(magic++);
	REFUSED(version = GNA_VERSION + 1);
	REFUSED(version = 0);
	REFUSED(data_offset = 0);
	REFUSED(ring_size = 0);
	REFUSED(ring_size = RING + 1);
	REFUSED(ring_size = RING * 2); /* larger than the file */
	REFUSED(ring_size = UINT64_MAX);
	REFUSED(ring_size = 1ULL << 63);
	REFUSED(slot[2].nonce = NONCE + 1); /* another reader's */
	assert_int_equal(opened(header(), GNA_DATA, NONCE, &s), -ENOENT);
	assert_int_equal(opened(header(), size, 0, &s), 0); /* any reader's will do */
	assert_int_equal(s.slot, -1);
	agentstream_close(&s);
}

/* A new version's ring does not hide ours. */
static void is_found_among_others(void **state)
{
	struct gna_header h = header(), other = header();
	struct agentstream s;
	int before, ours, after;

	other.version = GNA_VERSION + 1;
	before = ring(&other, GNA_DATA + RING);
	ours = ring(&h, GNA_DATA + RING);
	after = ring(&other, GNA_DATA + RING);
	assert_int_equal(agentstream_open(&s, &self, NONCE), 0);
	agentstream_close(&s);
	close(before);
	close(ours);
	close(after);
}

static void path_is(const char *text, size_t n, const char *want)
{
	struct gna_header h = header();
	struct agentstream s;

	memset(h.path, 0, sizeof(h.path));
	memcpy(h.path, text, n);
	assert_int_equal(opened(h, GNA_DATA + RING, NONCE, &s), 0);
	assert_string_equal(s.path, want);
	agentstream_close(&s);
}

/* A path goes back into the options of an attach: one that is not plain is none. */
static void odd_paths(void **state)
{
	char endless[GNA_PATH_MAX];

	memset(endless, 'x', sizeof(endless));
	path_is("/tmp/a.so", 9, "/tmp/a.so");
	path_is("/tmp/a b", 8, "");
	path_is("/tmp/a,b", 8, "");
	path_is("/tmp/\033[m", 8, "");
	path_is(endless, sizeof(endless), "");
}

/* The writer is ahead by more than the ring, has claimed what was being read, or lies. */
static void is_overtaken(void **state)
{
	struct gna_header h = header();
	struct buffer b = BUFFER_INIT;
	struct agentstream s;
	int fd = ring(&h, GNA_DATA + RING);

	assert_int_equal(agentstream_open(&s, &self, NONCE), 0);
	positions(fd, RING + 1, RING + 1);
	assert_int_equal(agentstream_read(&s, &b), -EOVERFLOW);
	assert_int_equal(s.rpos, RING + 1);
	positions(fd, RING + 9, 2 * RING + 2);
	assert_int_equal(agentstream_read(&s, &b), -EOVERFLOW);
	positions(fd, 0, 0); /* backwards */
	assert_int_equal(agentstream_read(&s, &b), -EOVERFLOW);
	positions(fd, 64, 64);
	assert_int_equal(ftruncate(fd, GNA_DATA), 0); /* its file is cut under us */
	assert_int_equal(agentstream_read(&s, &b), -EBADMSG);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_true(agentstream_read(&s, &b) < 0);
	assert_int_equal(b.len, 0);
	buffer_free(&b);
	agentstream_close(&s);
	close(fd);
}

static int setup(void **state)
{
	return jproc_open(&self, getpid(), NULL);
}

static int teardown(void **state)
{
	jproc_close(&self);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_read),
		cmocka_unit_test(is_refused),
		cmocka_unit_test(is_found_among_others),
		cmocka_unit_test(odd_paths),
		cmocka_unit_test(is_overtaken),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
