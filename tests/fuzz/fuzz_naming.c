/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole namer, from its queue to its file: any records of a process, in any order, with what the
 * process has a hand in (frames, names, paths, locks, contexts, what threads do) as it likes. What
 * the kernel side vouches for holds: sizes, lengths, terminators, ranges of its own numbers. The
 * file is a whole one, and has no more samples than there were.
 */
// FUZZ-LINK: user/base/*.c user/broker/*.c user/context/*.c user/jfr/*.c user/jvm/*.c user/jvm/agentblob.S user/model/*.c
// FUZZ-LINK: user/naming/*.c user/sym/*.c user/target/*.c user/wire/*.c
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "jfr/read.h"
#include "kern/abi_context.h"
#include "naming/namer.h"
#include "naming/queue.h"
#include "naming/records.h"
#include "naming/reply.h"
#include "sym/ksyms.h"

#define QUEUE_BYTES (1u << 20)
#define FRAMES_MOST 40
#define TICKS_MOST  64 /* of one record: each may be an event */
#define THREADS	    8  /* that records are of; more than there are */
#define STACKS	    16 /* ids of stacks, causes, contexts and virtual threads */
#define MS	    1000000ull

struct input {
	const uint8_t *at, *end;
};

static uint8_t byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

/* What is not there is 0. */
static void bytes(struct input *in, void *to, size_t n)
{
	size_t have = (size_t)(in->end - in->at);

	memset(to, 0, n);
	memcpy(to, in->at, n < have ? n : have);
	in->at += n < have ? n : have;
}

static uint64_t begun_ns, pushed; /* samples and ticks */

static struct gn_rec head(struct input *in, uint16_t type, size_t size)
{
	return (struct gn_rec){
		.type = type,
		.size = (__u32)size,
		.tgid = (__u32)getpid(),
		.tid = (__u32)getpid() + byte(in) % THREADS,
		.time = begun_ns + byte(in) * MS,
	};
}

static void sample_push(struct input *in, struct queue *q)
{
	struct gn_sample s = {
		.h = head(in, GN_REC_SAMPLE, sizeof(s)),
		.stack = byte(in) % STACKS,
		.n = 1 + byte(in) % TICKS_MOST,
		.clock = (__u8)(GN_CLOCK_THREAD + byte(in) % 3),
		.level = byte(in) % 4,
		.span = byte(in) * MS,
		.vthread = byte(in) % STACKS,
		.cause = byte(in) % STACKS,
		.context = byte(in) % STACKS,
	};
	if (s.clock == GN_CLOCK_WALL)
		s.state = (__u8)(GN_ST_SLEEP + byte(in) % (GN_ST_MAX - GN_ST_SLEEP));
	if (queue_push(q, &s.h))
		pushed += s.n;
}

static void stack_push(struct input *in, struct queue *q)
{
	struct {
		struct gn_stack s;
		struct gn_frame frames[FRAMES_MOST];
	} r;
	uint32_t n = byte(in) % (FRAMES_MOST + 1);
	uint32_t nkernel = n ? byte(in) % (n + 1) : 0;

	r.s = (struct gn_stack){
		.h = head(in, GN_REC_STACK, sizeof(r.s) + n * sizeof(*r.frames)),
		.id = byte(in) % STACKS,
		.nkernel = (__u16)nkernel,
		.nuser = (__u16)(n - nkernel),
		.end = byte(in) % GN_END_MAX,
		.way = byte(in) % (GN_WAY_WAKE + 1),
	};
	bytes(in, r.frames, n * sizeof(*r.frames));
	queue_push(q, &r.s.h);
}

static void task_push(struct input *in, struct queue *q)
{
	struct gn_task_rec r = {
		.h = head(in, (uint16_t)(GN_REC_FORK + byte(in) % 4), sizeof(r)),
		.cpu_ns = byte(in) * MS,
	};

	bytes(in, r.comm, sizeof(r.comm) - 1);
	queue_push(q, &r.h);
}

static void vthread_push(struct input *in, struct queue *q)
{
	struct gn_vthread_rec r = {
		.h = head(in, GN_REC_VTHREAD, sizeof(r)),
		.id = byte(in) % STACKS,
		.wide = byte(in) & 1,
	};

	bytes(in, &r.len, sizeof(r.len));
	bytes(in, r.name, sizeof(r.name));
	queue_push(q, &r.h);
}

static void cause_push(struct input *in, struct queue *q)
{
	struct gn_cause_rec r = {
		.h = head(in, GN_REC_CAUSE, sizeof(r)),
		.id = byte(in) % STACKS,
		.whole = byte(in) & 1,
	};

	bytes(in, &r.of, sizeof(r.of));
	r.of.kind %= GN_CAUSE_KINDS;
	r.of.op %= GN_OP_MAX;
	bytes(in, r.fs, sizeof(r.fs) - 1);
	r.len = byte(in) * 3u % (sizeof(r.path) + 1);
	bytes(in, r.path, r.len);
	if (r.len)
		r.path[r.len - 1] = '\0';
	queue_push(q, &r.h);
}

static void context_push(struct input *in, struct queue *q)
{
	struct gn_context_rec r = {.id = 0};
	uint32_t len = byte(in) * 3u % (sizeof(r.of.attrs) + 1);

	bytes(in, &r.of.head, sizeof(r.of.head));
	r.of.format = byte(in) % CTX_FORMATS;
	r.of.attrs_len = (__u16)len;
	bytes(in, r.of.attrs, len);
	r.id = byte(in) % STACKS;
	r.h = head(in, GN_REC_CONTEXT, gn_context_size(len));
	queue_push(q, &r.h);
}

static void owner_push(struct input *in, struct queue *q)
{
	struct gn_owner_rec r = {
		.h = head(in, GN_REC_OWNER, sizeof(r)),
		.cause = byte(in) % STACKS,
		.tick = begun_ns + byte(in) * MS,
		.kind = byte(in) % GN_OWNER_KINDS,
	};

	bytes(in, &r.owner, sizeof(r.owner));
	queue_push(q, &r.h);
}

static void loss_push(struct input *in, struct queue *q)
{
	struct rec_loss r = {.h = head(in, REC_LOSS, sizeof(r)), .count = byte(in)};

	bytes(in, &r.reason, sizeof(r.reason));
	queue_push(q, &r.h);
}

static void records_push(struct input *in, struct queue *q)
{
	static void (*const push[])(struct input *, struct queue *) = {
		sample_push, stack_push,   task_push,  vthread_push,
		cause_push,  context_push, owner_push, loss_push,
	};

	while (in->at < in->end)
		push[byte(in) % (sizeof(push) / sizeof(*push))](in, q);
}

static void ignored(void *ctx)
{
}

static void ignored_of(void *ctx, pid_t tgid)
{
}

static struct target_config config(struct input *in)
{
	uint8_t bits = byte(in);

	return (struct target_config){
		.cpu_ns = 10 * MS,
		.wall_ns = 20 * MS,
		.start_ns = begun_ns,
		.jvm = RESOLVE_NONE,
		.one_by_one = bits & 1,
		.waits = bits & 2,
		.causes = bits & 4,
		.form =
			{
				.cpu_event = bits & 8 ? JFRW_CPUTIME : JFRW_EXECUTION,
				.plain = bits & 16,
				.vitals = bits & 2,
				.chunk_max_bytes = bits & 32 ? 65536 : 0,
				.file_max_bytes = bits & 64 ? 100000 : 0,
			},
		.on_epoch = ignored,
		.on_tables = ignored,
		.on_chunk_end = ignored_of,
	};
}

/* What is in it can be read, all of it. */
static void file_check(int fd)
{
	struct error e = {0};
	struct jfr_event ev;
	struct jfr_reader *r;
	struct stat st;
	void *file;
	int rc;

	if (fstat(fd, &st) || !st.st_size)
		abort();
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		abort();
	if (jfr_reader_open_memory(&r, file, (size_t)st.st_size, NULL, &e))
		abort();
	while ((rc = jfr_reader_next(r, &ev)) > 0)
		;
	if (rc || jfr_reader_report(r)->problems || jfr_reader_report(r)->events_unknown)
		abort();
	jfr_reader_close(r);
	munmap(file, (size_t)st.st_size);
}

/* The namer's to its end, when it has closed the file. */
static void names(struct namer *n, struct board *board, int file)
{
	struct target_file f = {
		.path = "fuzz.jfr",
		.fd = fcntl(file, F_DUPFD_CLOEXEC, 0),
		.untried = true, /* the process is this one */
	};
	struct error e = {0};

	if (namer_target(n, getpid(), 1, &f, &e))
		return;
	namer_start(n, begun_ns);
	board->stop_ns = begun_ns + 255 * MS;
	namer_main(n);
	if (board->totals.cpu_samples + board->totals.wall_samples > pushed)
		abort();
	file_check(file);
}

/* A few symbols of a kernel: this one's take longer to read than all the rest. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char symbols[] = "ffffffff81000000 T _text\n"
				      "ffffffff81000100 T do_syscall_64\n"
				      "ffffffff81000200 T futex_wait\n"
				      "ffffffffc0000000 t bpf_prog_0123456789abcdef_some [bpf]\n";
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	if (write(fd, symbols, sizeof(symbols) - 1) != sizeof(symbols) - 1)
		abort();
	ksyms_from(fd);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = {data, data + len};
	struct queue *q = queue_new(QUEUE_BYTES);
	struct board *board = board_new();
	struct error e = {0};
	struct namer_config cfg;
	struct namer *n;
	int ends[2], file = memfd_create("fuzz", MFD_CLOEXEC);

	if (!q || !board || file < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		abort();
	begun_ns = now_ns() - 256 * MS;
	pushed = 0;
	cfg = (struct namer_config){
		.target = config(&in),
		.queue = q,
		.board = board,
		.replies = ends[0],
		.gifts = -1,
	};
	records_push(&in, q);
	queue_end(q);
	if (!namer_new(&n, &cfg, &e)) {
		names(n, board, file);
		namer_free(n, true);
	}
	close(file);
	close(ends[0]);
	close(ends[1]);
	queue_free(q);
	board_free(board);
	return 0;
}
