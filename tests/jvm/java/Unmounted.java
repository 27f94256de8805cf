/* SPDX-License-Identifier: Apache-2.0 */
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Unmounted THREADS [gc]: so many virtual threads that nobody runs: 5 of 10 parked in a, 3 asleep in b, 2 waiting for a
 * lock in c; half of each are of an executor. A few others change places all the time, between d, called by viaD alone,
 * and e, called by viaE alone. With `gc` there is garbage, and collections. Ends when it reads something. Needs JDK 21.
 */
final class Unmounted {
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final AtomicInteger CAME = new AtomicInteger();
    private static final int MOVERS = 20;
    private static volatile Object kept;

    private static void a() {
        for (;;)
            LockSupport.park();
    }

    private static void b() {
        try {
            for (;;)
                Thread.sleep(86_400_000);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void c() {
        LOCK.lock();
    }

    private static void d(int n) {
        LockSupport.parkNanos(100_000L * n);
    }

    private static void e(int n) {
        LockSupport.parkNanos(150_000L * n);
    }

    private static void viaA() {
        a();
    }

    private static void viaB() {
        b();
    }

    private static void viaC() {
        c();
    }

    private static void viaD(int n, int depth) {
        if (depth > 0)
            viaD(n, depth - 1);
        else
            d(n);
    }

    private static void viaE(int n, int depth) {
        if (depth > 0)
            viaE(n, depth - 1);
        else
            e(n);
    }

    private static void move(int n) {
        for (int i = 0;; i++) {
            viaD(n, i % 13);
            viaE(n, i % 7);
        }
    }

    private static void litter() {
        List<byte[]> some = new ArrayList<>();

        for (int i = 0;; i++) {
            some.add(new byte[100_000]);
            if (some.size() > 50)
                some = new ArrayList<>();
            kept = some;
            if (i % 20 == 0)
                LockSupport.parkNanos(1_000_000);
        }
    }

    private static Runnable place(int i) {
        int k = i % 10;

        return () -> {
            CAME.incrementAndGet();
            if (k < 5)
                viaA();
            else if (k < 8)
                viaB();
            else
                viaC();
        };
    }

    private static boolean rests(Object thread) {
        Thread.State s = ((Thread) thread).getState();

        return s == Thread.State.WAITING || s == Thread.State.TIMED_WAITING;
    }

    public static void main(String[] args) throws Exception {
        int n = Integer.parseInt(args[0]);
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        Method executor = Executors.class.getMethod("newVirtualThreadPerTaskExecutor");
        ExecutorService pool = (ExecutorService) executor.invoke(null);
        List<Object> threads = new ArrayList<>();

        LOCK.lock();
        for (int i = 0; i < n; i++) {
            if (i / 10 % 2 == 0)
                threads.add(start.invoke(null, place(i)));
            else
                pool.execute(place(i));
        }
        for (int i = 1; i <= MOVERS; i++) {
            int k = i;
            start.invoke(null, (Runnable) () -> move(k));
        }
        while (CAME.get() < n || !threads.stream().allMatch(Unmounted::rests))
            Thread.sleep(10);
        if (args.length > 1) {
            Thread t = new Thread(Unmounted::litter, "litter");
            t.setDaemon(true);
            t.start();
        }
        System.out.println("READY " + ProcessHandle.current().pid());
        System.in.read();
        Runtime.getRuntime().halt(0);
    }
}
