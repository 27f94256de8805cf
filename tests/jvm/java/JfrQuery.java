/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordedThreadGroup;
import jdk.jfr.consumer.RecordingFile;

/**
 * What a recording says, read by the JDK's own parser and not by ours, as lines "WEIGHT KEY".
 *
 * JfrQuery FILE types                    events of each type
 * JfrQuery FILE EVENT KEY [FILTER...]    weight per KEY: total, thread, os, tid, groups (the own
 *                                        first), state, leaf,
 *                                        frame (each frame once per stack), stack, depth, span
 * JfrQuery FILE setting EVENT NAME       value of the last such ActiveSetting
 * JfrQuery FILE show EVENT               every such event, fields as text
 *
 * The weight of an event is its field `samples`, or 1; for the key span it is its timeSpan in ns.
 * FILTER: thread=REGEX, frame=REGEX,
 * state=REGEX, tid=NUMBER; a regular expression has to match the whole name.
 */
final class JfrQuery {
    private final Map<String, Long> weights = new TreeMap<>();
    private Predicate<RecordedEvent> filter = e -> true;

    private static RecordedThread thread(RecordedEvent e) {
        if (e.hasField("sampledThread"))
            return e.getThread("sampledThread");
        return e.hasField("eventThread") ? e.getThread("eventThread") : null;
    }

    /** The Java name where there is one. */
    private static String name(RecordedThread t) {
        if (t == null)
            return "?";
        return t.getJavaName() != null ? t.getJavaName() : String.valueOf(t.getOSName());
    }

    private static String name(RecordedFrame f) {
        RecordedMethod m = f.getMethod();

        if (m == null)
            return "?";
        return (m.getType() == null ? "?" : m.getType().getName()) + "." + m.getName();
    }

    private static Set<String> frames(RecordedEvent e) {
        RecordedStackTrace s = e.getStackTrace();
        Set<String> names = new LinkedHashSet<>();

        if (s != null)
            for (RecordedFrame f : s.getFrames())
                names.add(name(f));
        return names;
    }

    private static String stack(RecordedEvent e) {
        RecordedStackTrace s = e.getStackTrace();
        StringBuilder sb = new StringBuilder();

        if (s == null)
            return "(none)";
        for (RecordedFrame f : s.getFrames())
            sb.append(sb.length() > 0 ? ";" : "").append(name(f));
        return sb.toString();
    }

    private static String leaf(RecordedEvent e) {
        RecordedStackTrace s = e.getStackTrace();

        return s == null || s.getFrames().isEmpty() ? "(none)" : name(s.getFrames().get(0));
    }

    private static int depth(RecordedEvent e) {
        RecordedStackTrace s = e.getStackTrace();

        return s == null ? 0 : s.getFrames().size();
    }

    private static String state(RecordedEvent e) {
        return e.hasField("state") ? String.valueOf(e.getString("state")) : "?";
    }

    private static String groups(RecordedThread t) {
        StringBuilder sb = new StringBuilder();

        for (RecordedThreadGroup g = t == null ? null : t.getThreadGroup(); g != null; g = g.getParent())
            sb.append(sb.length() > 0 ? " < " : "").append(g.getName());
        return sb.toString();
    }

    private static String key(RecordedEvent e, String kind) {
        RecordedThread t = thread(e);

        switch (kind) {
        case "total": return "total";
        case "thread": return name(t);
        case "os": return t == null ? "?" : t.getOSName();
        case "tid": return t == null ? "?" : String.valueOf(t.getOSThreadId());
        case "groups": return groups(t);
        case "state": return state(e);
        case "leaf": return leaf(e);
        case "stack": return stack(e);
        case "depth": return String.valueOf(depth(e));
        default: throw new IllegalArgumentException("unknown key " + kind);
        }
    }

    private void add(String key, long weight) {
        weights.merge(key, weight, Long::sum);
    }

    private void count(RecordedEvent e, String kind) {
        long weight = e.hasField("samples") ? e.getInt("samples") : 1;

        if (kind.equals("span"))
            add(kind, e.getDuration("timeSpan").toNanos());
        else if (kind.equals("frame"))
            frames(e).forEach(f -> add(f, weight));
        else
            add(key(e, kind), weight);
    }

    private void narrow(String arg) {
        String[] kv = arg.split("=", 2);
        Pattern p = Pattern.compile(kv[1]);
        Predicate<RecordedEvent> more;

        switch (kv[0]) {
        case "frame":
            more = e -> frames(e).stream().anyMatch(f -> p.matcher(f).matches());
            break;
        case "thread": case "state": case "tid":
            more = e -> p.matcher(key(e, kv[0])).matches();
            break;
        default:
            throw new IllegalArgumentException("unknown filter " + arg);
        }
        filter = filter.and(more);
    }

    private static String setting(RecordingFile file, String event, String name)
        throws IOException {
        Map<Long, String> types = new TreeMap<>();
        String value = "";

        file.readEventTypes().forEach(t -> types.put(t.getId(), t.getName()));
        while (file.hasMoreEvents()) {
            RecordedEvent e = file.readEvent();

            if (e.getEventType().getName().equals("jdk.ActiveSetting")
                && event.equals(types.get(e.getLong("id")))
                && name.equals(e.getString("name")))
                value = e.getString("value");
        }
        return value;
    }

    private void run(RecordingFile file, String event, String kind) throws IOException {
        while (file.hasMoreEvents()) {
            RecordedEvent e = file.readEvent();
            String type = e.getEventType().getName();

            if (event.equals("types"))
                add(type, 1);
            else if (event.equals("show") && type.equals(kind))
                System.out.println(e);
            else if (type.equals(event) && filter.test(e))
                count(e, kind);
        }
        weights.entrySet().stream()
            .sorted((a, b) -> Long.compare(b.getValue(), a.getValue()))
            .forEach(w -> System.out.println(w.getValue() + " " + w.getKey()));
    }

    public static void main(String[] args) throws IOException {
        JfrQuery q = new JfrQuery();

        try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
            if (args[1].equals("setting")) {
                System.out.println(setting(file, args[2], args[3]));
                return;
            }
            if (!args[1].equals("show"))
                for (int i = 3; i < args.length; i++)
                    q.narrow(args[i]);
            q.run(file, args[1], args.length > 2 ? args[2] : "");
        }
    }
}
