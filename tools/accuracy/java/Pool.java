/* SPDX-License-Identifier: Apache-2.0 */
import java.util.SplittableRandom;

/**
 * Pool THREADS: pool threads that wait, each in a method of its kind: of 20 threads 10 in idle(), 6
 * in query(), 3 in call() and 1 in write(), for random times of 5 to 50 ms.
 */
final class Pool {
    private static void sleepOnce(SplittableRandom random) {
        Harness.sleep(random.nextLong(5_000_000, 50_000_000));
    }

    static void idle(SplittableRandom r) {
        for (;;)
            sleepOnce(r);
    }

    static void query(SplittableRandom r) {
        for (;;)
            sleepOnce(r);
    }

    static void call(SplittableRandom r) {
        for (;;)
            sleepOnce(r);
    }

    static void write(SplittableRandom r) {
        for (;;)
            sleepOnce(r);
    }

    private static void work(int number) {
        SplittableRandom r = new SplittableRandom(number);
        int kind = number % 20;

        if (kind < 10)
            idle(r);
        else if (kind < 16)
            query(r);
        else if (kind < 19)
            call(r);
        else
            write(r);
    }

    public static void main(String[] args) {
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            int number = i;
            Thread t = new Thread(() -> work(number), "pool-thread-" + i);

            t.setDaemon(true);
            t.start();
        }
        Harness.sleep(1_000_000_000);
        Harness.ready();
        Harness.awaitEnd();
        System.exit(0);
    }
}
