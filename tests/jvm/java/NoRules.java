/* SPDX-License-Identifier: Apache-2.0 */

/** Threads that spend all their time in a native library (args[0]) which no unwinder can walk. */
public final class NoRules {
    private NoRules() {
    }

    static native long burn(long ms, long fp);

    static native long sleep(long ms);

    static void burns(long fp) {
        while (true)
            burn(20, fp);
    }

    static void sleeps() {
        while (true)
            sleep(60);
    }

    private static void start(String name, Runnable body) {
        Thread t = new Thread(body, name);

        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        start("burns-0", () -> burns(0));
        start("burns-1", () -> burns(1));
        start("sleeps", NoRules::sleeps);
        Harness.ready();
        Harness.awaitEnd();
    }
}
