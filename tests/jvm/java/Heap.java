/* SPDX-License-Identifier: Apache-2.0 */
import java.util.ArrayList;
import java.util.List;

/**
 * What lives in a heap: Heap STEPS UNTIL KEEP_MB GARBAGE_MB PAUSE_MS, when it is told to go. Each step keeps KEEP_MB more
 * while UNTIL steps are not over, has a collection of all of the heap, and makes GARBAGE_MB that nobody
 * keeps; then it ends.
 */
public final class Heap {
    private static final int PIECE = 10_000;
    private static final List<byte[]> KEPT = new ArrayList<>();
    private static volatile Object last;

    private static void make(long mb, boolean keep) {
        for (long made = 0; made < mb * 1_000_000; made += PIECE) {
            byte[] piece = new byte[PIECE];

            last = piece;
            if (keep)
                KEPT.add(piece);
        }
    }

    public static void main(String[] args) throws Exception {
        int steps = Integer.parseInt(args[0]), until = Integer.parseInt(args[1]);

        Harness.ready();
        Harness.awaitGo();
        for (int i = 0; i < steps; i++) {
            make(i < until ? Long.parseLong(args[2]) : 0, true);
            System.gc();
            make(Long.parseLong(args[3]), false);
            Thread.sleep(Long.parseLong(args[4]));
        }
        Harness.say("DONE");
    }
}
