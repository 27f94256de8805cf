/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * Patterns PATTERN [PERIOD_MS]: threads whose time has a known pattern, from READY until the end of
 * standard input. Each spends it in methods of this class alone, so that the sums can be checked;
 * how long really, the scheduler knows: run time in onCpu(), the rest in the method that waits.
 *
 *   short      sleeps 1 ms, runs 1 ms
 *   long       sleeps 95 ms, runs 5 ms
 *   uneven     sleeps 30 ms in nap() and 70 ms in rest(), next to no CPU between
 *   convoy     4 threads, each runs 1 ms with a lock held, and again
 *   pingpong   2 threads, a turn each
 *   instep     runs 30% of each PERIOD_MS, then waits for its end: in step with an interval
 */
final class Patterns {
    private static final Object lock = new Object();
    private static volatile long turns;

    private interface Body {
        void run() throws InterruptedException;
    }

    private static void start(String name, Body step) {
        Thread t = new Thread(() -> {
            try {
                for (;;)
                    step.run();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }, name);

        t.setDaemon(true);
        t.start();
    }

    static void onCpu(long ns) {
        Harness.burn(Harness.cpu() + ns);
    }

    /** Harness.burn() asks the CPU clock every 50 us, a system call; short turns want less. */
    static void onCpuUntil(long deadline) {
        while (System.nanoTime() < deadline)
            Harness.sink = Harness.crunch(Harness.sink);
    }

    static void nap(long ms) throws InterruptedException {
        Thread.sleep(ms);
    }

    static void rest(long ms) throws InterruptedException {
        Thread.sleep(ms);
    }

    static void locked() {
        synchronized (lock) {
            onCpu(1_000_000);
        }
    }

    static void untilEnd(long deadline) {
        long left;

        while ((left = deadline - System.nanoTime()) > 0)
            LockSupport.parkNanos(left);
    }

    static void inStep(long periodNs) {
        for (long next = System.nanoTime();;) {
            onCpuUntil(next + periodNs * 3 / 10);
            next += periodNs;
            untilEnd(next);
            if (System.nanoTime() > next + periodNs)
                next = System.nanoTime();
        }
    }

    static void give(SynchronousQueue<Long> q, long x) throws InterruptedException {
        q.put(x);
    }

    static long take(SynchronousQueue<Long> q) throws InterruptedException {
        return q.take();
    }

    private static void pingpong() {
        SynchronousQueue<Long> there = new SynchronousQueue<>(), back = new SynchronousQueue<>();

        start("pattern-ping", () -> {
            give(there, 1);
            turns += take(back);
        });
        start("pattern-pong", () -> give(back, take(there)));
    }

    public static void main(String[] args) throws InterruptedException {
        long period = args.length > 1 ? Long.parseLong(args[1]) * 1_000_000 : 0;

        switch (args[0]) {
        case "short":
            start("pattern-short", () -> {
                nap(1);
                onCpu(1_000_000);
            });
            break;
        case "long":
            start("pattern-long", () -> {
                nap(95);
                onCpu(5_000_000);
            });
            break;
        case "uneven":
            start("pattern-uneven", () -> {
                nap(30);
                rest(70);
            });
            break;
        case "convoy":
            for (int i = 1; i <= 4; i++)
                start("pattern-lock-" + i, Patterns::locked);
            break;
        case "pingpong":
            pingpong();
            break;
        case "instep":
            start("pattern-instep", () -> inStep(period));
            break;
        default:
            throw new IllegalArgumentException("unknown pattern " + args[0]);
        }
        Thread.sleep(1500);
        Harness.ready();
        Harness.awaitEnd();
    }
}
