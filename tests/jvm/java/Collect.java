/* SPDX-License-Identifier: Apache-2.0 */
import java.util.ArrayDeque;

/**
 * Makes garbage: Collect MB_PER_SECOND [KEEP_MB [GC_EACH_MS]]. KEEP_MB of it live for a while, so that some is
 * promoted; System.gc() is called each GC_EACH_MS, 0 never. Until its standard input ends or says so; a collection that
 * is under way then ends before it does, so that the JVM's own recording has it.
 */
public final class Collect {
    private static final int PIECE = 10_000;
    private static volatile Object last;
    private static volatile boolean ended;

    private static void make(long bytes, ArrayDeque<byte[]> kept, long keep) {
        for (long made = 0; made < bytes; made += PIECE) {
            byte[] piece = new byte[PIECE];

            last = piece;
            if (keep > 0 && made % (10 * PIECE) == 0)
                kept.add(piece);
            while (kept.size() * (long) PIECE > keep)
                kept.remove();
        }
    }

    public static void main(String[] args) throws Exception {
        long rate = Long.parseLong(args[0]) * 1_000_000, keep = args.length > 1 ? Long.parseLong(args[1]) * 1_000_000 : 0;
        long each = args.length > 2 ? Long.parseLong(args[2]) * 1_000_000 : 0, next = System.nanoTime() + each;
        ArrayDeque<byte[]> kept = new ArrayDeque<>();
        Thread end = new Thread(() -> {
            try {
                int c;

                while ((c = System.in.read()) >= 0 && c != 'e')
                    ;
            } catch (java.io.IOException e) {
                // it has ended
            }
            ended = true;
        });

        end.setDaemon(true);
        end.start();
        System.out.println("READY");
        for (long start = System.nanoTime(), made = 0; !ended;) {
            long due = (long) ((System.nanoTime() - start) / 1e9 * rate);

            if (due > made) {
                make(due - made, kept, keep);
                made = due;
            }
            if (each > 0 && System.nanoTime() > next) {
                System.gc();
                next = System.nanoTime() + each;
            }
            Thread.sleep(2);
        }
        System.gc();
    }
}
