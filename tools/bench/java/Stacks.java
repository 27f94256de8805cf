/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Stacks same|other: one thread some 35 Java calls deep, a few of them interpreted (exclude them
 * from compilation), always the same way or ever another one.
 */
final class Stacks {
    private static final int DEPTH = 30;
    private static volatile long sum;

    private static void leaf() {
        for (int i = 0; i < 2000; i++)
            sum += i;
    }

    private static void a(int depth, int way) {
        if (depth == 0)
            leaf();
        else if ((way & 1) == 0)
            a(depth - 1, way >> 1);
        else
            b(depth - 1, way >> 1);
        sum++;
    }

    private static void b(int depth, int way) {
        if (depth == 0)
            leaf();
        else if ((way & 1) == 0)
            b(depth - 1, way >> 1);
        else
            a(depth - 1, way >> 1);
        sum--;
    }

    private static void interpreted1(int way) {
        interpreted2(way);
        sum++;
    }

    private static void interpreted2(int way) {
        a(DEPTH, way);
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
