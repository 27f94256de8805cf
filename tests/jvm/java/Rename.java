/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.CountDownLatch;

/**
 * Rename IDLE TIMES MS: beside so many threads that never do anything one that names itself anew so
 * many times, and spends so much CPU time under each of its names.
 */
final class Rename {
    private static void idle(int n) {
        CountDownLatch started = new CountDownLatch(n), never = new CountDownLatch(1);

        for (int i = 1; i <= n; i++) {
            Thread t = new Thread(null, () -> {
                started.countDown();
                Harness.await(never);
            }, "idle-thread-number-" + i, 256 << 10);

            t.setDaemon(true);
            t.start();
        }
        Harness.await(started);
    }

    private static void work(int times, long ns) {
        long until = Harness.cpu();

        for (int i = 1; i <= times; i++) {
            Thread.currentThread().setName("now-called-number-" + i);
            Harness.burn(until += ns);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int times = Integer.parseInt(args[1]);
        long ns = Long.parseLong(args[2]) * 1_000_000;

        idle(Integer.parseInt(args[0]));
        Harness.ready();
        Harness.awaitGo();

        Thread t = new Thread(() -> work(times, ns), "not-named-yet");

        t.start();
        t.join();
        Harness.done();
    }
}
