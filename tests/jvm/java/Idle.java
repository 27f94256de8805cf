/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.CountDownLatch;

/** Idle IDLE BUSY: so many threads that never do anything, and so many that never rest. */
final class Idle {
    private static void start(String name, Runnable r) {
        Thread t = new Thread(null, r, name, 256 << 10);

        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) {
        int idle = Integer.parseInt(args[0]), busy = Integer.parseInt(args[1]);
        CountDownLatch started = new CountDownLatch(idle + busy);
        CountDownLatch never = new CountDownLatch(1);

        for (int i = 1; i <= idle; i++)
            start("idle-thread-number-" + i, () -> {
                started.countDown();
                Harness.await(never);
            });
        for (int i = 1; i <= busy; i++)
            start("busy-thread-number-" + i, () -> {
                started.countDown();
                Harness.burn(Long.MAX_VALUE);
            });
        Harness.await(started);
        Harness.sleep(500_000_000);
        Harness.ready();
        Harness.done();
    }
}
