/* SPDX-License-Identifier: Apache-2.0 */
/** Threads one after the other, each of which sleeps once: Lives HOW_MANY MS, when it is told to go. */
public final class Lives {
    public static void main(String[] args) throws Exception {
        int n = Integer.parseInt(args[0]);
        long ms = Long.parseLong(args[1]);

        Harness.ready();
        Harness.awaitGo();
        for (int i = 0; i < n; i++) {
            Thread t = new Thread(() -> {
                try {
                    Thread.sleep(ms);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }, "life-" + i);

            t.start();
            t.join();
        }
        System.out.println("DONE");
        Harness.awaitEnd();
    }
}
