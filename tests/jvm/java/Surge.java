/* SPDX-License-Identifier: Apache-2.0 */
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Surge THREADS SURGES SECONDS: threads that work in three methods, and wait in them, in known shares. A tenth of them does
 * so for SECONDS, then all of them for as long, without much of a pause, and so on. What each method took of CPU time and
 * of time in all the threads measure themselves.
 */
final class Surge {
    private static final String[] NAMES = {"half", "third", "fifth"};
    private static final double[] WANT = {0.5, 0.3, 0.2};
    private static final long REST_NS = 20_000_000;
    private static volatile int active;
    private static volatile boolean done;
    private static volatile long pause;

    private static final class Worker extends Thread {
        final int number;
        final Shares cpu;
        final long[] wall = new long[NAMES.length];

        Worker(int number) {
            super("works-" + number);
            this.number = number;
            cpu = new Shares(number, NAMES, WANT);
            setDaemon(true);
        }

        @Override
        public void run() {
            while (!done) {
                if (number >= active)
                    Harness.sleep(REST_NS);
                else
                    step();
            }
        }

        private void step() {
            int kind = cpu.next();
            long ns = cpu.slice(100_000, 1_000_000), ran = Harness.cpu(), began = System.nanoTime();

            switch (kind) {
                case 0 -> half(ns);
                case 1 -> third(ns);
                default -> fifth(ns);
            }
            wall[kind] += System.nanoTime() - began;
            cpu.add(kind, Harness.cpu() - ran);
        }
    }

    /** It waits as long in proportion as it works, so that its share of time is that of CPU time. */
    private static void half(long ns) {
        Harness.burn(Harness.cpu() + ns);
        LockSupport.parkNanos(pause);
    }

    private static void third(long ns) {
        Harness.burn(Harness.cpu() + ns);
        LockSupport.parkNanos(pause);
    }

    private static void fifth(long ns) {
        Harness.burn(Harness.cpu() + ns);
        LockSupport.parkNanos(pause);
    }

    private static void load(int threads, long pauseNs, long seconds) {
        pause = pauseNs;
        active = threads;
        Harness.sleep(seconds * 1_000_000_000L);
    }

    private static void tell(List<Worker> workers) {
        Shares cpu = new Shares(0, NAMES, WANT);
        long all = 0;

        for (Worker w : workers)
            cpu.add(w.cpu);
        cpu.tell();
        for (Worker w : workers)
            for (long ns : w.wall)
                all += ns;
        for (int i = 0; i < NAMES.length; i++) {
            long sum = 0;

            for (Worker w : workers)
                sum += w.wall[i];
            Harness.say(String.format("WALL %s %.3f %d", NAMES[i], 100.0 * sum / Math.max(1, all), sum));
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int threads = Integer.parseInt(args[0]), surges = Integer.parseInt(args[1]);
        long seconds = Long.parseLong(args[2]);
        List<Worker> workers = new ArrayList<>();

        for (int i = 0; i < threads; i++)
            workers.add(new Worker(i));
        for (Worker w : workers)
            w.start();
        Harness.ready();
        Harness.awaitGo();
        for (int i = 0; i < surges; i++) {
            load(threads / 10, 10_000_000, seconds);
            load(threads, 500_000, seconds);
        }
        done = true;
        for (Worker w : workers)
            w.join();
        tell(workers);
        Harness.done();
    }
}
