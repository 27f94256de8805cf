/* SPDX-License-Identifier: Apache-2.0 */

/** Tables LIBRARY: NoRules, by another name; Tables idle: Idle with one busy thread. */
public final class Tables {
    private Tables() {
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("idle"))
            Idle.main(new String[] {"2", "1"});
        else
            NoRules.main(args);
    }
}
