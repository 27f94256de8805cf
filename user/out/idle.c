/* SPDX-License-Identifier: Apache-2.0 */
#include "out/idle.h"

#include <errno.h>
#include <stdlib.h>

#include "out/stackrule.h"

/*
 * Names as of JDK 8 to 25 (java.base and java.management), Tomcat 8 to 11, Jetty 9 to 12, Netty 4,
 * JBoss Threads, Kotlin's coroutines, Akka and Scala. A queue's take() by itself is no rule: it may
 * be an answer that the thread waits for.
 */
static const char *const table[] = {
	/* pools: the worker asks for its next task */
	"java.util.concurrent.ThreadPoolExecutor.getTask",
	"java.util.concurrent.ForkJoinPool.awaitWork",
	"java.util.concurrent.ForkJoinPool.runWorker > java.util.concurrent.locks.LockSupport.park",
	"org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask",
	"org.apache.tomcat.util.threads.TaskQueue.take",
	"org.apache.tomcat.util.threads.TaskQueue.poll",
	"org.eclipse.jetty.util.thread.QueuedThreadPool.idleJobPoll",
	"org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll",
	"org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.reservedWait",
	("org.jboss.threads.EnhancedQueueExecutor$ThreadBody.run > "
	 "java.util.concurrent.locks.LockSupport.park"),
	"io.netty.util.concurrent.SingleThreadEventExecutor.takeTask",
	"io.netty.util.concurrent.GlobalEventExecutor.takeTask",
	"kotlinx.coroutines.scheduling.CoroutineScheduler$Worker.park",
	"akka.dispatch.forkjoin.ForkJoinPool.awaitWork",
	"scala.concurrent.forkjoin.ForkJoinPool.awaitWork",
	/* timers: their loops run the tasks, too */
	"java.util.TimerThread.mainLoop > java.lang.Object.wait",
	"java.util.concurrent.DelayScheduler.loop > jdk.internal.misc.Unsafe.park",
	"io.netty.util.HashedWheelTimer$Worker.waitForNextTick",
	/* selectors */
	"sun.nio.ch.SelectorImpl.lockAndDoSelect",
	"sun.nio.ch.EPoll.wait",
	"sun.nio.ch.EPollArrayWrapper.epollWait",
	"io.netty.channel.epoll.Native.epollWait",
	"io.netty.channel.epoll.Native.epollBusyWait",
	"io.netty.channel.uring.Native.ioUringEnter",
	"io.netty.incubator.channel.uring.Native.ioUringEnter",
	"org.apache.tomcat.jni.Poll.poll",
	/* whoever accepts connections */
	"sun.nio.ch.ServerSocketChannelImpl.accept",
	"sun.nio.ch.NioSocketImpl.accept",
	"java.net.PlainSocketImpl.socketAccept",
	"java.net.AbstractPlainSocketImpl.accept",
	"java.net.ServerSocket.implAccept",
	/* the JVM's own housekeepers */
	"java.lang.ref.Reference.waitForReferencePendingList",
	"java.lang.ref.ReferenceQueue.remove",
	"java.lang.ref.NativeReferenceQueue.remove",
	"java.lang.ref.ReferenceQueue.await",
	"java.lang.ref.NativeReferenceQueue.await",
	"java.lang.ProcessHandleImpl.waitForProcessExit0",
	"jdk.jfr.internal.PlatformRecorder.takeNap",
};

struct idle_rules {
	size_t n;
	struct stackrule v[];
};

int idle_rules_new(struct idle_rules **out, const struct pattern_list *more, struct error *e)
{
	size_t known = sizeof(table) / sizeof(table[0]), n = known + more->n;
	struct idle_rules *r = calloc(1, sizeof(*r) + n * sizeof(r->v[0]));
	int rc = r ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");

	for (size_t i = 0; i < n && !rc; i++)
		rc = stackrule_parse(&r->v[r->n++], i < known ? table[i] : more->v[i - known],
				     "idle threads", e);
	if (rc) {
		idle_rules_free(r);
		return rc;
	}
	*out = r;
	return 0;
}

void idle_rules_free(struct idle_rules *r)
{
	for (size_t i = 0; r && i < r->n; i++)
		stackrule_free(&r->v[i]);
	free(r);
}

bool idle_frame(const struct idle_rules *r, const char *frame)
{
	for (size_t i = 0; i < r->n; i++)
		if (stackrule_fits(r->v[i].frame, frame))
			return true;
	return false;
}

bool idle_call(const struct idle_rules *r, const char *frame, const char *callee)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct stackrule *k = &r->v[i];

		if (stackrule_fits(k->frame, frame) &&
		    (!k->callee || (callee && stackrule_fits(k->callee, callee))))
			return true;
	}
	return false;
}
