/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that wait for nothing that has a name: "parker" until "server" has it go on, every 40 ms, from handOver();
 * "napper" until its time is up. "taker" waits for a queue, which is told, and "giver" wakes it.
 */
final class Wakers {
    private static final SynchronousQueue<Integer> QUEUE = new SynchronousQueue<>();
    private static volatile int turn;

    private Wakers() {
    }

    private static void start(String name, Runnable run) {
        Thread t = new Thread(run, name);

        t.setDaemon(true);
        t.start();
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void spin(long ms) {
        long end = System.nanoTime() + ms * 1_000_000;

        while (System.nanoTime() < end)
            Harness.sink++;
    }

    private static void park() {
        for (;;) {
            int before = turn;

            while (turn == before)
                LockSupport.park();
        }
    }

    private static void handOver(Thread to) {
        turn++;
        LockSupport.unpark(to);
    }

    private static void serve(Thread to) {
        for (;;) {
            sleep(20);
            spin(20);
            handOver(to);
        }
    }

    private static void take() {
        try {
            for (;;)
                QUEUE.take();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void give() {
        try {
            for (;;) {
                sleep(40);
                QUEUE.put(1);
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) {
        Thread parker = new Thread(Wakers::park, "parker");

        parker.setDaemon(true);
        parker.start();
        start("server", () -> serve(parker));
        start("napper", () -> {
            for (;;)
                LockSupport.parkNanos(40_000_000);
        });
        start("taker", Wakers::take);
        start("giver", Wakers::give);
        sleep(500); // what they call is compiled or not: that does not change any more
        Harness.ready();
        Harness.awaitEnd();
    }
}
