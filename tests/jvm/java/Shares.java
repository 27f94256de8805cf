/* SPDX-License-Identifier: Apache-2.0 */
import java.util.SplittableRandom;

/**
 * Splits a thread's time in given shares. The kind that is furthest behind comes next, so that
 * every window much longer than a slice shows the shares; slices have random lengths, so that
 * nothing beats with a sampling interval.
 */
final class Shares {
    final String[] names;
    private final double[] want;
    private final long[] spent;
    private final SplittableRandom random;

    Shares(long seed, String[] names, double[] want) {
        this.names = names;
        this.want = want;
        this.spent = new long[want.length];
        this.random = new SplittableRandom(seed);
    }

    int next() {
        long total = total();
        int best = 0;
        double most = Double.NEGATIVE_INFINITY;

        for (int i = 0; i < want.length; i++) {
            double behind = want[i] * total - spent[i];

            if (behind > most) {
                most = behind;
                best = i;
            }
        }
        return best;
    }

    /** A slice length in ns. */
    long slice(long min, long max) {
        return random.nextLong(min, max);
    }

    void add(int kind, long ns) {
        spent[kind] += ns;
    }

    void add(Shares other) {
        for (int i = 0; i < spent.length; i++)
            spent[i] += other.spent[i];
    }

    long total() {
        long sum = 0;

        for (long s : spent)
            sum += s;
        return sum;
    }

    /** "TRUTH name percent ns" for each kind. */
    void tell() {
        for (int i = 0; i < spent.length; i++)
            Harness.say(String.format("TRUTH %s %.3f %d", names[i],
                100.0 * spent[i] / Math.max(1, total()), spent[i]));
    }
}
