/* SPDX-License-Identifier: Apache-2.0 */
import java.lang.reflect.Method;

/**
 * VirtualNames: virtual threads "alpha", "beta", one with a name beyond Latin-1 and one without a
 * name, which do 5, 3, 2 and 1 parts of work and then let the next one run; and "pinned", which sleeps in
 * a class initializer and so keeps a carrier. Until standard input ends.
 *
 * The four are started by a virtual thread, and so all wait for the one carrier before the first of them
 * runs: of two queues, that of a thread that yields and one that others were put into from outside
 * meanwhile, the JDK's scheduler may serve the first for ever.
 * Needs JDK 21 and -Djdk.virtualThreadScheduler.parallelism=2: one carrier is left for the others.
 */
final class VirtualNames {
    private static volatile long sum;
    private static volatile boolean pinned;

    private static final class Pinned {
        static final int ONE;

        static {
            pinned = true;
            try {
                Thread.sleep(600_000);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            ONE = 1;
        }
    }

    /**
     * Work and not time: a machine with other things to do must not change the shares. In small turns, so that
     * many rounds fit into what a busy machine has left.
     */
    private static void spin(int parts) {
        for (; parts > 0; parts--)
            part();
    }

    /** A call each: while it is being compiled, who does many in one loop would be the first to have faster code. */
    private static void part() {
        for (int i = 40_000; i > 0; i--)
            sum++;
    }

    private static void turns(int parts) {
        for (;;) {
            spin(parts);
            Thread.yield();
        }
    }

    private static void start(String name, Runnable what) throws ReflectiveOperationException {
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        Method named = type.getMethod("name", String.class);

        if (name != null)
            builder = named.invoke(builder, name);
        type.getMethod("start", Runnable.class).invoke(builder, what);
    }

    private static void startFour() {
        try {
            start("alpha", () -> turns(5));
            start("beta", () -> turns(3));
            start("\u03b3\u00e4mma\ud83d\ude00", () -> turns(2));
            start(null, () -> turns(1));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        start("pinned", () -> sum += Pinned.ONE);
        while (!pinned)
            Thread.sleep(10);
        Thread.sleep(200);
        start("starts", VirtualNames::startFour);
        System.out.println("READY");
        while (System.in.read() >= 0)
            continue;
        System.exit(0);
    }
}
