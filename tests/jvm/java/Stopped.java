/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Stopped: a thread, "asks", that has the JVM collect, again and again, for which all threads have to stop; one, "late",
 * that looks whether it has to but each hundred milliseconds, since its loop counts (-XX:-UseCountedLoopSafepoints); and one,
 * "prompt", that runs just before and behind each stop, and stops at once.
 */
final class Stopped {
    private static volatile boolean ready;

    private static int loop(int n) {
        int x = 1;

        for (int i = 0; i < n; i++) {
            x = x * 31 + (x >>> 7);
            x ^= x << 3;
        }
        return x;
    }

    private static void work(int n) {
        for (;;) {
            Harness.sink += loop(n);
            ready = true;
        }
    }

    private static void collect() {
        for (;;) {
            System.gc();
            Harness.sleep(20_000_000);
        }
    }

    private static void start(String name, Runnable r) {
        Thread t = new Thread(r, name);

        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        // compiled before it counts far
        for (int i = 0; i < 20_000; i++)
            Harness.sink += loop(1000);
        start("late", () -> work(100_000_000));
        while (!ready)
            Thread.sleep(10);
        start("prompt", () -> work(1000));
        start("asks", Stopped::collect);
        Harness.ready();
        Harness.done();
    }
}
