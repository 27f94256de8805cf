/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.CountDownLatch;

/** Idle IDLE BUSY [PERCENT]: so many threads that never do anything, and so many that never rest, or use that share of a CPU. */
final class Idle {
    private static void start(String name, Runnable r) {
        Thread t = new Thread(null, r, name, 256 << 10);

        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) {
        int idle = Integer.parseInt(args[0]), busy = Integer.parseInt(args[1]);
        int percent = args.length > 2 ? Integer.parseInt(args[2]) : 100;
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
                if (percent == 100)
                    Harness.burn(Long.MAX_VALUE);
                for (;;) {
                    Harness.burn(Harness.cpu() + percent * 200_000);
                    Harness.sleep((100 - percent) * 200_000);
                }
            });
        Harness.await(started);
        Harness.sleep(500_000_000);
        Harness.ready();
        Harness.done();
    }
}
