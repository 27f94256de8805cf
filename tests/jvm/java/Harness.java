/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CountDownLatch;

/**
 * What every workload shares: the words it exchanges with the test script, and the CPU clock.
 * A program prints "READY pid", waits for "go" where it has a phase to be measured, prints its
 * TRUTH lines and "DONE", and stays, idle, until it reads "end" or its standard input ends.
 */
final class Harness {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static volatile long sink;

    private static final BufferedReader IN =
        new BufferedReader(new InputStreamReader(System.in));

    private Harness() {
    }

    /** CPU time of the calling thread since its creation, in ns (CLOCK_THREAD_CPUTIME_ID). */
    static long cpu() {
        return THREADS.getCurrentThreadCpuTime();
    }

    static void ready() {
        say("READY " + ProcessHandle.current().pid());
    }

    static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    /** Returns at the line "go"; the program ends when the script has gone away. */
    static void awaitGo() {
        String line;

        do {
            line = line();
            if (line == null)
                System.exit(0);
        } while (!line.equals("go"));
    }

    static void awaitEnd() {
        String line;

        do {
            line = line();
        } while (line != null && !line.equals("end"));
    }

    private static String line() {
        try {
            return IN.readLine();
        } catch (IOException e) {
            return null;
        }
    }

    static void done() {
        say("DONE");
        awaitEnd();
        System.exit(0);
    }

    static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void await(Thread thread, Thread.State state) throws InterruptedException {
        while (thread.getState() != state)
            Thread.sleep(1);
    }

    static void sleep(long ns) {
        try {
            Thread.sleep(ns / 1_000_000, (int) (ns % 1_000_000));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Arithmetic that no compiler removes, about 50 us of it. */
    static long crunch(long x) {
        for (int i = 0; i < 25_000; i++)
            x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 29;
        return x;
    }

    /** Spend CPU until this thread's CPU clock says so. */
    static void burn(long untilCpu) {
        long x = sink;

        while (cpu() < untilCpu)
            x = crunch(x);
        sink = x;
    }
}
