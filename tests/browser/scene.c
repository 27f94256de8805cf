/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording in which there is one of everything that the page shows, in known numbers:
 *
 *	build/tests/browser/scene scene.jfr
 *
 * 10 s; CPU samples every 10 ms, wall samples every 20 ms. page.mjs holds the page against this.
 *
 *	main           on a CPU all the time: 60 layers of a framework below app.Work.hot (7 s) and
 *	               app.Work.write (3 s), half of it in native code and the kernel
 *	worker-1, -2   pool's workers, blocked in app.Stock.take all the time
 *	worker-3 .. 6  each second half of it there, half of it in a read (IO)
 *	idle-1 .. 3    wait for work, by their frames
 *	vt-0 .. 39     virtual threads, each parked for 200 ms, one after the other
 *	GC Thread#0, 1 native; on a CPU for 2 s each
 *	starved        waits for a CPU from 4 s to 6 s, then runs for 1 s
 *	<img ...>      a hostile name, with a hostile method on its stack
 *
 * Its vitals: the JVM uses 25% of the CPUs and the machine 50%, from 4 s to 6 s all; 24 Java
 *threads, 30 from 6 s on; a container that is stopped for half of the time from 4 s to 6 s.
 *Collections at 2.505 s and 7.505 s, of 100 ms each, and a full one at 5.005 s of 200 ms. And five
 *more of which only the number is known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jfr/vitals.h"
#include "jfrmade.h"

#define S     (1000 * MS)
#define DEPTH 100

static struct jfrw *w;

static uint32_t thread(const char *name, uint64_t id, bool java, bool is_virtual)
{
	return jfrw_thread(w, &(struct jfrw_thread){.os_name = name,
						    .os_tid = is_virtual ? 0 : id,
						    .java_name = java ? name : NULL,
						    .java_tid = java ? id : 0,
						    .is_virtual = is_virtual});
}

static enum frame_type type_of(char c)
{
	return c == 'K'	  ? FRAME_KERNEL
	       : c == 'N' ? FRAME_NATIVE
	       : c == 'I' ? FRAME_INTERPRETED
			  : FRAME_JIT;
}

/* Frames leaf first, one a line: "J app.Main.main", with K, N or I for kernel, native, interpreted.
 */
static uint32_t stack(const char *text)
{
	static char copy[16384];
	struct frame_name f[DEPTH] = {0};
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *s = strtok(copy, "\n"); s && n < DEPTH; s = strtok(NULL, "\n")) {
		char *dot = strrchr(s, '.');

		*dot = 0;
		f[n++] = (struct frame_name){.klass = s + 2,
					     .method = dot + 1,
					     .sig = "()V",
					     .line = -1,
					     .bci = -1,
					     .type = type_of(*s)};
	}
	return jfrw_stack(w, f, n, false);
}

/* `top`, and below it main's 60 layers. */
static uint32_t deep(const char *top)
{
	static char text[16384];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s\n", top);

	for (int i = 59; i >= 0; i--)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "J framework.Layer%02d.call\n",
				      i);
	snprintf(text + n, sizeof(text) - n,
		 "I app.Main.main\nN libjvm.so.JavaCalls\nN libjli.so.JavaMain\nN "
		 "libc.so.6.start_thread");
	return stack(text);
}

static void runs(uint32_t t, uint32_t s, uint64_t from, uint64_t to)
{
	for (uint64_t at = from + 10 * MS; at <= to; at += 10 * MS)
		jfrw_cpu_sample(w, START + at - 1, t, s);
}

static void waits(uint32_t t, uint32_t s, enum jfr_state state, uint64_t from, uint64_t to)
{
	jfrw_wall_sample(w, START + from + 10 * MS, t, s, state,
			 (uint32_t)((to - from) / (20 * MS)), to - from);
}

#define WORKER                                                                                     \
	"J java.util.concurrent.ThreadPoolExecutor.runWorker\n"                                    \
	"J java.util.concurrent.ThreadPoolExecutor$Worker.run\nJ java.lang.Thread.run\n"           \
	"N libjvm.so.JavaThread\nN libc.so.6.start_thread"

static void main_write(void)
{
	uint32_t t = thread("main", 100, true, false), hot = deep("J app.Work.hot");
	uint32_t java = deep("J app.Work.write"),
		 native = deep("N libc.so.6.write\nJ app.Work.write"),
		 kernel = deep("K (kernel).vfs_write\nN libc.so.6.write\nJ app.Work.write");

	runs(t, hot, 0, 7 * S);
	runs(t, java, 7 * S, 8500 * MS);
	runs(t, native, 8500 * MS, 9 * S);
	runs(t, kernel, 9 * S, 10 * S);
}

static void workers_write(void)
{
	uint32_t blocked = stack("K (kernel).futex_wait\nN libjvm.so.ObjectMonitor_enter\n"
				 "J app.Stock.take\nJ app.Task.run\n" WORKER);
	uint32_t reads = stack("K (kernel).vfs_read\nN libc.so.6.read\nJ app.Database.read\n"
			       "J app.Task.run\n" WORKER);
	char name[32];

	for (uint64_t i = 1; i <= 6; i++) {
		uint32_t t;

		snprintf(name, sizeof(name), "worker-%d", (int)i);
		t = thread(name, 200 + i, true, false);
		if (i <= 2)
			waits(t, blocked, JFR_STATE_BLOCKED, 0, 10 * S);
		for (uint64_t s = 0; s < 10 && i > 2; s++) {
			waits(t, blocked, JFR_STATE_BLOCKED, s * S, s * S + 500 * MS);
			waits(t, reads, JFR_STATE_IO, s * S + 500 * MS, (s + 1) * S);
		}
	}
}

static void idle_write(void)
{
	uint32_t s = stack("J jdk.internal.misc.Unsafe.park\n"
			   "J java.util.concurrent.locks.LockSupport.park\n"
			   "J java.util.concurrent.LinkedBlockingQueue.take\n"
			   "J java.util.concurrent.ThreadPoolExecutor.getTask\n" WORKER);
	char name[32];

	for (uint64_t i = 1; i <= 3; i++) {
		snprintf(name, sizeof(name), "idle-%d", (int)i);
		waits(thread(name, 300 + i, true, false), s, JFR_STATE_PARKED, 0, 10 * S);
	}
}

static void virtual_write(void)
{
	uint32_t s = stack("J java.lang.VirtualThread.park\nJ app.Client.call\n"
			   "J java.lang.VirtualThread.run\nN (gnomon).[callers in the Java heap]");
	char name[32];

	for (uint64_t i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "vt-%d", (int)i);
		waits(thread(name, 400 + i, true, true), s, JFR_STATE_PARKED, i * 200 * MS,
		      (i + 1) * 200 * MS);
	}
}

static void collectors_write(void)
{
	uint32_t s = stack("N libjvm.so.G1ParScanThreadState\nN libjvm.so.WorkerThread\n"
			   "N (gnomon).[caller guessed]\nN libc.so.6.start_thread");

	runs(thread("GC Thread#0", 500, false, false), s, 1 * S, 3 * S);
	runs(thread("GC Thread#1", 501, false, false), s, 1 * S, 3 * S);
}

static void starved_write(void)
{
	uint32_t t = thread("starved", 600, true, false);
	uint32_t s = stack("J app.Report.make\nJ java.lang.Thread.run");

	waits(t, s, JFR_STATE_QUEUED, 4 * S, 6 * S);
	runs(t, s, 6 * S, 7 * S);
}

static void hostile_write(void)
{
	uint32_t s = stack("J </script><script>document.title='owned'</script>.<b>bold\n"
			   "J java.lang.Thread.run");

	waits(thread("<img src=x onerror=\"document.title='owned'\">", 700, true, false), s,
	      JFR_STATE_SLEEPING, 8 * S, 9 * S);
}

static void facts_write(void)
{
	static const struct {
		const char *whose, *name;
		uint64_t pid, ns;
	} uses[] = {{"machine", "", 0, 40 * S},
		    {"recorded", "", 0, 15 * S},
		    {"process", "stress", 4242, 20 * S}};

	jfrw_jvm_information(
		w, START,
		&(struct jfr_jvm_information){.name = "a JVM", .version = "25", .pid = 4711});
	jfrw_cpu_information(w, START, &(struct jfr_cpu_information){"x", "y", 1, 4, 4});
	for (size_t i = 0; i < 3; i++)
		jfrw_cpu_use(w, START,
			     &(struct jfr_cpu_use){.whose = uses[i].whose,
						   .period_ns = 10 * S,
						   .name = uses[i].name,
						   .pid = uses[i].pid,
						   .count = 1,
						   .cpu_ns = uses[i].ns});
	jfrw_samples_lost(w, START + 9 * S,
			  &(struct jfr_samples_lost){
				  .kind = "cpu", .reason = "ring buffer full", .count = 500});
}

static void heap_write(uint64_t at, uint32_t id, const char *when, uint64_t used)
{
	jfrw_event(w, JFR_GC_HEAP_SUMMARY, START + at,
		   &(struct jfr_gc_heap_summary){.id = id,
						 .when = jfrw_name(w, JFR_GC_WHEN, when),
						 .heap = {.committed = 128000000},
						 .used = used});
}

static void collection_write(uint32_t id, uint64_t at, uint64_t ns, const char *name,
			     const char *cause, uint64_t before, uint64_t after)
{
	heap_write(at, id, "Before GC", before);
	jfrw_event(w, JFR_GARBAGE_COLLECTION, START + at,
		   &(struct jfr_garbage_collection){.duration = ns,
						    .id = id,
						    .name = jfrw_name(w, JFR_GC_NAME, name),
						    .cause = jfrw_name(w, JFR_GC_CAUSE, cause),
						    .pauses = ns,
						    .longest = ns});
	jfrw_event(w, JFR_GC_PAUSE, START + at,
		   &(struct jfr_gc_pause){.duration = ns, .id = id, .name = "GC Pause"});
	heap_write(at + ns, id, "After GC", after);
}

static void vitals_write(void)
{
	const char *name = "</script><b>Made Up";

	for (uint64_t s = 1; s <= 10; s++) {
		bool busy = s == 5 || s == 6;

		jfrw_event(w, JFR_CPU_LOAD, START + s * S,
			   &(struct jfr_cpu_load){.1875f, .0625f, busy ? 1 : .5f});
		jfrw_event(w, JFR_VITALS, START + s * S,
			   &(struct jfr_vitals){.period_ns = S,
						.has = "process cpu throttling container",
						.throttled_ns = busy ? S / 2 : 0});
	}
	jfrw_event(w, JFR_JAVA_THREADS, START + 1 * S, &(struct jfr_java_threads){.active = 24});
	jfrw_event(w, JFR_JAVA_THREADS, START + 6 * S, &(struct jfr_java_threads){.active = 30});
	collection_write(1, 2505 * MS, 100 * MS, "G1New", "G1 Evacuation Pause", 80000000,
			 20000000);
	collection_write(2, 5005 * MS, 200 * MS, "G1Full", "System.gc()", 90000000, 15000000);
	collection_write(3, 7505 * MS, 100 * MS, name, "G1 Evacuation Pause", 85000000, 25000000);
	jfrw_event(w, JFR_COLLECTIONS_UNSEEN, START + 9 * S,
		   &(struct jfr_collections_unseen){
			   .period_ns = S, .collector = "G1New", .count = 5, .pauses_ns = 10 * MS});
}

int main(int argc, char **argv)
{
	if (argc != 2 || !(w = jm_open(argv[1], (struct jfrw_form){.vitals = true}))) {
		fprintf(stderr, "usage: scene FILE.jfr\n");
		return 2;
	}
	facts_write();
	main_write();
	workers_write();
	idle_write();
	virtual_write();
	collectors_write();
	starved_write();
	hostile_write();
	vitals_write();
	jfrw_end(w, START + 10 * S);
	return jfrw_close(w, NULL) != 0;
}
