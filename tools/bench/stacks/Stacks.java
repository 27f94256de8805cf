/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Stacks same|other warm|cold: one thread some 35 Java calls deep, each of another method (Calls,
 * which stack_cost.sh makes), a few of them interpreted (exclude them from compilation), always the
 * same way or ever another one. Cold: at the end of each way it walks through 64 MB, twice, so that
 * nothing else is in the CPU's own caches: some 20 ms, after which the next sample is to come.
 */
final class Stacks {
    private static final int LINE = 8; /* longs of a cache line */
    static volatile long sum;
    private static long[] large;

    static void leaf(int way) {
        for (int i = 0; i < 2000; i++)
            sum += i;
        if (large != null)
            walk();
    }

    /* Each page has its lines read in turn, and the pages are 97 apart: no two in a row are near. */
    private static void walk() {
        int pages = large.length / 512;
        long n = 0;

        for (int round = 0; round < 2; round++)
            for (int p = 0; p < pages; p++)
                for (int i = 0, at = (int) (p * 97L % pages) * 512; i < 512; i += LINE)
                    n += large[at + i]++;
        sum += n;
    }

    private static void interpreted1(int way) {
        interpreted2(way);
        sum++;
    }

    private static void interpreted2(int way) {
        Calls.first(way);
        sum++;
    }

    public static void main(String[] args) throws Exception {
        boolean same = args[0].equals("same");

        large = args[1].equals("cold") ? new long[8 << 20] : null;
        Thread t = new Thread(() -> {
            int way = 1;
            for (;;) {
                interpreted1(way);
                way = same ? 1 : way * 1664525 + 1013904223 >>> 1;
            }
        }, "stacks");

        t.setDaemon(true);
        t.start();
        System.out.println("READY");
        while (System.in.read() >= 0)
            continue;
    }
}
