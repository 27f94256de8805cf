/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Rests naps|locks|asks|wakes THREADS: threads that nap for 0.3 ms over and over, 30 methods deep; half of them
 * wait for a monitor and half for a lock, which another thread has for 200 and 300 ms at a time; half of them ask the
 * others by a connection each, and have an answer after 5 ms; half of them park until one of the others wakes them, 5 ms later.
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

    private static void answers(Socket s) {
        try {
            while (s.getInputStream().read() >= 0) {
                pause(5);
                s.getOutputStream().write(1);
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static long ask(Socket s, int depth) throws IOException {
        if (depth > 0)
            return ask(s, depth - 1) + 1;
        s.getOutputStream().write(1);
        return s.getInputStream().read();
    }

    private static void asks(Socket s) {
        try {
            while (true)
                sum += ask(s, DEPTH);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void connect(int pairs) throws IOException {
        try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            for (int i = 0; i < pairs; i++) {
                Socket asks = new Socket(server.getInetAddress(), server.getLocalPort()), answers = server.accept();

                new Thread(() -> answers(answers), "answers-" + i).start();
                new Thread(() -> asks(asks), "asks-" + i).start();
            }
        }
    }

    private static long park(int depth) {
        if (depth > 0)
            return park(depth - 1) + 1;
        LockSupport.park();
        return 0;
    }

    private static void parks() {
        while (true)
            sum += park(DEPTH);
    }

    private static void wakes(Thread t) {
        while (true) {
            pause(5);
            LockSupport.unpark(t);
        }
    }

    private static void pair(int pairs) {
        for (int i = 0; i < pairs; i++) {
            Thread parks = new Thread(Rests::parks, "parks-" + i);

            parks.start();
            new Thread(() -> wakes(parks), "wakes-" + i).start();
        }
    }

    private static void rest(boolean locks, int n) {
        if (locks)
            new Thread(Rests::holds, "holds").start();
        for (int i = 0; i < n; i++) {
            Runnable does = i % 2 == 0 ? Rests::waitsForMonitor : Rests::waitsForLock;

            new Thread(locks ? does : Rests::naps, "rests-" + i).start();
        }
    }

    public static void main(String[] args) throws IOException {
        int n = Integer.parseInt(args[1]);

        if (args[0].equals("asks"))
            connect(n / 2);
        else if (args[0].equals("wakes"))
            pair(n / 2);
        else
            rest(args[0].equals("locks"), n);
        System.out.println("READY");
        System.in.read();
        System.exit(0);
    }
}
