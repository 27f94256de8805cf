/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the session takes from a process that names once somebody else has it: any replies, and any
 * file, which is gone on with and closed. Texts are printable whatever comes, and behind what is
 * kept of the file there is a whole chunk of ours.
 */
// FUZZ-LINK: user/base/fdmsg.c user/naming/reply.c user/naming/opened.c user/model/totals.c
// FUZZ-LINK: user/jfr/write.c user/jfr/write_constants.c user/jfr/write_enc.c user/jfr/write_file.c user/jfr/finished.c
// FUZZ-LINK: user/jfr/write_meta.c user/jfr/write_names.c user/jfr/write_pool.c user/jfr/repair.c
// FUZZ-LINK: user/jfr/segment.c user/jfr/types.c user/jfr/vitals.c user/base/arena.c user/base/beat.c
// FUZZ-LINK: user/base/buffer.c user/base/descriptor.c user/base/digest.c user/base/error.c user/base/frame.c user/base/log.c user/base/thread.c user/base/utf8.c
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jfr/form.h"
#include "jfr/repair.h"
#include "naming/opened.h"
#include "naming/reply.h"

/* Terminated within its room, and nothing that a terminal would obey. */
static void text_check(const char *s, size_t cap)
{
	const char *end = memchr(s, '\0', cap);

	if (!end)
		abort();
	for (; s < end; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			abort();
}

static void reply_check(const struct reply *r)
{
	if (!r->kind || r->kind >= REPLY_KINDS || r->rc > 0 || r->error.rc > 0)
		abort();
	text_check(r->error.msg, sizeof(r->error.msg));
	text_check(r->error.hint, sizeof(r->error.hint));
	text_check(r->names, sizeof(r->names));
}

/* Each message is whole, but for what the input lacks; the last is as short as it is. */
static void replies(const uint8_t *data, size_t len)
{
	struct reply r = {0}, got;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return;
	while (len) {
		size_t n = len < sizeof(r) ? len : sizeof(r);
		bool cut = data[0] & 0x80;

		memcpy(&r, data, n);
		r.kind &= 0x7f;
		if (send(ends[1], &r, cut ? n : sizeof(r), MSG_DONTWAIT) < 0)
			break;
		data += n;
		len -= n;
	}
	close(ends[1]);
	while (reply_take(ends[0], &got) > 0)
		reply_check(&got);
	close(ends[0]);
}

static size_t read_fd(void *ctx, uint64_t at, void *buf, size_t n)
{
	ssize_t got = pread(*(int *)ctx, buf, n, (off_t)at);

	return got < 0 ? 0 : (size_t)got;
}

static void file(const uint8_t *data, size_t len)
{
	const struct opened_loss lost = {.cpu = 3, .wall = 1, .time_ns = 2000};
	const struct jfrw_form form = {0};
	struct jfr_chunk_check c;
	struct jfr_bytes s = {.read = read_fd};
	struct stat st;
	uint64_t end = 0;
	struct opened o = {.path = "fuzzed", .start_ns = 1000};
	int before;

	o.fd = memfd_create("fuzzed", 0);
	before = memfd_create("before", 0);
	if (o.fd < 0 || before < 0 || write(o.fd, data, len) != (ssize_t)len ||
	    write(before, data, len) != (ssize_t)len)
		abort();
	if (jfr_repair_last(before, &end) || end > len || fstat(before, &st) ||
	    (uint64_t)st.st_size != end)
		abort();
	if (opened_close(&o, &form, &lost, NULL))
		abort();
	s.ctx = &o.fd;
	if (fstat(o.fd, &st))
		abort();
	s.size = (uint64_t)st.st_size;
	jfr_chunk_check(&s, end, &c);
	if (c.health != JFR_CHUNK_GOOD || end + c.size != s.size)
		abort();
	close(o.fd);
	close(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	replies(data, len);
	file(data, len);
	return 0;
}
