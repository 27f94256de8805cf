/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Queue LIBRARY DEPTH: a thread per processor that is in native code all the time, below DEPTH Java
 * frames of its own methods: it never comes by where a JVM's own sampler would have it drained.
 */
final class Queue {
    /** Spends `ns` of CPU time; does not return before. tools/accuracy/spin.c. */
    private static native void spin(long ns);

    static int below(int depth) {
        if (depth > 1)
            return below(depth - 1) + 1;
        spin(Long.MAX_VALUE);
        return 0;
    }

    public static void main(String[] args) {
        int depth = Integer.parseInt(args[1]);

        System.load(args[0]);
        for (int i = 1; i <= Runtime.getRuntime().availableProcessors(); i++) {
            Thread t = new Thread(() -> below(depth), "queue-busy-" + i);

            t.setDaemon(true);
            t.start();
        }
        Harness.sleep(1_000_000_000);
        Harness.ready();
        Harness.awaitEnd();
        System.exit(0);
    }
}
