/* SPDX-License-Identifier: Apache-2.0 */

/** Late LIBRARY MS: after "go" it loads the library (late.c) and is in its code for so long. */
final class Late {
    private Late() {
    }

    static native void spin(long ms);

    public static void main(String[] args) {
        Harness.ready();
        Harness.awaitGo();
        System.load(args[0]);
        spin(Long.parseLong(args[1]));
        Harness.say("DONE");
        Harness.awaitEnd();
    }
}
