/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * What a workload's workers have done, and how long each operation took, between two words from
 * the bench script: "mark" is answered by "MARK seconds operations p50 p99 p99.9" (ns) since the
 * mark before; "end" ends the program.
 */
final class Load {
    /** So many buckets for each power of two: values are right to less than one percent. */
    private static final int BITS = 7, SUB = 1 << BITS;
    private static final int BUCKETS = (64 - BITS) * SUB;
    private static final List<Worker> workers = new CopyOnWriteArrayList<>();

    private Load() {
    }

    /** Written by one thread and read by another without order: a mark may miss the last few. */
    static final class Worker {
        private final long[] counts = new long[BUCKETS];

        Worker() {
            workers.add(this);
        }

        void done(long beganNs) {
            counts[bucket(System.nanoTime() - beganNs)]++;
        }
    }

    static int bucket(long ns) {
        if (ns < SUB)
            return (int) Math.max(0, ns);
        int exponent = 63 - Long.numberOfLeadingZeros(ns);

        return (exponent - BITS + 1) * SUB + (int) (ns >>> exponent - BITS & SUB - 1);
    }

    /** The middle of the bucket. */
    static double value(int bucket) {
        if (bucket < SUB)
            return bucket;
        int exponent = bucket / SUB + BITS - 1;

        return Math.scalb(SUB + bucket % SUB + 0.5, exponent - BITS);
    }

    private static long[] sum() {
        long[] all = new long[BUCKETS];

        for (Worker w : workers)
            for (int i = 0; i < BUCKETS; i++)
                all[i] += w.counts[i];
        return all;
    }

    private static double quantile(long[] counts, long total, double q) {
        long left = (long) Math.ceil(total * q);

        for (int i = 0; i < BUCKETS; i++) {
            left -= counts[i];
            if (left <= 0)
                return total == 0 ? 0 : value(i);
        }
        return value(BUCKETS - 1);
    }

    private static void mark(long[] last, double seconds) {
        long[] now = sum(), counts = new long[BUCKETS];
        long total = 0;

        for (int i = 0; i < BUCKETS; i++) {
            counts[i] = now[i] - last[i];
            last[i] = now[i];
            total += counts[i];
        }
        // One string with its newline: the script must not see half a line.
        System.out.print(String.format("MARK %.3f %d %.0f %.0f %.0f%n", seconds, total,
            quantile(counts, total, 0.5), quantile(counts, total, 0.99),
            quantile(counts, total, 0.999)));
        System.out.flush();
    }

    /** Call when the workers run. Does not return. */
    static void serve() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        long[] last = new long[BUCKETS];
        long since = System.nanoTime();
        String line;

        System.out.println("READY " + ProcessHandle.current().pid());
        System.out.flush();
        while ((line = in.readLine()) != null && !line.equals("end")) {
            if (!line.equals("mark"))
                continue;
            long now = System.nanoTime();
            mark(last, (now - since) / 1e9);
            since = now;
        }
        System.exit(0);
    }
}
