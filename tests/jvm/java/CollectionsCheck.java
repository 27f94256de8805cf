/* SPDX-License-Identifier: Apache-2.0 */
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/**
 * Collections of a recording beside those of the JVM's own recording of the same run: CollectionsCheck OURS JVMS.
 * Pauses are compared, of which a concurrent collection has several. Lines, times in us:
 *
 * pauses JVM SEEN UNSEEN     how many the JVM tells of, how many of these were seen one by one, and how many are told of by
 *                            their number: in a time whose ends may put one more or less into it
 * sum JVM OURS               their time together, the unseen ones' too
 * alone N                    of those seen: how many have no pause of the JVM's within a second
 * start WORST MOST MEDIAN    how far off those seen begin; MOST: 95 of 100 of them are within that
 * duration WORST MOST MEDIAN and last
 * causes RIGHT WRONG UNKNOWN
 * wrong OURS JVMS HOW_OFTEN
 */
public final class CollectionsCheck {
    private record Pause(Instant start, long ns, String cause) {
        Instant end() {
            return start.plusNanos(ns);
        }
    }

    private record Gap(Instant from, Instant until, long n, long ns) {}

    private static final List<Gap> gaps = new ArrayList<>();

    /** In the order of their beginning. */
    private static List<Pause> pauses(String file, boolean ours) throws Exception {
        Map<Long, String> causes = new HashMap<>();
        List<RecordedEvent> found = new ArrayList<>();
        List<Pause> out = new ArrayList<>();

        for (RecordedEvent e : RecordingFile.readAllEvents(Path.of(file))) {
            String type = e.getEventType().getName();

            if (type.equals("jdk.GarbageCollection"))
                causes.put(((Number) e.getValue("gcId")).longValue(), e.getString("cause"));
            else if (type.equals("jdk.GCPhasePause"))
                found.add(e);
            else if (ours && type.equals("gnomon.CollectionsUnseen"))
                gaps.add(new Gap(e.getStartTime().minus(e.getDuration("period")), e.getStartTime(),
                    e.getLong("collections"), e.getDuration("sumOfPauses").toNanos()));
        }
        for (RecordedEvent e : found)
            out.add(new Pause(e.getStartTime(), e.getDuration().toNanos(),
                causes.getOrDefault(((Number) e.getValue("gcId")).longValue(), "?")));
        out.sort(Comparator.comparing(Pause::start));
        return out;
    }

    private static long apart(Pause a, Pause b) {
        return Math.abs(Duration.between(a.start, b.start).toNanos());
    }

    /** The nearest; of several within a millisecond, by which times may be wrong, the one as long. */
    private static Pause near(Pause p, List<Pause> all) {
        Pause best = null;

        for (Pause q : all) {
            boolean close = best != null && apart(p, q) < 1_000_000 && apart(p, best) < 1_000_000;

            if (best == null || (close ? Math.abs(p.ns - q.ns) < Math.abs(p.ns - best.ns) : apart(p, q) < apart(p, best)))
                best = q;
        }
        return best != null && apart(p, best) < 1_000_000_000L ? best : null;
    }

    private static String us(long ns) {
        return String.format("%.1f", ns / 1e3);
    }

    private static void spread(String what, List<Long> v) {
        v.sort(null);
        if (!v.isEmpty())
            System.out.println(what + " " + us(v.get(v.size() - 1)) + " " + us(v.get((v.size() - 1) * 95 / 100)) + " " +
                us(v.get(v.size() / 2)));
    }

    public static void main(String[] args) throws Exception {
        List<Pause> ours = pauses(args[0], true), jvms = pauses(args[1], false);
        List<Long> starts = new ArrayList<>(), durations = new ArrayList<>();
        Map<String, Integer> wrong = new HashMap<>();
        int alone = 0, right = 0, unknown = 0, bad = 0;

        if (ours.isEmpty() || jvms.isEmpty()) {
            System.out.println("pauses " + jvms.size() + " " + ours.size() + " 0");
            return;
        }
        for (Pause p : ours) {
            Pause q = near(p, jvms);

            if (q == null) {
                alone++;
                continue;
            }
            starts.add(apart(p, q));
            durations.add(Math.abs(p.ns - q.ns));
            if (p.cause.equals(q.cause)) {
                right++;
            } else if (p.cause.equals("unknown GCCause")) {
                unknown++;
            } else {
                bad++;
                wrong.merge("wrong '" + p.cause + "' '" + q.cause + "'", 1, Integer::sum);
            }
        }

        // whole looks only: what ended between the first of them that told of unseen ones and the last
        boolean any = gaps.size() > 1;
        Instant from = any ? gaps.get(0).until : ours.get(0).start.minusMillis(1);
        Instant until = any ? gaps.get(gaps.size() - 1).until : ours.get(ours.size() - 1).end().plusMillis(1);
        List<Pause> told = within(jvms, from, until), seen = within(ours, from, until);
        List<Gap> in = gaps.stream().filter(g -> g.until.isAfter(from) && !g.until.isAfter(until)).toList();

        System.out.println("pauses " + told.size() + " " + seen.size() + " " + in.stream().mapToLong(Gap::n).sum());
        System.out.println("sum " + us(sum(told)) + " " + us(sum(seen) + in.stream().mapToLong(Gap::ns).sum()));
        System.out.println("alone " + alone);
        spread("start", starts);
        spread("duration", durations);
        System.out.println("causes " + right + " " + bad + " " + unknown);
        wrong.forEach((what, times) -> System.out.println(what + " " + times));
    }

    private static List<Pause> within(List<Pause> all, Instant from, Instant until) {
        return all.stream().filter(p -> p.end().isAfter(from) && !p.end().isAfter(until)).toList();
    }

    private static long sum(List<Pause> all) {
        return all.stream().mapToLong(Pause::ns).sum();
    }
}
