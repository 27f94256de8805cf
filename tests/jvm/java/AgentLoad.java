/* SPDX-License-Identifier: Apache-2.0 */
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/**
 * AgentLoad MODE: code whose names are known. burn() calls step(), which is inlined.
 * "plain": one busy thread with a long name. "churn": a new thread every millisecond as well.
 * "fresh": new classes are compiled and thrown away all the time. "many N": N methods compiled
 * (hidden classes made of lambdas). Then, six times: at "go", two seconds of a 1 ms heartbeat, and the
 * longest gap in it as TRUTH gapI 0 NS.
 */
final class AgentLoad {
    static volatile int result;

    static int step(int x) {
        return x * 31 + 7;
    }

    static void burn(int n) {
        int x = n;

        for (int i = 0; i < n; i++)
            x = step(x) ^ i;
        result = x;
    }

    static void burnForEver() {
        while (true) {
            burn(100_000);
            Thread.yield();
        }
    }

    private static void daemon(String name, Runnable r) {
        Thread t = new Thread(r, name);

        t.setDaemon(true);
        t.start();
    }

    private static void churn() {
        for (int i = 0;; i++) {
            Thread s = new Thread(() -> burn(100), "short-" + i);

            s.start();
            try {
                s.join();
                Thread.sleep(1);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** A class loader of its own for every copy of Victim: the classes can be unloaded. */
    private static void fresh() {
        try (java.io.InputStream in = AgentLoad.class.getResourceAsStream("AgentLoad$Victim.class")) {
            byte[] code = in.readAllBytes();

            for (int i = 1;; i++) {
                Class<?> c = new ClassLoader(null) {
                    Class<?> define() {
                        return defineClass("AgentLoad$Victim", code, 0, code.length);
                    }
                }.define();
                IntUnaryOperator op =
                    (IntUnaryOperator) c.getDeclaredConstructor().newInstance();

                for (int k = 0; k < 3000; k++)
                    result += op.applyAsInt(k);
                if (i % 50 == 0)
                    System.gc();
            }
        } catch (ReflectiveOperationException | java.io.IOException e) {
            throw new IllegalStateException(e);
        }
    }

    public static final class Victim implements IntUnaryOperator {
        public Victim() {
        }

        @Override
        public int applyAsInt(int x) {
            int s = x;

            for (int i = 0; i < 10; i++)
                s = s * 31 + i;
            return s;
        }
    }

    private static long gap(long seconds) throws InterruptedException {
        long end = System.nanoTime() + seconds * 1_000_000_000L, last = System.nanoTime();
        long worst = 0;

        while (last < end) {
            Thread.sleep(1);
            long now = System.nanoTime();

            worst = Math.max(worst, now - last);
            last = now;
        }
        return worst;
    }

    private static void many(int n) throws Exception {
        byte[] code;
        List<Object> keep = new ArrayList<>();

        try (java.io.InputStream in = AgentLoad.class.getResourceAsStream("AgentLoad$Victim.class")) {
            code = in.readAllBytes();
        }
        for (int i = 0; i < n; i++) {
            Class<?> c = new ClassLoader(null) {
                Class<?> define() {
                    return defineClass("AgentLoad$Victim", code, 0, code.length);
                }
            }.define();
            IntUnaryOperator op = (IntUnaryOperator) c.getDeclaredConstructor().newInstance();

            for (int k = 0; k < 400; k++)
                result += op.applyAsInt(k);
            keep.add(op);
        }
        result += keep.size();
    }

    public static void main(String[] args) throws Exception {
        String mode = args[0];

        daemon("a-busy-thread-with-a-long-name", AgentLoad::burnForEver);
        if (mode.equals("churn"))
            daemon("churner", AgentLoad::churn);
        if (mode.equals("fresh"))
            daemon("fresh", AgentLoad::fresh);
        if (mode.equals("many"))
            many(Integer.parseInt(args[1]));
        Harness.ready();
        for (int i = 1; mode.equals("many") && i <= 6; i++) {
            Harness.awaitGo();
            Harness.say("TRUTH gap" + i + " 0 " + gap(2));
        }
        Harness.done();
    }
}
