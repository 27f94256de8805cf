// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.ThreadLocalRandom;

/**
 * NamesMove N: N threads "mover-K-..." at rest, whose names a collector keeps moving: each gets new
 * ones, among Strings of the same length that are garbage soon.
 */
public final class NamesMove {
    private static final String[] kept = new String[20_000];

    private static String digits() {
        return String.format("%016d%016d", ThreadLocalRandom.current().nextLong(1L << 50),
            ThreadLocalRandom.current().nextLong(1L << 50));
    }

    private static void litter(int n) {
        for (int i = 0; i < n; i++) {
            String s = digits();

            if (i % 8 == 0)
                kept[ThreadLocalRandom.current().nextInt(kept.length)] = s;
        }
    }

    private static void untilEnd() {
        Harness.awaitEnd();
        System.exit(0);
    }

    public static void main(String[] args) throws Exception {
        int n = Integer.parseInt(args[0]);
        Thread[] threads = new Thread[n];

        for (int i = 0; i < n; i++) {
            threads[i] = new Thread(() -> {
                try {
                    Thread.sleep(Long.MAX_VALUE);
                } catch (InterruptedException e) {
                }
            }, "mover-" + i + "-");
            threads[i].setDaemon(true);
            threads[i].start();
        }
        for (Thread t : threads)
            Harness.await(t, Thread.State.TIMED_WAITING);
        Harness.ready();
        Thread reader = new Thread(NamesMove::untilEnd);
        reader.setDaemon(true);
        reader.start();
        for (long round = 0;; round++) {
            for (int i = 0; i < n; i++) {
                threads[i].setName(String.format("mover-%d-%024d", i, round));
                litter(3000);
            }
        }
    }
}
