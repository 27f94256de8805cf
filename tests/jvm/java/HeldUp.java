/* SPDX-License-Identifier: Apache-2.0 */
import java.nio.ByteBuffer;

/**
 * HeldUp THREADS: a thread that waits for a class that another one initializes, for ever, and so many that
 * allocate pairs of buffers of 50 MiB.
 */
final class HeldUp {
    private static final int BUFFER = 50 << 20;
    private static volatile Object last;

    static final class Slow {
        static final int VALUE;

        static {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            VALUE = 1;
        }

        static int value() {
            return VALUE;
        }
    }

    private static void allocate() {
        for (;;) {
            try {
                ByteBuffer one = ByteBuffer.allocate(BUFFER), two = ByteBuffer.allocate(BUFFER);

                last = one;
                last = two;
            } catch (OutOfMemoryError e) {
                last = null; // on a busy machine others have taken all that a collection has freed
            }
        }
    }

    private static Thread start(String name, Runnable r) {
        Thread t = new Thread(r, name);

        t.setDaemon(true);
        t.start();
        return t;
    }

    public static void main(String[] args) throws Exception {
        Thread first = start("initializes", () -> Harness.sink = Slow.value());

        Harness.await(first, Thread.State.TIMED_WAITING);
        start("needs-class", () -> Harness.sink = Slow.value());
        for (int i = 0; i < Integer.parseInt(args[0]); i++)
            start("allocates-" + i, HeldUp::allocate);
        Harness.ready();
        Harness.done();
    }
}
