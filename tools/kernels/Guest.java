/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.locks.LockSupport;

/** Threads that run, sleep, park and wait for a monitor, until standard input ends. */
final class Guest {
    private static final Object LOCK = new Object();
    private static volatile long sum;

    private static void run(int what) throws InterruptedException {
        for (;;) {
            switch (what) {
                case 0 -> sum++;
                case 1 -> Thread.sleep(50);
                case 2 -> LockSupport.parkNanos(30_000_000);
                default -> {
                    synchronized (LOCK) {
                        Thread.sleep(20);
                    }
                }
            }
        }
    }

    private static void start(int what) {
        Thread t = new Thread(() -> {
            try {
                run(what);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }, "guest-" + what);

        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 5; i++)
            start(i);
        System.out.println("READY");
        while (System.in.read() >= 0)
            continue;
    }
}
