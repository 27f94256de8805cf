/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Rests naps|locks THREADS: threads that nap for 0.3 ms over and over, 30 methods deep; or half of them
 * wait for a monitor and half for a lock, which another thread has for 200 and 300 ms at a time.
 */
final class Rests {
    private static final int DEPTH = 30;
    private static final long NAP_NS = 300_000;
    private static final Object MONITOR = new Object();
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static volatile long sum;

    private Rests() {
    }

    private static long nap(int depth) {
        if (depth > 0)
            return nap(depth - 1) + 1;
        LockSupport.parkNanos(NAP_NS);
        return 0;
    }

    private static void naps() {
        while (true)
            sum += nap(DEPTH);
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void holds() {
        while (true) {
            LOCK.lock();
            try {
                pause(300);
            } finally {
                LOCK.unlock();
            }
            synchronized (MONITOR) {
                pause(200);
            }
            pause(1);
        }
    }

    private static void waitsForMonitor() {
        while (true) {
            synchronized (MONITOR) {
                sum++;
            }
            pause(3);
        }
    }

    private static void waitsForLock() {
        while (true) {
            LOCK.lock();
            try {
                sum++;
            } finally {
                LOCK.unlock();
            }
            pause(3);
        }
    }

    public static void main(String[] args) throws IOException {
        int n = Integer.parseInt(args[1]);

        if (args[0].equals("locks"))
            new Thread(Rests::holds, "holds").start();
        for (int i = 0; i < n; i++) {
            Runnable does = i % 2 == 0 ? Rests::waitsForMonitor : Rests::waitsForLock;

            new Thread(args[0].equals("locks") ? does : Rests::naps, "rests-" + i).start();
        }
        System.out.println("READY");
        System.in.read();
        System.exit(0);
    }
}
