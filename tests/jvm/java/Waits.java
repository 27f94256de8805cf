/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits THREADS: each thread spends 30% of its wall time asleep, 25% parked, 20% in Object.wait,
 * 15% blocked on a monitor and 10% reading from a socket, from READY until standard input ends.
 * The time of each wait is measured around it. Every thread has one helper, which holds the
 * monitor and writes to the socket for it.
 */
final class Waits {
    private static final String[] NAMES = {"Waits.asleep", "Waits.parked", "Waits.waiting",
        "Waits.blocked", "Waits.reading"};
    private static final double[] WANT = {0.30, 0.25, 0.20, 0.15, 0.10};
    private static final long MIN_SLICE = 20_000_000, MAX_SLICE = 80_000_000;

    private static volatile boolean stop;

    /** Does what its thread cannot do for itself while it waits. */
    private static final class Helper extends Thread {
        final BlockingQueue<Long> hold = new LinkedBlockingQueue<>();
        final Semaphore held = new Semaphore(0);
        final Object monitor = new Object();
        private final OutputStream out;

        Helper(String name, OutputStream out) {
            super(name);
            this.out = out;
            setDaemon(true);
        }

        /** Positive: hold the monitor for so many ns. Negative: write a byte after them. */
        @Override
        public void run() {
            try {
                for (;;) {
                    long ns = hold.take();
                    if (ns > 0)
                        holdMonitor(ns);
                    else
                        writeLater(-ns);
                }
            } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        private void holdMonitor(long ns) {
            synchronized (monitor) {
                held.release();
                Harness.sleep(ns);
            }
        }

        private void writeLater(long ns) throws IOException {
            Harness.sleep(ns);
            out.write(1);
        }
    }

    private final Shares shares;
    private final Helper helper;
    private final InputStream in;
    private final Object condition = new Object();

    private Waits(int number, Socket reader, Socket writer) throws IOException {
        shares = new Shares(number, NAMES, WANT);
        in = reader.getInputStream();
        helper = new Helper("waits-helper-number-" + number, writer.getOutputStream());
    }

    static void asleep(long ns) {
        Harness.sleep(ns);
    }

    static void parked(long ns) {
        long end = System.nanoTime() + ns, left;

        while ((left = end - System.nanoTime()) > 0)
            LockSupport.parkNanos(left);
    }

    static void waiting(Object condition, long ns) throws InterruptedException {
        synchronized (condition) {
            condition.wait(ns / 1_000_000);
        }
    }

    static void blocked(Object monitor) {
        synchronized (monitor) {
            Harness.sink++;
        }
    }

    static void reading(InputStream in) throws IOException {
        if (in.read() != 1)
            throw new IOException("unexpected end");
    }

    /** Returns the ns the wait took, from just before it to just after. */
    private long once(int kind, long ns) throws IOException, InterruptedException {
        long before;

        if (kind == 3) {
            helper.hold.add(ns);
            helper.held.acquire();
        } else if (kind == 4) {
            helper.hold.add(-ns);
        }
        before = System.nanoTime();
        switch (kind) {
        case 0: asleep(ns); break;
        case 1: parked(ns); break;
        case 2: waiting(condition, ns); break;
        case 3: blocked(helper.monitor); break;
        default: reading(in); break;
        }
        return System.nanoTime() - before;
    }

    private void run() {
        helper.start();
        try {
            while (!stop) {
                int kind = shares.next();

                shares.add(kind, once(kind, shares.slice(MIN_SLICE, MAX_SLICE)));
            }
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        int n = Integer.parseInt(args[0]);
        Shares all = new Shares(0, NAMES, WANT);
        List<Waits> waits = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();

        try (ServerSocket server = new ServerSocket(0, n, InetAddress.getLoopbackAddress())) {
            for (int i = 1; i <= n; i++) {
                Socket a = new Socket(server.getInetAddress(), server.getLocalPort());
                Waits w = new Waits(i, a, server.accept());
                waits.add(w);
                threads.add(new Thread(w::run, "waits-worker-number-" + i));
            }
        }
        for (Thread t : threads)
            t.start();
        Thread.sleep(1000);
        Harness.ready();
        Harness.awaitEnd();
        stop = true;
        for (Thread t : threads)
            t.join();
        for (Waits w : waits)
            all.add(w.shares);
        all.tell();
    }
}
