// SPDX-License-Identifier: Apache-2.0
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * VirtualMove: virtual threads "kind-a-N" that run kindA(), and so on, while a collector moves their objects
 * and names, among other Strings and virtual threads that are garbage soon. Each lives for 50 ms and
 * starts another. They yield in that method itself: of one that comes back the callers may still lie in the heap.
 * Needs JDK 21.
 *
 * VirtualMove FILE: of its recording prints the samples of such threads whose name is of another kind than the
 * method that they run, of those without a name, of those that name the carrier, and of all.
 */
public final class VirtualMove {
    private static final int LIFE_NS = 50_000_000;
    private static final String[] kept = new String[20_000];
    private static volatile int sink;

    private static void litter(int n) {
        for (int i = 0; i < n; i++) {
            String s = Long.toString(ThreadLocalRandom.current().nextLong(1L << 50) + (1L << 50));

            if (i % 8 == 0)
                kept[ThreadLocalRandom.current().nextInt(kept.length)] = s;
        }
    }

    private static void turn() {
        litter(100);
        for (int i = 0; i < 20; i++)
            start("short-" + sink++, VirtualMove::nothing);
    }

    private static void nothing() {
    }

    private static void kindA(long until) {
        while (System.nanoTime() < until) {
            turn();
            Thread.yield();
        }
    }

    private static void kindB(long until) {
        while (System.nanoTime() < until) {
            turn();
            Thread.yield();
        }
    }

    private static void kindC(long until) {
        while (System.nanoTime() < until) {
            turn();
            Thread.yield();
        }
    }

    private static void kindD(long until) {
        while (System.nanoTime() < until) {
            turn();
            Thread.yield();
        }
    }

    private static void run(char kind, int n) {
        long until = System.nanoTime() + LIFE_NS;

        switch (kind) {
        case 'a' -> kindA(until);
        case 'b' -> kindB(until);
        case 'c' -> kindC(until);
        default -> kindD(until);
        }
        spawn(kind, n + 1);
    }

    private static void spawn(char kind, int n) {
        start("kind-" + kind + "-" + n, () -> run(kind, n));
    }

    private static void start(String name, Runnable what) {
        try {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            Class<?> type = Class.forName("java.lang.Thread$Builder");
            Method named = type.getMethod("name", String.class);

            type.getMethod("start", Runnable.class).invoke(named.invoke(builder, name), what);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean isVirtual(RecordedThread t) {
        return t.hasField("virtual") && t.getBoolean("virtual");
    }

    /**
     * The kind of the method of ours that the stack has, 0: none, or it is in the innermost piece of Java code: which of the
     * methods inlined there an address belongs to the JVM says only of its Java calls, not where it was interrupted or
     * called native code of the JVM.
     */
    private static char kind(RecordedEvent e) {
        boolean called = false;

        if (e.getStackTrace() == null)
            return 0;
        for (RecordedFrame f : e.getStackTrace().getFrames()) {
            if (called && f.getMethod().getType().getName().equals("VirtualMove")
                && f.getMethod().getName().matches("kind[A-D]"))
                return (char) (f.getMethod().getName().charAt(4) - 'A' + 'a');
            called |= f.getType().equals("Interpreted") || f.getType().endsWith(" compiled");
        }
        return 0;
    }

    private static String judged(RecordedEvent e, char kind) {
        RecordedThread t = e.getThread("sampledThread");
        String name = t.getJavaName();

        if (!isVirtual(t))
            return "carrier";
        if (name == null || name.isEmpty())
            return "unnamed";
        if (name.startsWith("kind-" + kind + "-"))
            return "right";
        System.err.println("in kind " + kind + ": '" + name + "', " + e.getEventType().getName());
        for (RecordedFrame f : e.getStackTrace().getFrames())
            System.err.println("    " + f.getMethod().getType().getName() + "." + f.getMethod().getName() + ":"
                + f.getLineNumber() + " " + f.getType());
        return "wrong";
    }

    private static void check(Path file) throws Exception {
        TreeMap<String, Integer> counts = new TreeMap<>();

        for (String s : new String[] {"right", "wrong", "unnamed", "carrier"})
            counts.put(s, 0);
        try (RecordingFile r = new RecordingFile(file)) {
            while (r.hasMoreEvents()) {
                RecordedEvent e = r.readEvent();
                char kind = e.hasField("sampledThread") ? kind(e) : 0;

                if (kind != 0)
                    counts.merge(judged(e, kind), 1, Integer::sum);
            }
        }
        counts.forEach((k, v) -> System.out.println(k + " " + v));
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            check(Path.of(args[0]));
            return;
        }
        for (char kind = 'a'; kind <= 'd'; kind++)
            for (int i = 0; i < 2; i++)
                spawn(kind, i * 1_000_000);
        Thread.sleep(200);
        Harness.ready();
        Harness.awaitEnd();
        System.exit(0);
    }
}
