// SPDX-License-Identifier: Apache-2.0
/*
 * usage: context_probe PID            what the process publishes, told once
 *        context_probe PID MARKS N    holds N readings of all its threads against what they say
 * themselves
 *
 * All threads are stopped by ptrace for each reading, so that a record and the marks are of one
 * moment.
 *
 * MARKS is a file that the target has mapped: entries of 32 bytes in host byte order, one for each
 * of its threads, virtual or not: {u64 tid, u64 state, u64 span id as a number, u64 number}. State
 * 0: outside of all scopes; 1: anything may be; 2: running inside of a scope with that span id and
 * that number as the lower half of its trace id; 3: as 2, or at rest. tid 0: a virtual thread,
 * which some thread runs.
 */
#include "context/place.h"
#include "context/process.h"
#include "context/record.h"
#include "target/maps.h"

#include <dirent.h>
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 4096

#ifdef __aarch64__
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

struct mark {
	uint64_t tid, state, span, number;
};

struct thread {
	pid_t tid;
	bool has; /* a context, which `record` is */
	struct ctx_record record;
};

static pid_t pid;
static int mem_fd;
static struct thread threads[THREADS_MAX];
static unsigned int nthreads;
static struct ctx_place places[CTX_PLACE_MAX];
static unsigned int nplaces;

static int target_read(void *arg, uint64_t addr, void *dst, size_t len)
{
	ssize_t n = pread(mem_fd, dst, len, (off_t)addr);

	return n == (ssize_t)len ? 0 : -EFAULT;
}

static const struct ctx_memory memory = {target_read, NULL};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t thread_pointer(pid_t tid)
{
#ifdef __aarch64__
	uint64_t tp = 0;
	struct iovec v = {&tp, sizeof(tp)};

	return ptrace(PTRACE_GETREGSET, tid, NT_ARM_TLS, &v) ? 0 : tp;
#else
	struct user_regs_struct regs;

	return ptrace(PTRACE_GETREGS, tid, 0, &regs) ? 0 : regs.fs_base;
#endif
}

/* Threads that begin meanwhile are not stopped, and not asked. */
static void threads_stop(void)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	nthreads = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		die(path);
	while ((e = readdir(dir))) {
		pid_t tid = atoi(e->d_name);

		if (tid > 0 && nthreads < THREADS_MAX && !ptrace(PTRACE_SEIZE, tid, 0, 0))
			threads[nthreads++].tid = tid;
	}
	closedir(dir);
	for (unsigned int i = 0; i < nthreads; i++)
		ptrace(PTRACE_INTERRUPT, threads[i].tid, 0, 0);
	for (unsigned int i = 0; i < nthreads; i++)
		waitpid(threads[i].tid, NULL, __WALL);
}

static void threads_go(void)
{
	for (unsigned int i = 0; i < nthreads; i++)
		ptrace(PTRACE_DETACH, threads[i].tid, 0, 0);
}

static void threads_read(void)
{
	for (unsigned int i = 0; i < nthreads; i++) {
		uint64_t tp = thread_pointer(threads[i].tid);

		threads[i].has = false;
		for (unsigned int k = 0; k < nplaces && !threads[i].has; k++)
			threads[i].has =
				tp && !ctx_record_read(&places[k], &memory, tp, &threads[i].record);
	}
}

/* ---- told once ---- */

static void text_print(struct ctx_text t)
{
	printf("%.*s", (int)t.len, t.p);
}

static void process_print(uint64_t addr)
{
	int rc;
	static struct ctx_process process;
	uint32_t version = 0;

	rc = addr ? ctx_process_read(&process, &memory, addr, &version) : -ENOENT;
	if (rc) {
		printf("process none %s version %u\n", strerror(-rc), version);
		return;
	}
	printf("process schema ");
	text_print(process.schema);
	printf(" keys");
	for (uint32_t i = 0; i < process.nkeys; i++) {
		printf(" ");
		text_print(process.keys[i]);
	}
	printf("\n");
	for (uint32_t i = 0; i < process.nresource; i++) {
		printf("resource ");
		text_print(process.resource[i].key);
		printf("=");
		text_print(process.resource[i].value);
		printf("\n");
	}
}

static void hex_print(const uint8_t *p, size_t n)
{
	while (n--)
		printf("%02x", *p++);
}

static void threads_print(void)
{
	for (unsigned int i = 0; i < nthreads; i++) {
		struct ctx_entry e;

		if (!threads[i].has)
			continue;
		printf("thread %d ", threads[i].tid);
		hex_print(threads[i].record.head.trace_id, 16);
		printf(" ");
		hex_print(threads[i].record.head.span_id, 8);
		for (uint32_t at = 0; ctx_record_next(&threads[i].record, &at, &e);)
			printf(" %u=%.*s", e.key, e.len, (const char *)e.value);
		printf("\n");
	}
}

static void tell(uint64_t process)
{
	process_print(process);
	for (unsigned int i = 0; i < nplaces; i++)
		printf("place %s module %llu offset %lld\n",
		       places[i].kind == CTX_PLACE_STATIC ? "static" : "dynamic",
		       (unsigned long long)places[i].module, (long long)places[i].offset);
	threads_stop();
	threads_read();
	threads_print();
	threads_go();
}

/* ---- against the marks ---- */

struct counts {
	unsigned long inside, outside,
		between;	       /* readings where a context must be, must not be, may be */
	unsigned long missing, others; /* of state 2 without its context; contexts that are wrong */
};

static uint64_t big_endian(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static bool is_marked(const struct ctx_record *r, const struct mark *m)
{
	return m->state && big_endian(r->head.trace_id + 8) == m->number &&
	       (m->state == 1 || big_endian(r->head.span_id) == m->span);
}

static const struct thread *thread_of(uint64_t tid)
{
	for (unsigned int i = 0; i < nthreads; i++)
		if ((uint64_t)threads[i].tid == tid)
			return &threads[i];
	return NULL;
}

/* How many threads have the context of this mark. */
static unsigned int holders(const struct mark *m)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nthreads; i++)
		n += threads[i].has && is_marked(&threads[i].record, m);
	return n;
}

static void virtual_count(const struct mark *m, struct counts *c)
{
	unsigned int n = holders(m);

	c->inside += m->state == 2;
	c->outside += m->state == 0;
	c->between += m->state == 1 || m->state == 3;
	c->missing += m->state == 2 && !n;
	c->others += n > 1;
}

static void platform_count(const struct mark *m, struct counts *c)
{
	const struct thread *t = thread_of(m->tid);

	if (!t)
		return;
	c->inside += m->state > 1;
	c->outside += m->state == 0;
	c->between += m->state == 1;
	c->missing += m->state > 1 && !t->has;
	c->others += t->has && !is_marked(&t->record, m);
}

/* A thread without a mark of its own runs one of those that are virtual, or has no context. */
static void strangers_count(const struct mark *m, size_t n, struct counts *c)
{
	for (unsigned int i = 0; i < nthreads; i++) {
		bool known = !threads[i].has;

		for (size_t k = 0; k < n && !known; k++)
			known = m[k].tid ? m[k].tid == (uint64_t)threads[i].tid
					 : is_marked(&threads[i].record, &m[k]);
		c->others += !known;
	}
}

static int hold(const char *path, unsigned int readings)
{
	struct timespec pause = {.tv_nsec = 1000000};
	struct counts c = {0};
	struct mark *m;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		die(path);
	m = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (m == MAP_FAILED)
		die(path);
	for (unsigned int i = 0; i < readings; i++) {
		size_t n = (size_t)st.st_size / sizeof(*m);

		threads_stop();
		threads_read();
		for (size_t k = 0; k < n; k++)
			if (m[k].number)
				(m[k].tid ? platform_count : virtual_count)(&m[k], &c);
		strangers_count(m, n, &c);
		threads_go();
		pause.tv_nsec = 1000000 + (i * 7919 % 1000) * 1000;
		nanosleep(&pause, NULL);
	}
	printf("inside %lu outside %lu between %lu missing %lu others %lu\n", c.inside, c.outside,
	       c.between, c.missing, c.others);
	return c.missing || c.others;
}

int main(int argc, char **argv)
{
	struct maps *maps = maps_new();
	unsigned int omitted;
	char path[64];
	int proc_fd;

	if (argc != 2 && argc != 4)
		return 2;
	pid = atoi(argv[1]);
	snprintf(path, sizeof(path), "/proc/%d", pid);
	proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!maps || proc_fd < 0 || mem_fd < 0 || maps_read(maps, proc_fd))
		die(path);
	nplaces = ctx_places_find(maps, &memory, MACHINE, places, &omitted);
	if (argc == 4)
		return hold(argv[2], (unsigned int)atoi(argv[3]));
	tell(ctx_process_find(maps));
	return 0;
}
