/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Stacks same|other: one thread some 35 Java calls deep, each of another method (Calls, which
 * stack_cost.sh makes), a few of them interpreted (exclude them from compilation), always the same
 * way or ever another one.
 */
final class Stacks {
    static volatile long sum;

    static void leaf(int way) {
        for (int i = 0; i < 2000; i++)
            sum += i;
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
