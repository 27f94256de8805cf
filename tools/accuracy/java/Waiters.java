/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Waiters PORT FILE: threads that each wait for a few things by turns, and have measured for how long
 * when they are told to stop: lines "TRUTH|thread|what|cause|owner|ns|elapsed ns". `cause` is a regular
 * expression for "kind cause" of gnomon.WaitCause; `owner` a thread, or "-". PORT, of 127.0.0.1, is
 * another process's that answers each byte; reading FILE takes its time.
 *
 * Waiters serve DELAY_MS: that process; it says READY and then its port.
 */
final class Waiters {
    private static volatile boolean stop;
    private static final List<Waiter> ALL = new ArrayList<>();

    interface Step {
        void run() throws Exception;
    }

    /** One thing that a thread waits for. */
    private static final class Wait {
        final String what;
        final String cause;
        final String owner;
        final Step step;
        final AtomicLong ns = new AtomicLong();

        Wait(String what, String cause, String owner, Step step) {
            this.what = what;
            this.cause = cause;
            this.owner = owner;
            this.step = step;
        }
    }

    /** A thread that waits for its things in turn, each for the first time before it is measured. */
    private static final class Waiter {
        final String name;
        final Wait[] waits;
        final AtomicLong all = new AtomicLong();

        Waiter(String name, Wait... waits) {
            this.name = name;
            this.waits = waits;
            ALL.add(this);
            start(name, this::run);
        }

        private void turn() throws Exception {
            long begin = System.nanoTime();

            for (Wait w : waits) {
                long from = System.nanoTime();

                w.step.run();
                w.ns.addAndGet(System.nanoTime() - from);
            }
            all.addAndGet(System.nanoTime() - begin);
        }

        private void run() throws Exception {
            turn();
            for (Wait w : waits)
                w.ns.set(0);
            all.set(0);
            while (!stop)
                turn();
        }

        void tell() {
            for (Wait w : waits)
                Harness.say("TRUTH|" + name + "|" + w.what + "|" + w.cause + "|" + w.owner + "|" + w.ns + "|" + all);
        }
    }

    private static void start(String name, Step step) {
        Thread t = new Thread(() -> {
            try {
                step.run();
            } catch (Exception e) {
                Harness.say("FAIL " + name + " " + e);
            }
        }, name);

        t.setDaemon(true);
        t.start();
    }

    private static void sleep(int ms) throws InterruptedException {
        Thread.sleep(ms);
    }

    // ---- locks: one thread holds each for its time, and another wants it from its beginning on

    interface Held {
        void within(Step step) throws Exception;
    }

    private static Held monitor(Object o) {
        return step -> {
            synchronized (o) {
                step.run();
            }
        };
    }

    private static Held lock(Lock l) {
        return step -> {
            l.lock();
            try {
                step.run();
            } finally {
                l.unlock();
            }
        };
    }

    /** Has `held` for the time, each time that it is asked to. */
    private static void holder(String name, Semaphore asked, Semaphore has, Held held, int ms) {
        start(name, () -> {
            for (;;) {
                asked.acquire();
                held.within(() -> {
                    has.release();
                    sleep(ms);
                });
            }
        });
    }

    /** To wait for a lock that `owner` has: what is asked of it takes no time. */
    private static Wait locked(String what, String cause, String owner, Held has, Held wants, int ms) {
        Semaphore asked = new Semaphore(0);
        Semaphore given = new Semaphore(0);

        holder(owner, asked, given, has, ms);
        return new Wait(what, cause, owner, () -> {
            asked.release();
            while (!given.tryAcquire())
                Thread.onSpinWait();
            wants.within(() -> { });
        });
    }

    private static final class Red {
    }

    private static final class Blue {
    }

    private static void locks() {
        Red red = new Red();
        Blue blue = new Blue();
        ReentrantLock plain = new ReentrantLock();
        ReentrantReadWriteLock rw = new ReentrantReadWriteLock();

        new Waiter("wants-monitors",
            locked("a monitor", "monitor Waiters\\$Red@.*", "has-red", monitor(red), monitor(red), 70),
            locked("another", "monitor Waiters\\$Blue@.*", "has-blue", monitor(blue), monitor(blue), 30));
        new Waiter("wants-locks",
            locked("a ReentrantLock", "synchronizer java.util.concurrent.locks.ReentrantLock@.*",
                "has-plain", lock(plain), lock(plain), 70),
            locked("a read lock", "synchronizer java.util.concurrent.locks.ReentrantReadWriteLock@.*",
                "has-write", lock(rw.writeLock()), lock(rw.readLock()), 30));
    }

    // ---- what is nobody's

    private static Wait given(String what, String type, int ms, BlockingQueue<Step> to, Step gives, Step takes) {
        return new Wait(what, "synchronizer " + type + "@.*", "-", () -> {
            to.put(() -> {
                sleep(ms);
                gives.run();
            });
            takes.run();
        });
    }

    private static void handed() {
        BlockingQueue<Step> asked = new ArrayBlockingQueue<>(8);
        BlockingQueue<Integer> items = new ArrayBlockingQueue<>(1);
        Semaphore permits = new Semaphore(0);
        CountDownLatch[] latch = {null};
        CompletableFuture<?>[] stage = {null};
        String own = "java.util.concurrent.";

        start("gives", () -> {
            for (;;)
                asked.take().run();
        });
        new Waiter("takes",
            given("a Semaphore", own + "Semaphore", 40, asked, permits::release, permits::acquire),
            given("a queue's condition", own + "locks.AbstractQueuedSynchronizer\\$ConditionObject", 30, asked,
                () -> items.put(1), items::take),
            new Wait("a CountDownLatch", "synchronizer " + own + "CountDownLatch@.*", "-", () -> {
                latch[0] = new CountDownLatch(1);
                asked.put(() -> {
                    sleep(20);
                    latch[0].countDown();
                });
                latch[0].await();
            }),
            new Wait("a CompletableFuture", "synchronizer " + own + "CompletableFuture.*", "-", () -> {
                stage[0] = new CompletableFuture<>();
                asked.put(() -> {
                    sleep(10);
                    stage[0].complete(null);
                });
                stage[0].get();
            }));
    }

    /** The consumer has nothing to do for 40 of 70 ms. */
    private static void produced() {
        BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(1);

        start("producer", () -> {
            for (;;) {
                sleep(70);
                queue.put(1);
            }
        });
        new Waiter("consumer",
            new Wait("its producer", "synchronizer java.util.concurrent.locks.AbstractQueuedSynchronizer"
                + "\\$ConditionObject@.*", "-", queue::take),
            new Wait("itself, in sleep()", "-", "-", () -> sleep(30)));
    }

    // ---- IO

    private static void answer(Socket s, int ms) throws Exception {
        InputStream in = s.getInputStream();
        OutputStream out = s.getOutputStream();
        int b;

        while ((b = in.read()) >= 0) {
            sleep(ms);
            out.write(b);
        }
    }

    private static ServerSocket serve(int ms) throws IOException {
        ServerSocket server = new ServerSocket(0, 9, InetAddress.getByName("127.0.0.1"));

        start("accepts", () -> {
            for (;;) {
                Socket s = server.accept();

                start("answers-" + ms, () -> answer(s, ms));
            }
        });
        return server;
    }

    private static Wait asked(String what, int port) throws IOException {
        Socket s = new Socket(InetAddress.getByName("127.0.0.1"), port);

        s.setTcpNoDelay(true);
        return new Wait(what, "TCP 127.0.0.1:" + port + "( .*)?", "-", () -> {
            s.getOutputStream().write(1);
            if (s.getInputStream().read() < 0)
                throw new IOException("its peer has gone");
        });
    }

    private static void io(int port, String path) throws IOException {
        RandomAccessFile file = new RandomAccessFile(path, "r");

        new Waiter("asks", asked("a thread of its own", serve(70).getLocalPort()),
            asked("another process", port));
        new Waiter("reads",
            new Wait("a file on a slow device", "file .*" + path, "-", () -> {
                file.seek(0);
                if (file.read() < 0)
                    throw new IOException("the file is empty");
            }),
            new Wait("itself, in sleep()", "-", "-", () -> sleep(40)));
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("serve")) {
            int port = serve(Integer.parseInt(args[1])).getLocalPort();

            Harness.say("PORT " + port);
            Harness.ready();
            Harness.done();
            return;
        }
        locks();
        handed();
        produced();
        io(Integer.parseInt(args[0]), args[1]);
        Thread.sleep(1000);
        Harness.ready();
        Harness.awaitGo();
        stop = true;
        for (Waiter w : ALL)
            w.tell();
        Harness.say("DONE");
        Harness.awaitEnd();
        System.exit(0);
    }
}
