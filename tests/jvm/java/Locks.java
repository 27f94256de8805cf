/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Locks PART...: threads that wait for locks of others, with a known answer. Of each pair one thread
 * holds one lock in holdLong() and then another in holdShort(), asleep, and the other waits for both in turn;
 * it says how long: "TRUTH waiter owner method nanoseconds". A chain of three, and a deadlock of
 * three, say who waits for whom: "CHAIN waiter owner", "DEADLOCK waiter owner".
 */
final class Locks {
    private static final int LONG_MS = 70;
    private static final int SHORT_MS = 30;
    private static volatile boolean stop;

    /** Does something with a lock held; another thread may be held up by it. */
    interface Holder {
        void hold(Body body) throws InterruptedException;
    }

    interface Body {
        void run() throws InterruptedException;
    }

    static final class Red {
    }

    static final class Blue {
    }

    private static Thread start(String name, Body body) {
        Thread t = new Thread(() -> {
            try {
                body.run();
            } catch (InterruptedException e) {
                Harness.say("FAIL " + name + " " + e);
            }
        }, name);

        t.setDaemon(true);
        t.start();
        return t;
    }

    private static void holdLong() throws InterruptedException {
        Thread.sleep(LONG_MS);
    }

    private static void holdShort() throws InterruptedException {
        Thread.sleep(SHORT_MS);
    }

    // ---- pairs

    private static final class Pair {
        final Semaphore held = new Semaphore(0);
        final Semaphore had = new Semaphore(0);
        final AtomicLong longNs = new AtomicLong();
        final AtomicLong shortNs = new AtomicLong();
        final String name;

        Pair(String name) {
            this.name = name;
        }

        void own(Holder first, Holder second) throws InterruptedException {
            while (!stop) {
                first.hold(() -> {
                    held.release();
                    holdLong();
                });
                had.acquire();
                second.hold(() -> {
                    held.release();
                    holdShort();
                });
                had.acquire();
            }
        }

        private void await(Holder lock, AtomicLong sum) throws InterruptedException {
            long begin;

            held.acquire();
            begin = System.nanoTime();
            lock.hold(() -> sum.addAndGet(System.nanoTime() - begin));
            had.release();
        }

        void await(Holder first, Holder second) throws InterruptedException {
            while (!stop) {
                await(first, longNs);
                await(second, shortNs);
            }
        }

        void run(Holder first, Holder second, Holder firstToo, Holder secondToo) {
            start(name + "-owner", () -> own(first, second));
            start(name + "-waiter", () -> await(firstToo, secondToo));
        }

        void tell() {
            Harness.say("TRUTH " + name + "-waiter " + name + "-owner holdLong " + longNs);
            Harness.say("TRUTH " + name + "-waiter " + name + "-owner holdShort " + shortNs);
        }
    }

    private static Holder monitor(Object lock) {
        return body -> {
            synchronized (lock) {
                body.run();
            }
        };
    }

    private static Holder lock(Lock lock) {
        return body -> {
            lock.lock();
            try {
                body.run();
            } finally {
                lock.unlock();
            }
        };
    }

    private static Pair pair(String part) {
        Pair p = new Pair(part);
        ReentrantReadWriteLock red = new ReentrantReadWriteLock();
        ReentrantReadWriteLock blue = new ReentrantReadWriteLock();
        Holder first;
        Holder second;

        if (part.equals("rw")) {
            p.run(lock(red.writeLock()), lock(blue.writeLock()), lock(red.readLock()),
                lock(blue.readLock()));
            return p;
        }
        if (part.equals("monitor")) {
            first = monitor(new Red());
            second = monitor(new Blue());
        } else {
            first = lock(new ReentrantLock());
            second = lock(new ReentrantLock());
        }
        p.run(first, second, first, second);
        return p;
    }

    // ---- chains and deadlocks

    /** Each of three threads holds its lock, and then waits for the next one's; the last sleeps instead. */
    private static void chain() throws InterruptedException {
        Object[] locks = {new Object(), new Object(), new Object()};
        CountDownLatch[] held = {new CountDownLatch(1), new CountDownLatch(1)};

        start("chain-2", () -> monitor(locks[2]).hold(() -> {
            held[1].countDown();
            for (;;) {
                holdLong();
            }
        }));
        start("chain-1", () -> monitor(locks[1]).hold(() -> {
            held[0].countDown();
            held[1].await();
            waitForLast(locks[2]);
        }));
        start("chain-0", () -> {
            held[0].await();
            waitForNext(locks[1]);
        });
        Harness.say("CHAIN chain-0 chain-1");
        Harness.say("CHAIN chain-1 chain-2");
    }

    private static void waitForNext(Object lock) {
        synchronized (lock) {
            Harness.say("FAIL chain");
        }
    }

    private static void waitForLast(Object lock) {
        synchronized (lock) {
            Harness.say("FAIL chain");
        }
    }

    private static void deadlock(String name, Holder[] locks) {
        CountDownLatch all = new CountDownLatch(locks.length);

        for (int i = 0; i < locks.length; i++) {
            Holder own = locks[i];
            Holder next = locks[(i + 1) % locks.length];
            start(name + "-" + i, () -> own.hold(() -> {
                all.countDown();
                all.await();
                next.hold(() -> Harness.say("FAIL deadlock"));
            }));
            Harness.say("DEADLOCK " + name + "-" + i + " " + name + "-" + (i + 1) % locks.length);
        }
    }

    /** Objects that are garbage soon, and collections all the time. */
    private static void litter() {
        Thread t = new Thread(() -> {
            byte[][] kept = new byte[1000][];

            for (int i = 0;; i++) {
                kept[i * 7 % kept.length] = new byte[200 + i % 500];
                if (i % 20_000 == 0)
                    System.gc();
            }
        }, "litter");
        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws InterruptedException {
        Pair[] pairs = new Pair[args.length];

        for (int i = 0; i < args.length; i++) {
            if (args[i].equals("chain")) {
                chain();
            } else if (args[i].equals("litter")) {
                litter();
            } else if (args[i].equals("deadlock")) {
                deadlock("dead", new Holder[] {monitor(new Red()), monitor(new Blue()),
                    monitor(new Object())});
            } else if (args[i].equals("deadlock-lock")) {
                deadlock("tied", new Holder[] {lock(new ReentrantLock()), monitor(new Blue()),
                    lock(new ReentrantLock())});
            } else {
                pairs[i] = pair(args[i]);
            }
        }
        Thread.sleep(200);
        Harness.ready();
        Harness.awaitGo();
        stop = true;
        for (Pair p : pairs) {
            if (p != null) {
                p.tell();
            }
        }
        Harness.say("DONE");
        Harness.awaitEnd();
    }
}
