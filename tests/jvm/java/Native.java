/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.io.InputStream;

/**
 * Native SECONDS: after "go" most CPU time goes to threads that Java did not start: short-lived
 * garbage for the collector, and the same class defined again and again, hot each time, for the
 * compilers.
 */
final class Native {
    private static final int LIVE = 1 << 14;

    /** What the compilers get to see, under a new loader each time: it may use no other class. */
    public static final class Hot implements Runnable {
        private static volatile long sink;

        @Override
        public void run() {
            StringBuilder sb = new StringBuilder();
            long x = 1;

            for (int i = 0; i < 12_000; i++) {
                x = step(x, i);
                if (sb.length() > 100)
                    sb.setLength(0);
                sb.append(x);
            }
            sink += sb.length();
        }

        static long step(long x, int i) {
            long y = x;

            for (int k = i & 7; k >= 0; k--)
                y = y * 31 + Integer.reverse((int) y) + (y % 13 == 0 ? k : -k);
            return y ^ x >>> 3;
        }
    }

    private static final class Loader extends ClassLoader {
        private final byte[] code;

        Loader(byte[] code) {
            super(Native.class.getClassLoader());
            this.code = code;
        }

        Runnable fresh() throws ReflectiveOperationException {
            Class<?> c = defineClass("Native$Hot", code, 0, code.length);

            return (Runnable) c.getDeclaredConstructor().newInstance();
        }
    }

    private static void compile(long end) {
        try (InputStream in = Native.class.getResourceAsStream("Native$Hot.class")) {
            byte[] code = in.readAllBytes();

            while (System.nanoTime() < end)
                new Loader(code).fresh().run();
        } catch (IOException | ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void allocate(long end) {
        byte[][] live = new byte[LIVE][];
        int i = 0;

        while (System.nanoTime() < end) {
            live[i++ & LIVE - 1] = new byte[512 + (i & 1023)];
            if ((i & 65535) == 0)
                Harness.sleep(2_000_000);
        }
        Harness.sink += live.length;
    }

    public static void main(String[] args) throws InterruptedException {
        long ns = Integer.parseInt(args[0]) * 1_000_000_000L;

        Harness.ready();
        Harness.awaitGo();
        long end = System.nanoTime() + ns;
        Thread a = new Thread(() -> allocate(end), "native-allocator-thread");
        Thread b = new Thread(() -> compile(end), "native-compiled-thread");
        a.start();
        b.start();
        a.join();
        b.join();
        Thread.sleep(500);
        Harness.done();
    }
}
