/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.CountDownLatch;

/**
 * Split THREADS CPU_MS: after "go" every thread spends CPU_MS of CPU time, 50/30/20% of it in
 * three methods; CPU_MS 0 means until the end, from the start. Run with
 * -XX:CompileCommand=dontinline,Split::* where every frame has to be a physical one.
 */
final class Split {
    private static final String[] NAMES = {"Split.price", "Split.parse", "Split.digest"};
    private static final double[] WANT = {0.5, 0.3, 0.2};
    private static final long MIN_SLICE = 15_000_000, MAX_SLICE = 65_000_000;

    private static long[] data = new long[4096];

    static long price(long x, long until) {
        do {
            x = priceOrders(x);
        } while (Harness.cpu() < until);
        return x;
    }

    static long priceOrders(long x) {
        for (int i = 0; i < 40_000; i++)
            x = x * 31 + i ^ x >>> 17;
        return x;
    }

    static long parse(long x, long until) {
        do {
            x = parseLines(x);
        } while (Harness.cpu() < until);
        return x;
    }

    static long parseLines(long x) {
        for (int i = 0; i < 40_000; i++)
            x += data[(int) (x >>> 7 & 4095)] ^ (x << 3) + i;
        return x;
    }

    static long digest(long x, long until) {
        do {
            x = digestBlock(x);
        } while (Harness.cpu() < until);
        return x;
    }

    static long digestBlock(long x) {
        for (int i = 0; i < 40_000; i++)
            x = Long.rotateLeft(x, 13) * 0x9E3779B97F4A7C15L + i;
        return x;
    }

    static long turn(int kind, long x, long until) {
        switch (kind) {
        case 0:
            return price(x, until);
        case 1:
            return parse(x, until);
        default:
            return digest(x, until);
        }
    }

    /** Ends when the thread's CPU clock passes `end`; what was spent is in `s`. */
    static void work(Shares s, long end) {
        long x = s.hashCode(), before = Harness.cpu();

        while (before < end) {
            int kind = s.next();
            long slice = s.slice(MIN_SLICE, MAX_SLICE), after;

            x = turn(kind, x, Math.min(end, before + slice));
            after = Harness.cpu();
            s.add(kind, after - before);
            before = after;
        }
        Harness.sink = x;
    }

    public static void main(String[] args) {
        int n = Integer.parseInt(args[0]);
        long ms = Long.parseLong(args[1]);
        Shares all = new Shares(0, NAMES, WANT);
        CountDownLatch warm = new CountDownLatch(n), go = new CountDownLatch(1),
            done = new CountDownLatch(n);

        for (int i = 0; i < data.length; i++)
            data[i] = i * 0x5DEECE66DL;
        for (int i = 0; i < n; i++) {
            long seed = i + 1;
            Thread t = new Thread(() -> {
                work(new Shares(seed, NAMES, WANT), Harness.cpu() + 500_000_000L);
                warm.countDown();
                if (ms > 0)
                    Harness.await(go);
                Shares s = new Shares(seed, NAMES, WANT);
                long before = Harness.cpu();
                work(s, ms > 0 ? before + ms * 1_000_000 : Long.MAX_VALUE);
                long used = Harness.cpu() - before;
                synchronized (all) {
                    all.add(s);
                    Harness.say("TRUTH " + Thread.currentThread().getName()
                        + " - " + used);
                }
                done.countDown();
                Harness.await(new CountDownLatch(1));
            }, "split-worker-number-" + seed);
            t.setDaemon(true);
            t.start();
        }
        Harness.await(warm);
        Harness.ready();
        if (ms > 0) {
            Harness.awaitGo();
            go.countDown();
            Harness.await(done);
            all.tell();
        }
        Harness.done();
    }
}
