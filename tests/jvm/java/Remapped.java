/* SPDX-License-Identifier: Apache-2.0 */

/** A thread works in a library, args[1], that is closed after 1 s of CPU time; then in another, args[2], for 3. */
public final class Remapped {
    private Remapped() {
    }

    static native long work(String path, String name, long until);

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        Thread t = new Thread(() -> {
            long first = work(args[1], "alpha", 1000);

            System.out.println(first != 0 && first == work(args[2], "omega", 4000)
                ? "SAME" : "OTHER");
        }, "remapped");

        t.setDaemon(true);
        Harness.ready();
        Harness.awaitGo();
        t.start();
        Harness.awaitEnd();
    }
}
