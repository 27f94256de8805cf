/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Compiled code with the smallest frames calls an interpreted method, as often as it can: the test
 * says which by -XX:CompileCommand. run() calls top(), that mid(), that leafy().
 */
public final class Enter {
    private static int sink;

    private Enter() {
    }

    static int leafy(int q, int f) {
        return q + f;
    }

    static int mid(int q, int f) {
        return leafy(q, f) + 1;
    }

    static int top(int q, int f) {
        return mid(q, f) + 3;
    }

    static void run() {
        int a = 1;

        for (int i = 0; i < 10000; i++)
            a += top(a, i);
        sink = a;
    }

    public static void main(String[] args) throws Exception {
        Thread t = new Thread(() -> {
            while (true)
                run();
        }, "enter");

        t.setDaemon(true);
        t.start();
        Thread.sleep(1000); // for the compiler
        Harness.ready();
        Harness.awaitEnd();
    }
}
