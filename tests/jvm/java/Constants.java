/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.CountDownLatch;

/**
 * Constants: busy threads whose groups and whose classes' names are odd: in groups within groups, in
 * frames of a lambda's class. After "go" each spends 1 s of CPU time.
 */
final class Constants {
    private interface Work {
        long run(long x);
    }

    private static final int THREADS = 3;
    private static final CountDownLatch GO = new CountDownLatch(1), DONE = new CountDownLatch(THREADS);

    private static void busy(Work w) {
        long x = 1;

        Harness.await(GO);
        for (long until = Harness.cpu() + 1_000_000_000; Harness.cpu() < until;)
            x = w.run(x);
        Harness.sink = x;
        DONE.countDown();
    }

    public static void main(String[] args) {
        ThreadGroup outer = new ThreadGroup("outer"), inner = new ThreadGroup(outer, "in/n\u00e9r");
        Work[] work = {x -> Harness.crunch(x) + 1, Harness::crunch, x -> Harness.crunch(x) + args.length};

        new Thread(() -> busy(work[0]), "of-main").start();
        new Thread(outer, () -> busy(work[1]), "of-outer").start();
        new Thread(inner, () -> busy(work[2]), "of-inner").start();
        Harness.ready();
        Harness.awaitGo();
        GO.countDown();
        Harness.await(DONE);
        Harness.done();
    }
}
