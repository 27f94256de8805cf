/* SPDX-License-Identifier: Apache-2.0 */
import java.io.FileInputStream;
import java.io.IOException;
import java.util.concurrent.locks.LockSupport;

/**
 * Mixed: frames and waits of many kinds until the end. Compiled, inlined and interpreted code, lambdas in
 * groups of threads, collections young and full, the kernel, the vDSO, libraries; sleeping, parked, blocked, reading;
 * threads that come and go.
 */
final class Mixed {
    private static final Object LOCK = new Object();
    private static volatile Object kept;

    private interface Work {
        void run() throws Exception;
    }

    private static void always(ThreadGroup group, String name, Work w) {
        Thread t = new Thread(group, () -> {
            try {
                while (true)
                    w.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);

        t.setDaemon(true);
        t.start();
    }

    private static void read(String file) throws IOException {
        byte[] b = new byte[65536];

        try (FileInputStream in = new FileInputStream(file)) {
            for (int i = 0; i < 50; i++)
                Harness.sink += in.read(b);
        }
    }

    private static void hold() throws InterruptedException {
        synchronized (LOCK) {
            Thread.sleep(20);
        }
    }

    private static void collect() throws InterruptedException {
        Thread.sleep(700);
        System.gc();
    }

    private static void bear() throws InterruptedException {
        Thread t = new Thread(() -> LockSupport.parkNanos(100_000_000), "born");

        t.start();
        t.join();
    }

    public static void main(String[] args) {
        ThreadGroup group = new ThreadGroup("workers");

        always(group, "crunch", () -> Harness.sink = Harness.crunch(Harness.sink));
        always(group, "gr\u00fc\u00dfe", () -> Harness.sink += System.nanoTime() + System.currentTimeMillis());
        always(null, "litter", () -> kept = new byte[1 << 16]);
        always(null, "collector", Mixed::collect);
        always(null, "zeros", () -> read("/dev/zero"));
        always(null, "text", () -> Harness.sink += String.format("%d %s", Harness.sink, kept).hashCode());
        always(null, "sleeper", () -> Thread.sleep(30));
        always(null, "births", Mixed::bear);
        always(null, "parker", () -> LockSupport.parkNanos(50_000_000));
        always(null, "holder-1", Mixed::hold);
        always(null, "holder-2", Mixed::hold);
        Harness.ready();
        Harness.awaitEnd();
    }
}
