/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: hotspot_stacks PID [DIRECTORY [THREAD N]]
 *
 * The Java frames of every thread of a JVM at rest, walked by kern/hotspot.h in user space and
 * named from the JVM's memory; the JVM is not stopped. Registers come from /proc/PID/task/TID/
 * syscall, which has sp and pc of a thread inside a system call. Prints, for hotspot_stacks.sh to
 * compare with what the JVM itself says:
 *
 *	thread TID END NAME
 *	class.method:line type
 *
 * With a directory native code is walked by its tables, too, and each thread's walk is saved there
 *as TID.stack, for tests/unit/test_saved.c.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "jvm/codecache.h"
#include "jvm/method.h"
#include "jvm/threads.h"
#include "jvm/vmstructs.h"

#include "kern/hotspot.h"
#include "kern/unwind_walk.h"

#include "stack_save.h"
#include "uwmem.h"

static struct {
	struct vm *vm;
	struct mem *mem;
	struct gn_jvm jvm;
	struct uw_proc proc;
	struct uw_env env;
	struct uw_state state;
	pid_t pid;
	struct uwmem *native; /* when saving */
	const char *dir;
	const char *running; /* the thread's name */
	int samples;
} t;

static int env_read(void *ctx, __u64 addr, void *dst, __u32 len)
{
	int rc = mem_read_now(t.mem, addr, dst, len);

	if (t.dir && !rc)
		save_read(addr, dst, len);
	return rc;
}

static const struct uw_page *env_page(void *ctx, __u32 file, __u32 page)
{
	return t.native ? uwmem_get_page(t.native, file, page) : NULL;
}

static const struct uw_rule *env_rule(void *ctx, __u32 rule)
{
	const struct uw_rule *r = t.native ? uwmem_get_rule(t.native, rule) : NULL;

	if (r)
		save_rule(&t.state, r);
	return r;
}

static int heap_order(const void *a, const void *b)
{
	const struct gn_code_heap *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

static void make_tables(void)
{
	struct gn_code_heap heap[GN_JVM_HEAPS];

	memcpy(heap, t.jvm.heap, sizeof(heap));
	qsort(heap, t.jvm.nheaps, sizeof(heap[0]), heap_order);
	for (__u32 i = 0; i < UW_MAX_MAPS; i++)
		t.proc.start[i] = UW_NO_START;
	t.proc.tgid = (__u32)t.pid;
	t.proc.n = t.jvm.nheaps;
	for (__u32 i = 0; i < t.jvm.nheaps; i++) {
		t.proc.start[i] = heap[i].low;
		t.proc.map[i].end = heap[i].high;
		t.proc.map[i].kind = UW_MAP_HOTSPOT;
	}
	t.env = (struct uw_env){.read = env_read,
				.proc = &t.proc,
				.jvm = &t.jvm,
				.page = env_page,
				.rule = env_rule};
}

struct proc_entry {
	__u64 start;
	struct uw_mapping map;
};

static int entry_order(const void *a, const void *b)
{
	const struct proc_entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Native code beside the heaps, which the process has mapped as well. */
static int make_native(void)
{
	static struct proc_entry v[UW_MAX_MAPS];
	const struct uw_proc *p;
	__u32 n = 0;

	t.native = uwmem_new(t.pid);
	if (uwmem_load(t.native))
		return -1;
	p = &t.native->proc;
	for (__u32 i = 0; i < t.proc.n; i++)
		v[n++] = (struct proc_entry){t.proc.start[i], t.proc.map[i]};
	for (__u32 i = 0; i < p->n && n < UW_MAX_MAPS; i++)
		if (p->start[i] < t.jvm.low || p->start[i] >= t.jvm.high)
			v[n++] = (struct proc_entry){p->start[i], p->map[i]};
	qsort(v, n, sizeof(v[0]), entry_order);
	t.proc.n = n;
	for (__u32 i = 0; i < n; i++) {
		t.proc.start[i] = v[i].start;
		t.proc.map[i] = v[i].map;
	}
	return 0;
}

static int syscall_line(pid_t tid, char *line, int size)
{
	char path[64];
	FILE *f;
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)t.pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	rc = fgets(line, size, f) ? 0 : -1;
	fclose(f);
	return rc;
}

/*
 * sp and pc of a thread in a system call: the last two numbers of /proc/PID/task/TID/syscall. One
 * that has yet to go to rest may wait for a CPU.
 */
static int thread_registers(pid_t tid, unsigned long *sp, unsigned long *pc)
{
	char line[512] = "", *last, *before;

	for (int i = 0; i < 50; i++) {
		if (syscall_line(tid, line, sizeof(line)))
			return -1;
		if (strncmp(line, "running", 7))
			break;
		usleep(10000);
	}
	last = strrchr(line, ' ');
	if (!last)
		return -1;
	*pc = strtoul(last + 1, NULL, 16);
	*last = 0;
	before = strrchr(line, ' ');
	*sp = before ? strtoul(before + 1, NULL, 16) : 0;
	return *sp && *pc ? 0 : -1;
}

static const char *type_name(uint8_t type)
{
	static const char *const names[] = {[FRAME_INTERPRETED] = "interpreted",
					    [FRAME_JIT] = "jit",
					    [FRAME_INLINED] = "inlined",
					    [FRAME_C1] = "c1"};

	return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "other";
}

static void print_frame(FILE *out, const struct gn_frame *f)
{
	struct frame_name name[VM_INLINE_MAX];
	int n;

	vm_at(t.vm, now_ns());
	n = vm_name(t.vm, f, name, VM_INLINE_MAX);

	for (int i = 0; i < n; i++) {
		bool java = gn_frame_kind(f) != GN_FRAME_STUB;

		if (java)
			fprintf(out, "%s.%s:%d %s\n", name[i].klass, name[i].method, name[i].line,
				type_name(name[i].type));
		else
			fprintf(out, "# %s%s\n", name[i].method,
				gn_frame_flags(f) & GN_FF_GUESSED ? " guessed" : "");
	}
}

static void print_frames(FILE *out, const struct uw_state *s)
{
	for (__u32 i = 0; i < s->n; i++)
		if (gn_frame_kind(&s->frames[i]) >= GN_FRAME_INTERP)
			print_frame(out, &s->frames[i]);
}

static int save_thread(int number, const struct uw_state *s)
{
	char path[4096], *names = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&names, &len);
	int rc;

	print_frames(mem, s);
	fclose(mem);
	snprintf(path, sizeof(path), "%s/%d.stack", t.dir, number);
	rc = save_write(path, s, &t.env, names);
	free(names);
	return rc;
}

/* From the registers in t.state. */
static int walk_thread(const struct java_thread *jt, int number)
{
	static const char *const ends[GN_END_MAX] = {"none",   "complete", "depth", "badaddr",
						     "norule", "cont",	   "fp"};
	struct uw_state *s = &t.state;

	s->hs[HS_THREAD] = jt->thread;
	save_begin(s);
	memset(s->cache, 0, sizeof(s->cache)); /* what was found before would not be noted */
	uw_walk(s, &t.env);
	printf("thread %d %s %s\n", number, ends[s->end], jt->name);
	if (t.running) {
		uint8_t code[3] = {0};

		mem_read_now(t.mem, save.regs.reg[UW_RIP], code, sizeof(code));
		printf("# code %02x%02x%02x\n", code[0], code[1], code[2]);
	}
	print_frames(stdout, s);
	return t.dir ? save_thread(number, s) : 0;
}

static int print_thread(void *arg, uint64_t thread, pid_t tid)
{
	struct uw_state *s = &t.state;
	struct java_thread jt;
	unsigned long sp, pc;

	if (vm_thread_read(t.vm, thread, tid, now_ns(), &jt) || thread_registers(tid, &sp, &pc))
		return 0;
	uw_begin(s, (__u32)t.pid, GN_MAX_FRAMES);
	s->pc = pc;
	s->sp = sp;
	s->fp = 1; /* unknown, and not the end of a chain of frame pointers */
	s->flags = GN_FF_RETADDR;
	return walk_thread(&jt, (int)tid);
}

static void registers_take(struct uw_state *s, const struct user_regs_struct *r)
{
	const unsigned long long v[UW_NREG + 1] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
						   r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
						   r->r12, r->r13, r->r14, r->r15, r->rip};

	for (int i = 0; i <= UW_NREG; i++)
		s->reg[i] = v[i];
	s->pc = r->rip;
	s->sp = r->rsp;
	s->fp = r->rbp;
	s->leaf = 1;
	s->flags = (long)r->orig_rax >= 0 ? GN_FF_RETADDR : 0;
}

static int sample_thread(void *arg, uint64_t thread, pid_t tid)
{
	struct user_regs_struct r;
	struct java_thread jt;
	int rc = 0;

	if (vm_thread_read(t.vm, thread, tid, now_ns(), &jt) || strcmp(jt.name, t.running))
		return 0;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return -1;
	for (int i = 0; i < t.samples && !rc; i++) {
		usleep(500 + i % 7 * 100);
		if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ||
		    waitpid(tid, NULL, __WALL) != tid || ptrace(PTRACE_GETREGS, tid, NULL, &r))
			return -1;
		uw_begin(&t.state, (__u32)t.pid, GN_MAX_FRAMES);
		registers_take(&t.state, &r);
		rc = walk_thread(&jt, i);
		ptrace(PTRACE_CONT, tid, NULL, NULL);
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct error e = {0};
	int rc;

	t.pid = argc == 2 || argc == 3 || argc == 5 ? atoi(argv[1]) : 0;
	t.dir = argc >= 3 ? argv[2] : NULL;
	t.running = argc == 5 ? argv[3] : NULL;
	t.samples = argc == 5 ? atoi(argv[4]) : 0;
	if (t.pid <= 0 || vm_open(t.pid, &t.vm, &e)) {
		fprintf(stderr, "hotspot_stacks: %s\n",
			t.pid > 0 ? e.msg : "usage: PID [DIRECTORY [THREAD N]]");
		return 1;
	}
	t.mem = mem_open(t.pid);
	if (!t.mem || codecache_fill(t.vm, &t.jvm)) {
		fprintf(stderr, "hotspot_stacks: no code cache\n");
		return 1;
	}
	codecache_refresh(t.vm, &t.jvm);
	make_tables();
	if (t.dir && make_native()) {
		fprintf(stderr, "hotspot_stacks: no native code\n");
		return 1;
	}
	rc = vm_threads(t.vm, t.running ? sample_thread : print_thread, NULL);
	mem_close(t.mem);
	vm_close(t.vm);
	return rc ? 1 : 0;
}
