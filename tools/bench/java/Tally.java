/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Tally FILE FROM TO WALL_NS [CLASS]: what any profiler's recording has between two instants (ns
 * since 1970), read by the JDK's parser. Lines:
 *
 *   cpu N          CPU samples: jdk.ExecutionSample, jdk.CPUTimeSample (not the failed)
 *   native N       jdk.NativeMethodSample
 *   failed N       jdk.CPUTimeSample without a stack
 *   wall N         profiler.WallClockSample, ticks: a record of n ticks from time t on has them
 *                  at t, t + WALL_NS, ...; those within the window count. async-profiler's ticks
 *                  lie evenly in the record's span: its rounds take longer with many threads
 *   lost N         jdk.CPUTimeSamplesLost; gnomon.SamplesLost of CPU samples
 *   nostack N      of cpu + wall: without a frame
 *   complete N     of cpu + wall: not truncated and down to the thread's first method
 *   deepest N      frames of the deepest stack
 *   twice N        wall records that stand for ticks another of the thread stands for
 *   by VERSION ENGINE                            async-profiler: which, and its source of CPU samples
 *   thread TID cpu N NAME
 *   thread TID STATE N NAME                      wall
 *   method TID cpu|wall N METHOD                 of CLASS, the innermost of it in a stack
 */
final class Tally {
    private static final List<String> CPU =
        List.of("jdk.ExecutionSample", "jdk.CPUTimeSample");

    private final Map<String, Long> sums = new TreeMap<>();
    private final Map<Long, List<long[]>> records = new TreeMap<>();
    private final long from, to, wallNs;
    private final String klass;
    private String version, engine;

    private Tally(long from, long to, long wallNs, String klass) {
        this.from = from;
        this.to = to;
        this.wallNs = wallNs;
        this.klass = klass;
        for (String k : List.of("cpu", "native", "failed", "wall", "lost", "nostack", "complete",
            "deepest", "twice"))
            sums.put(k, 0L);
    }

    private void add(String key, long n) {
        if (n > 0)
            sums.merge(key, n, Long::sum);
    }

    private static long start(RecordedEvent e) {
        return e.getStartTime().getEpochSecond() * 1_000_000_000L + e.getStartTime().getNano();
    }

    private static RecordedThread thread(RecordedEvent e) {
        if (e.hasField("sampledThread"))
            return e.getThread("sampledThread");
        return e.hasField("eventThread") ? e.getThread("eventThread") : null;
    }

    private static long tid(RecordedEvent e) {
        RecordedThread t = thread(e);

        return t == null ? 0 : t.getOSThreadId();
    }

    private static String threadName(RecordedEvent e) {
        RecordedThread t = thread(e);

        if (t == null)
            return "?";
        return t.getJavaName() != null ? t.getJavaName() : String.valueOf(t.getOSName());
    }

    private static String name(RecordedFrame f) {
        RecordedMethod m = f.getMethod();

        if (m == null)
            return "?";
        return (m.getType() == null ? "" : m.getType().getName() + ".") + m.getName();
    }

    /** A thread's first method, in Java or, where native frames are told, in C. */
    private static boolean isStart(String name) {
        return name.endsWith("Thread.run") || name.endsWith("Thread.runWith")
            || name.endsWith("Reference$ReferenceHandler.run")
            || name.endsWith(".main") || name.contains("clone") || name.endsWith("_start")
            || name.contains("start_thread") || name.endsWith("VirtualThread.runContinuation");
    }

    /** What the C library calls first in a thread of a JVM. */
    private static boolean isEntry(String name) {
        return name.endsWith("thread_native_entry") || name.endsWith("ThreadJavaMain");
    }

    /** Without its debugging symbols the C library does not tell what its frames are. */
    private static boolean isUnnamedLibc(String name) {
        return name.startsWith("libc.so.6.+0x");
    }

    /** async-profiler's for what it finds beyond the first frame of a program. */
    private static boolean isUnknown(String name) {
        return name.equals(".unknown") || name.endsWith("[unknown]");
    }

    private static boolean isComplete(RecordedStackTrace s) {
        List<RecordedFrame> f = s.getFrames();
        int last = f.size() - 1;

        if (last > 0 && isUnknown(name(f.get(last))))
            last--;
        int i = last;

        while (i > 0 && isUnnamedLibc(name(f.get(i))))
            i--;
        return !s.isTruncated()
            && (isStart(name(f.get(last))) || i < last && isEntry(name(f.get(i))));
    }

    private void stack(RecordedEvent e, String kind, long n) {
        RecordedStackTrace s = e.getStackTrace();

        if (s == null || s.getFrames().isEmpty()) {
            add("nostack", n);
            return;
        }
        sums.merge("deepest", (long) s.getFrames().size(), Math::max);
        if (isComplete(s))
            add("complete", n);
        for (RecordedFrame f : s.getFrames())
            if (klass != null && name(f).startsWith(klass + ".")) {
                add("method " + tid(e) + " " + kind + " %d " + name(f), n);
                return;
            }
    }

    private void cpu(RecordedEvent e) {
        if (e.hasField("failed") && e.getBoolean("failed")) {
            add("failed", 1);
            return;
        }
        add("cpu", 1);
        add("thread " + tid(e) + " cpu %d " + threadName(e), 1);
        stack(e, "cpu", 1);
    }

    private long ticksInside(long start, long ticks, long step) {
        long n = 0;

        for (long i = 0; i < ticks; i++)
            if (start + i * step >= from && start + i * step < to)
                n++;
        return n;
    }

    private long step(RecordedEvent e, long ticks) {
        if (engine == null || ticks < 2 || !e.hasField("timeSpan"))
            return wallNs;
        return Math.max(1, e.getDuration("timeSpan").toNanos() / (ticks - 1));
    }

    /** How async-profiler says which it is; it does so before all samples. */
    private void setting(RecordedEvent e) {
        if (e.getString("name").equals("version"))
            version = e.getString("value");
        else if (e.getString("name").equals("engine"))
            engine = e.getString("value");
    }

    private void wall(RecordedEvent e) {
        long ticks = e.hasField("samples") ? e.getInt("samples") : 1;
        long n = ticksInside(start(e), ticks, step(e, ticks)), tid = tid(e);

        add("wall", n);
        add("thread " + tid + " " + e.getString("state") + " %d " + threadName(e), n);
        if (n > 0)
            stack(e, "wall", n);
        records.computeIfAbsent(tid, k -> new ArrayList<>()).add(new long[] {start(e), ticks});
    }

    /** Ticks lie anywhere in their intervals, so only what overlaps by more than that counts. */
    private void countTwice() {
        for (List<long[]> list : records.values()) {
            list.sort(Comparator.comparingLong(r -> r[0]));
            for (int i = 1; i < list.size(); i++) {
                long[] a = list.get(i - 1), b = list.get(i);

                if (a[0] == b[0] || b[0] < a[0] + (a[1] - 2) * wallNs)
                    add("twice", 1);
            }
        }
    }

    private void event(RecordedEvent e) {
        String type = e.getEventType().getName();

        if (type.equals("jdk.ActiveSetting"))
            setting(e);
        else if (type.equals("profiler.WallClockSample"))
            wall(e);
        else if (start(e) < from || start(e) >= to)
            return;
        else if (CPU.contains(type))
            cpu(e);
        else if (type.equals("jdk.NativeMethodSample"))
            add("native", 1);
        else if (type.equals("jdk.CPUTimeSamplesLost"))
            add("lost", e.getInt("lostSamples"));
        else if (type.equals("gnomon.SamplesLost") && e.getString("reason").startsWith("CPU"))
            add("lost", e.getLong("lostSamples"));
    }

    private void print() {
        if (engine != null)
            System.out.println("by " + version + " " + engine);
        sums.forEach((k, n) ->
            System.out.println(k.contains("%d") ? k.replaceFirst("%d", "" + n) : k + " " + n));
    }

    public static void main(String[] args) throws IOException {
        Tally t = new Tally(Long.parseLong(args[1]), Long.parseLong(args[2]),
            Long.parseLong(args[3]), args.length > 4 ? args[4] : null);

        try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
            while (file.hasMoreEvents())
                t.event(file.readEvent());
        }
        t.countTwice();
        t.print();
    }
}
