/* SPDX-License-Identifier: Apache-2.0 */
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Litter MS: allocates, throws and catches at many depths for MS, in three threads, and collects the
 * garbage now and then: what a recorder of the JVM's own has most kinds of events for.
 */
final class Litter {
    private static int dig(int depth, Deque<byte[]> kept) {
        kept.add(new byte[1000 + depth * 100]);
        while (kept.size() > 500)
            kept.remove();
        if (depth == 0)
            throw new IllegalStateException("deep enough");
        return 1 + dig(depth - 1, kept);
    }

    private static void work(long end) {
        Deque<byte[]> kept = new ArrayDeque<>();
        int sum = 0;

        for (int i = 0; System.nanoTime() < end; i++) {
            try {
                sum += dig(i % 40, kept);
            } catch (IllegalStateException e) {
                sum += e.getMessage().length();
            }
            if (i % 5000 == 0)
                Harness.sleep(5_000_000);
        }
        Harness.sink = sum;
    }

    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = new Thread[3];

        Harness.ready();
        Harness.awaitGo();
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> work(end), "litter-" + i);
            threads[i].start();
        }
        System.gc();
        for (Thread t : threads)
            t.join();
        System.gc();
        Harness.done();
    }
}
