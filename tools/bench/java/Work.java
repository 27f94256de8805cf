/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;

/**
 * The workloads of tools/bench that need nothing but a JDK. An operation is counted each time:
 *
 * Work idle THREADS      so many threads that wait for ever, and one busy one per processor
 * Work pingpong PAIRS    an object handed there and back through two SynchronousQueues
 * Work compute           about 0.2 ms of arithmetic, a busy thread per processor
 * Work deep DEPTH        the same below so many calls
 * Work alloc             2,000 small objects, one in 16 of which lives for a while
 */
final class Work {
    static volatile long sink;

    private interface Body {
        void run() throws InterruptedException;
    }

    private static void start(String name, long stack, Body body) {
        Thread t = new Thread(null, () -> {
            try {
                body.run();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }, name, stack);

        t.setDaemon(true);
        t.start();
    }

    private static void perProcessor(String name, Body body) {
        for (int i = 1; i <= Runtime.getRuntime().availableProcessors(); i++)
            start(name + "-" + i, 0, body);
    }

    static long crunch(long x) {
        for (int i = 0; i < 100_000; i++)
            x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 29;
        return x;
    }

    static long below(int depth, long x) {
        return depth > 0 ? below(depth - 1, x + depth) + 1 : crunch(x);
    }

    private static void compute(int depth) {
        Load.Worker w = new Load.Worker();

        for (long x = 1;;) {
            long began = System.nanoTime();

            x = below(depth, x);
            sink = x;
            w.done(began);
        }
    }

    private static void allocate() {
        Load.Worker w = new Load.Worker();
        Object[] kept = new Object[1 << 16];
        int next = 0;

        for (;;) {
            long began = System.nanoTime();

            for (int i = 0; i < 2000; i++) {
                byte[] b = new byte[16 + (i * 37 & 255)];

                if ((i & 15) == 0)
                    kept[next++ & kept.length - 1] = b;
                sink = b.length;
            }
            w.done(began);
        }
    }

    private static void pair(int number) {
        SynchronousQueue<Integer> there = new SynchronousQueue<>(), back = new SynchronousQueue<>();

        start("left-" + number, 0, () -> {
            Load.Worker w = new Load.Worker();

            for (;;) {
                long began = System.nanoTime();

                there.put(1);
                back.take();
                w.done(began);
            }
        });
        start("right-" + number, 0, () -> {
            for (;;)
                back.put(there.take());
        });
    }

    private static void idle(int threads) throws InterruptedException {
        CountDownLatch started = new CountDownLatch(threads), never = new CountDownLatch(1);

        for (int i = 1; i <= threads; i++)
            start("idle-" + i, 256 << 10, () -> {
                started.countDown();
                never.await();
            });
        started.await();
        perProcessor("busy", () -> compute(0));
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        int n = args.length > 1 ? Integer.parseInt(args[1]) : 0;

        switch (args[0]) {
        case "idle":
            idle(n);
            break;
        case "pingpong":
            for (int i = 1; i <= n; i++)
                pair(i);
            break;
        case "compute":
            perProcessor("compute", () -> compute(0));
            break;
        case "deep":
            perProcessor("deep", () -> compute(n));
            break;
        case "alloc":
            perProcessor("alloc", Work::allocate);
            break;
        default:
            throw new IllegalArgumentException("unknown workload " + args[0]);
        }
        Load.serve();
    }
}
