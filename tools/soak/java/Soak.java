/* SPDX-License-Identifier: Apache-2.0 */
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.util.concurrent.Semaphore;
import java.util.function.LongUnaryOperator;

/**
 * Soak THREADS CLASSES: nothing of it stays as it is. So many threads a second start, spend 2 ms and
 * end; so many classes a second are defined, run until they are compiled, and dropped; now and then
 * all garbage is collected, which unloads them and their code. A few threads sleep all the while.
 */
final class Soak {
    /** The class that is defined again and again. */
    static final class Work implements LongUnaryOperator {
        @Override
        public long applyAsLong(long x) {
            for (int i = 0; i < 200; i++)
                x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 29;
            return x;
        }
    }

    private static final Semaphore running = new Semaphore(16);

    private static byte[] bytesOf(Class<?> c) throws IOException {
        try (InputStream in = c.getResourceAsStream(c.getName() + ".class");
             ByteArrayOutputStream out = new ByteArrayOutputStream()) {
            in.transferTo(out);
            return out.toByteArray();
        }
    }

    private static void start(String name, Runnable body) {
        Thread t = new Thread(body, name);

        t.setDaemon(true);
        t.start();
    }

    /** Runs the body so often a second; on a busy machine less often, and what was missed is missed. */
    private static void paced(int perSecond, Runnable body) {
        for (;;) {
            Harness.sleep(1_000_000_000L / perSecond);
            body.run();
        }
    }

    private static void shortLived() {
        if (running.tryAcquire())
            start("soak-short-lived", () -> {
                Harness.burn(Harness.cpu() + 2_000_000);
                running.release();
            });
    }

    private static void classOfItsOwn(byte[] bytes) {
        try {
            LongUnaryOperator work = (LongUnaryOperator) MethodHandles.lookup()
                .defineHiddenClass(bytes, true).lookupClass().getDeclaredConstructor().newInstance();

            for (int i = 0; i < 3000; i++)
                Harness.sink = work.applyAsLong(Harness.sink);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws IOException {
        int threads = Integer.parseInt(args[0]), classes = Integer.parseInt(args[1]);
        byte[] bytes = bytesOf(Work.class);

        start("soak-threads", () -> paced(threads, Soak::shortLived));
        start("soak-classes", () -> paced(classes, () -> classOfItsOwn(bytes)));
        start("soak-garbage", () -> {
            for (;;) {
                Harness.sleep(3_000_000_000L);
                System.gc();
            }
        });
        for (int i = 1; i <= 8; i++)
            start("soak-sleeper-" + i, () -> {
                for (;;)
                    Harness.sleep(70_000_000L);
            });
        Harness.ready();
        Harness.done();
    }
}
