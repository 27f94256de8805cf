// SPDX-License-Identifier: Apache-2.0
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.net.ServerSocket;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntUnaryOperator;

/**
 * Threads that come to rest at known places in all kinds of frames: interpreted, compiled with
 * inlining (each path is warmed up with short parks before the long one, so that nothing on it is
 * deoptimised by going a new way), native, lambdas, method handles, reflection, constructors, class
 * initialisers, monitors.
 */
public class Rest {
    static final long LONG = Long.MAX_VALUE / 4;
    static final int WARM = Integer.getInteger("warm", 12000);
    static final Object ready = new Object();
    static final AtomicInteger starting = new AtomicInteger();
    static final Object held = new Object();
    static volatile int sink;

    interface Shape {
        int rest(long ns, int depth);
    }

    static final class Square implements Shape {
        public int rest(long ns, int depth) {
            return down(ns, depth) + 1;
        }
    }

    static final class Circle implements Shape {
        public int rest(long ns, int depth) {
            int r = down(ns, depth);
            return r * 2;
        }
    }

    static final class Star implements Shape {
        public int rest(long ns, int depth) {
            synchronized (this) {
                return down(ns, depth) - 1;
            }
        }
    }

    /** Each thread has its own, since one rests with a monitor held. */
    static final ThreadLocal<Shape[]> shapes =
            ThreadLocal.withInitial(() -> new Shape[] {new Square(), new Circle(), new Star()});

    static int down(long ns, int depth) {
        if (depth > 0)
            return shapes.get()[depth % 3].rest(ns, depth - 1);
        return leaf(ns);
    }

    static int leaf(long ns) {
        LockSupport.parkNanos(ns);
        return sink;
    }

    static int inlined1(long ns) {
        return inlined2(ns) + 1;
    }

    static int inlined2(long ns) {
        int a = sink;
        int b = inlined3(
                ns);
        return a + b;
    }

    static int inlined3(long ns) {
        return leaf(ns) ^ 3;
    }

    static int lambda(long ns) {
        IntUnaryOperator op = x -> x + leaf(ns);
        return op.andThen(y -> y + 1).applyAsInt(3);
    }

    static int sorted(long ns) {
        Integer[] list = {3, 1};
        Arrays.sort(list, (a, b) -> {
            leaf(ns);
            return a - b;
        });
        return list[0];
    }

    static int stream(long ns) {
        return List.of(1).stream().mapToInt(x -> x + leaf(ns)).sum();
    }

    static final MethodHandle handle;

    static {
        try {
            handle = MethodHandles.lookup().findStatic(Rest.class, "inlined1",
                    MethodType.methodType(int.class, long.class));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static int viaHandle(long ns) {
        try {
            return (int) handle.invokeExact(ns);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    static int viaReflection(long ns) {
        try {
            return (int) Rest.class.getDeclaredMethod("inlined1", long.class).invoke(null, ns);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static int caught(long ns) {
        try {
            Integer.parseInt("x");
        } catch (NumberFormatException e) {
            return leaf(ns);
        } finally {
            sink++;
        }
        return 0;
    }

    static final class Built {
        final int v;

        Built(long ns) {
            v = leaf(ns);
        }
    }

    static final class Initialised {
        static final int V = leaf(LONG);
    }

    static final class PinnedHere {
        static final int V = leaf(LONG);
    }

    /** One whose frames stay on its carrier: a class's initialiser is called by native code. */
    static void virtualThread() throws ReflectiveOperationException {
        if (Runtime.version().feature() < 21)
            return;
        Runnable run = () -> sink += PinnedHere.V;
        Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, run);
    }

    static int many(long a, int b, double c, Object d, long e, long f, long g, long h, long i) {
        return leaf(i) + (int) (a + b + c + e + f + g + h);
    }

    interface Path {
        int go(long ns) throws Exception;
    }

    static void thread(String name, int warm, Path p) {
        starting.incrementAndGet();
        Thread t = new Thread(() -> run(warm, p), name);
        t.setDaemon(true);
        t.start();
    }

    static void run(int warm, Path p) {
        try {
            for (int i = 0; i < warm; i++)
                sink += p.go(1);
            starting.decrementAndGet();
            p.go(LONG);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    static int recursion(long ns, int n) {
        return n == 0 ? leaf(ns) : recursion(ns, n - 1) + 1;
    }

    public static void main(String[] args) throws Exception {
        thread("cold", 0, Rest::inlined1);
        thread("cold-deep", 0, ns -> down(ns, 40));
        thread("cold-sleep", 0, ns -> {
            Thread.sleep(ns / 1000000 + 1);
            return 0;
        });
        thread("cold-recursion", 0, ns -> recursion(ns, 300));
        thread("cold-init", 0, ns -> Initialised.V);
        thread("cold-many", 0, ns -> many(1, 2, 3, null, 4, 5, 6, 7, ns));
        thread("cold-stream", 0, Rest::stream);
        thread("cold-reflection", 0, Rest::viaReflection);
        thread("inlined", WARM, Rest::inlined1);
        thread("shapes", WARM, ns -> down(ns, 7));
        thread("lambda", WARM, Rest::lambda);
        thread("sorted", WARM, Rest::sorted);
        thread("stream", WARM, Rest::stream);
        thread("handle", WARM, Rest::viaHandle);
        thread("reflection", WARM, Rest::viaReflection);
        thread("caught", WARM, Rest::caught);
        thread("built", WARM, ns -> new Built(ns).v);
        thread("many", WARM, ns -> many(1, 2, 3, null, 4, 5, 6, 7, ns));
        thread("recursion", WARM / 4, ns -> recursion(ns, 30));
        thread("wait \u00e4\u4e16\ud83d\ude00", WARM / 8, ns -> {
            synchronized (ready) {
                ready.wait(ns == 1 ? 0 : ns / 1000000, 1);
            }
            return 0;
        });
        thread("accept", 0, ns -> {
            try (ServerSocket s = new ServerSocket(0)) {
                s.accept();
            }
            return 0;
        });
        virtualThread();
        ReentrantLock lock = new ReentrantLock();
        lock.lock();
        thread("lock", 0, ns -> {
            lock.lock();
            return 0;
        });
        synchronized (held) {
            thread("monitor", 0, ns -> {
                synchronized (held) {
                    return 0;
                }
            });
            while (starting.get() > 0)
                Thread.sleep(20);
            Thread.sleep(300);
            System.out.println("READY " + ProcessHandle.current().pid());
            System.out.println("DONE");
            while (System.in.read() != 'e')
                continue;
        }
    }
}
