/* SPDX-License-Identifier: Apache-2.0 */
import java.util.SplittableRandom;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Churn burst COUNT MIN_US MAX_US: after "go" COUNT threads, two at a time, each spend a random
 * CPU time between the bounds and die. TRUTH is the sum of what their own CPU clocks said last.
 * Churn rate PER_SECOND CPU_US: from the start until the end, so many threads per second, or fewer where 20 of them
 * have not had their CPU time yet.
 */
final class Churn {
    private static final AtomicLong used = new AtomicLong();
    private static final AtomicLong ended = new AtomicLong();

    private static void shortLived(int number, long ns, Semaphore slots) {
        new Thread(() -> {
            Harness.burn(ns);
            if (slots != null)
                slots.release();
            ended.incrementAndGet();
            used.addAndGet(Harness.cpu());
        }, "churn-short-lived-" + number).start();
    }

    private static void burst(int count, long min, long max) throws InterruptedException {
        SplittableRandom random = new SplittableRandom(1);
        Semaphore slots = new Semaphore(2);

        for (int i = 0; i < count; i++) {
            slots.acquire();
            shortLived(i, random.nextLong(min, max + 1) * 1000, slots);
        }
        while (ended.get() < count)
            Thread.sleep(10);
        Thread.sleep(100);
        Harness.say("TRUTH churn-short-lived - " + used.get());
    }

    private static void rate(int perSecond, long us) {
        long next = System.nanoTime(), step = 1_000_000_000L / perSecond;
        Semaphore slots = new Semaphore(20);

        for (int i = 0;; i++) {
            slots.acquireUninterruptibly();
            shortLived(i, us * 1000, slots);
            next += step;
            long left = next - System.nanoTime();
            if (left > 0)
                Harness.sleep(left);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int n = Integer.parseInt(args[1]);
        long us = Long.parseLong(args[2]);

        Harness.burn(Harness.cpu() + 300_000_000L);
        if (args[0].equals("rate")) {
            Thread t = new Thread(() -> rate(n, us), "churn-thread-starter");
            t.setDaemon(true);
            t.start();
            Harness.ready();
        } else {
            Harness.ready();
            Harness.awaitGo();
            burst(n, us, Long.parseLong(args[3]));
        }
        Harness.done();
    }
}
