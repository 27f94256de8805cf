/* SPDX-License-Identifier: Apache-2.0 */
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/**
 * Collections of a recording beside those of the JVM's own recording of the same run: CollectionsCheck OURS JVMS.
 * Pauses are compared, of which a concurrent collection has several. Lines, times in us:
 *
 * pauses JVM SEEN UNSEEN     how many the JVM tells of, how many of these were seen one by one, and how many are told of by
 *                            their number
 * sum JVM OURS               their time together, the unseen ones' too
 * unseen JVM OURS            the unseen ones' alone
 * exact N                    of those seen: how many last as long to 1 us
 * of COLLECTOR JVM SEEN UNSEEN SUM OURS  the same of each
 * alone N                    of those seen: how many have no pause of the JVM's within a second
 * start WORST MOST MEDIAN    how far off those seen begin; MOST: 95 of 100 of them are within that
 * duration WORST MOST MEDIAN and last
 * causes RIGHT WRONG UNKNOWN
 * wrong COLLECTOR OURS JVMS HOW_OFTEN
 */
public final class CollectionsCheck {
    private record Pause(Instant start, long ns, String cause, String name) {
        Instant end() {
            return start.plusNanos(ns);
        }
    }

    private record Gap(Instant from, Instant until, long n, long ns, String name) {}

    /** What clocks differ by at either end, ns. */
    private static final long MARGIN = 50_000;

    /** What is rounded on the way of the same duration, ns. */
    private static final long ROUNDED = 1_000;

    private static final List<Gap> gaps = new ArrayList<>();

    /** Of a look that came late to the recording's end some may have been after it. */
    private static void gap(RecordedEvent e) {
        Instant until = e.getStartTime().plus(e.getDuration("late"));

        gaps.add(new Gap(until.minus(e.getDuration("period")), until, e.getLong("collections"),
            e.getDuration("sumOfPauses").toNanos(), e.getString("collector")));
    }

    /** In the order of their beginning. */
    private static List<Pause> pauses(String file, boolean ours) throws Exception {
        Map<Long, String> causes = new HashMap<>(), names = new HashMap<>();
        List<RecordedEvent> found = new ArrayList<>();
        List<Pause> out = new ArrayList<>();

        for (RecordedEvent e : RecordingFile.readAllEvents(Path.of(file))) {
            String type = e.getEventType().getName();

            if (type.equals("jdk.GarbageCollection")) {
                causes.put(((Number) e.getValue("gcId")).longValue(), e.getString("cause"));
                names.put(((Number) e.getValue("gcId")).longValue(), e.getString("name"));
            } else if (type.equals("jdk.GCPhasePause"))
                found.add(e);
            else if (ours && type.equals("gnomon.CollectionsUnseen"))
                gap(e);
        }
        for (RecordedEvent e : found) {
            long id = ((Number) e.getValue("gcId")).longValue();

            out.add(new Pause(e.getStartTime(), e.getDuration().toNanos(), causes.getOrDefault(id, "?"),
                names.getOrDefault(id, "?")));
        }
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
        gaps.clear(); // lib.sh's served() comes again
        List<Pause> ours = pauses(args[0], true), jvms = pauses(args[1], false);
        List<Long> starts = new ArrayList<>(), durations = new ArrayList<>();
        Map<String, Integer> wrong = new HashMap<>();
        int alone = 0, right = 0, unknown = 0, bad = 0;
        long seenByJvm = 0;

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
            seenByJvm += q.ns;
            starts.add(apart(p, q));
            durations.add(Math.abs(p.ns - q.ns));
            if (p.cause.equals(q.cause)) {
                right++;
            } else {
                if (p.cause.equals("unknown GCCause"))
                    unknown++;
                else
                    bad++;
                wrong.merge("wrong " + p.name.replace(' ', '_') + " '" + p.cause + "' '" + q.cause + "'", 1, Integer::sum);
            }
        }

        // from before the first that is told of until after the last: one by one, or in looks of which some were unseen
        Instant from = ours.get(0).start, until = ours.get(ours.size() - 1).end();

        for (Gap g : gaps) {
            from = g.from.isBefore(from) ? g.from : from;
            until = g.until.isAfter(until) ? g.until : until;
        }
        from = from.minusNanos(MARGIN);
        until = until.plusNanos(MARGIN);
        List<Pause> told = within(jvms, from, until), seen = within(ours, from, until);
        System.out.println("pauses " + told.size() + " " + seen.size() + " " + gaps.stream().mapToLong(Gap::n).sum());
        System.out.println("sum " + us(sum(told)) + " " + us(sum(seen) + gaps.stream().mapToLong(Gap::ns).sum()));
        System.out.println("unseen " + us(sum(told) - seenByJvm) + " " + us(gaps.stream().mapToLong(Gap::ns).sum()));
        System.out.println("exact " + durations.stream().filter(d -> d <= ROUNDED).count());
        byCollector(told, seen, gaps);
        System.out.println("alone " + alone);
        spread("start", starts);
        spread("duration", durations);
        System.out.println("causes " + right + " " + bad + " " + unknown);
        wrong.forEach((what, times) -> System.out.println(what + " " + times));
    }

    private static void byCollector(List<Pause> told, List<Pause> seen, List<Gap> in) {
        TreeSet<String> names = new TreeSet<>();

        told.forEach(p -> names.add(p.name));
        seen.forEach(p -> names.add(p.name));
        in.forEach(g -> names.add(g.name));
        for (String name : names) {
            List<Pause> a = told.stream().filter(p -> p.name.equals(name)).toList();
            List<Pause> b = seen.stream().filter(p -> p.name.equals(name)).toList();
            List<Gap> g = gaps.stream().filter(p -> p.name.equals(name)).toList();

            System.out.println("of " + name.replace(' ', '_') + " " + a.size() + " " + b.size() + " " + g.stream().mapToLong(Gap::n).sum() +
                " " + us(sum(a)) + " " + us(sum(b) + g.stream().mapToLong(Gap::ns).sum()));
        }
    }

    private static List<Pause> within(List<Pause> all, Instant from, Instant until) {
        return all.stream().filter(p -> p.end().isAfter(from) && !p.end().isAfter(until)).toList();
    }

    private static long sum(List<Pause> all) {
        return all.stream().mapToLong(Pause::ns).sum();
    }
}
