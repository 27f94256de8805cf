/* SPDX-License-Identifier: Apache-2.0 */
import java.lang.reflect.Field;
import java.util.concurrent.locks.AbstractOwnableSynchronizer;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that are parked for objects which lie: of no class or an impossible one, moved to nowhere, owned by what is no
 * thread, by who waits for them, or in a circle. Beside them one that waits for a monitor, truly. The JVM has to be
 * killed: it would not survive a collection.
 */
final class HostileLocks {
    private static final int MARK = 0, KLASS = 8; /* in an object */
    private static Object unsafe;

    private static final class Own extends AbstractOwnableSynchronizer {
        private static final long serialVersionUID = 1;

        void give(Thread to) {
            setExclusiveOwnerThread(to);
        }
    }

    private static Object call(String name, Class<?>[] types, Object... args) {
        try {
            return unsafe.getClass().getMethod(name, types).invoke(unsafe, args);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static long offset(Class<?> c, String field) throws ReflectiveOperationException {
        return (Long)call("objectFieldOffset", new Class<?>[] {Field.class}, c.getDeclaredField(field));
    }

    private static void putInt(Object o, long at, int v) {
        call("putInt", new Class<?>[] {Object.class, long.class, int.class}, o, at, v);
    }

    private static void putLong(Object o, long at, long v) {
        call("putLong", new Class<?>[] {Object.class, long.class, long.class}, o, at, v);
    }

    private static void putObject(Object o, long at, Object v) {
        call("putObject", new Class<?>[] {Object.class, long.class, Object.class}, o, at, v);
    }

    private static Thread start(String name, Thread.State until, Runnable r) throws InterruptedException {
        Thread t = new Thread(r, name);

        t.setDaemon(true);
        t.start();
        Harness.await(t, until);
        return t;
    }

    private static void parkFor(Object blocker) {
        for (;;)
            LockSupport.park(blocker);
    }

    /** All of them sleep when they are spoilt, and never wake. */
    private static void lies() throws Exception {
        long exclusive = offset(AbstractOwnableSynchronizer.class, "exclusiveOwnerThread");
        long blocker = offset(Thread.class, "parkBlocker");
        Own[] own = new Own[16];
        Thread[] t = new Thread[own.length];

        for (int i = 0; i < own.length; i++) {
            Own o = new Own();

            o.give(Thread.currentThread());
            own[i] = o;
            t[i] = start("lies-" + i, Thread.State.WAITING, () -> parkFor(o));
        }
        putInt(own[0], KLASS, -1);
        putInt(own[1], KLASS, 0);
        putInt(own[2], KLASS, 0x1234567);
        putLong(own[3], MARK, 0);
        putLong(own[4], MARK, 3); /* moved to 0 */
        putLong(own[5], MARK, 0x7ffffffff003L);
        putLong(own[6], MARK, 2); /* a monitor at 0 */
        putInt(own[7], exclusive, -15);
        putInt(own[8], exclusive, 1);
        putObject(own[9], exclusive, own[9]);
        putObject(own[10], exclusive, new long[64]);
        putInt(t[11], blocker, -7);
        putInt(t[12], blocker, 1);
        own[13].give(t[13]);
        own[14].give(t[15]);
        own[15].give(t[14]);
    }

    private static void truth() throws InterruptedException {
        Object lock = new Object();

        start("holds", Thread.State.WAITING, () -> {
            synchronized (lock) {
                parkFor(null);
            }
        });
        start("waits", Thread.State.BLOCKED, () -> {
            synchronized (lock) {
                Harness.sink++;
            }
        });
    }

    public static void main(String[] args) throws Exception {
        Field f = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");

        f.setAccessible(true);
        unsafe = f.get(null);
        truth();
        lies();
        Harness.ready();
        Harness.awaitEnd();
    }
}
