/* SPDX-License-Identifier: Apache-2.0 */
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual THREADS [VIRTUAL-THREADS]: virtual threads that run, yield, sleep, park, and sleep within
 * a monitor (which keeps their carrier before JDK 24), until standard input ends. Needs JDK 21.
 */
final class Virtual {
    private static volatile long sum;
    private static volatile boolean stop;

    private static void burn(int depth) {
        if (depth > 0) {
            burn(depth - 1);
            sum++;
            return;
        }
        for (int i = 0; i < 20_000; i++)
            sum += i;
    }

    private static void pinned() throws InterruptedException {
        synchronized (new Object()) {
            Thread.sleep(1);
        }
    }

    private static void live(int n) {
        try {
            for (int round = n; !stop; round++) {
                burn(round % 30);
                switch (round % 4) {
                    case 0 -> Thread.yield();
                    case 1 -> Thread.sleep(2);
                    case 2 -> LockSupport.parkNanos(1_000_000);
                    default -> pinned();
                }
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static Method starter() {
        try {
            return Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException e) {
            throw new AssertionError("this JVM has no virtual threads", e);
        }
    }

    public static void main(String[] args) throws Exception {
        int n = args.length > 0 ? Integer.parseInt(args[0]) : 50;
        Method start = starter();

        for (int i = 0; i < n; i++) {
            int k = i;
            try {
                start.invoke(null, (Runnable) () -> live(k));
            } catch (InvocationTargetException e) {
                throw new AssertionError(e);
            }
        }
        System.out.println("READY");
        while (System.in.read() >= 0)
            continue;
        stop = true;
    }
}
