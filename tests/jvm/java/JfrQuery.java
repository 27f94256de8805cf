/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
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
 * JfrQuery FILE values EVENT FIELD...    of every such event, by its start, these fields: startTime in ns since
 *                                        1970, duration in ns, eventThread by its name, others as they are
 *
 * JfrQuery serve PID                     answers until the process PID has ended: see serve()
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

    private static String setting(Recording r, String event, String name) {
        String value = "";

        for (RecordedEvent e : r.events)
            if (e.getEventType().getName().equals("jdk.ActiveSetting")
                && event.equals(r.types.get(e.getLong("id")))
                && name.equals(e.getString("name")))
                value = e.getString("value");
        return value;
    }

    private static String value(RecordedEvent e, String field) {
        switch (field) {
        case "startTime":
            return String.valueOf(e.getStartTime().getEpochSecond() * 1_000_000_000 + e.getStartTime().getNano());
        case "duration":
            return String.valueOf(e.getDuration().toNanos());
        case "eventThread":
            return name(e.getThread());
        case "owner":
        case "waker":
            return e.getValue(field) == null ? "-" : name(e.<RecordedThread>getValue(field));
        default:
            return String.valueOf(e.<Object>getValue(field));
        }
    }

    private static void values(Recording r, String event, List<String> fields) {
        r.events.stream()
            .filter(e -> e.getEventType().getName().equals(event))
            .sorted((a, b) -> a.getStartTime().compareTo(b.getStartTime()))
            .forEach(e -> System.out.println(fields.stream().map(f -> value(e, f)).collect(Collectors.joining(" "))));
    }

    private void run(Recording r, String event, String kind) {
        for (RecordedEvent e : r.events) {
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

    /** A file's events; the last one asked about is kept, since one question is seldom all. */
    private static final class Recording {
        private static Recording last;

        final String identity;
        final List<RecordedEvent> events = new ArrayList<>();
        final Map<Long, String> types = new HashMap<>();

        private Recording(Path path, String identity) throws IOException {
            this.identity = identity;
            try (RecordingFile file = new RecordingFile(path)) {
                file.readEventTypes().forEach(t -> types.put(t.getId(), t.getName()));
                while (file.hasMoreEvents())
                    events.add(file.readEvent());
            }
        }

        static Recording of(String name) throws IOException {
            Path path = Path.of(name);
            String identity = name + Files.readAttributes(path, "unix:ino,size,lastModifiedTime,ctime");

            if (last == null || !last.identity.equals(identity)) {
                last = null; // before the next one needs the memory
                last = new Recording(path, identity);
            }
            return last;
        }
    }

    private static void answer(String... args) throws IOException {
        JfrQuery q = new JfrQuery();
        Recording r = Recording.of(args[0]);

        if (args[1].equals("setting")) {
            System.out.println(setting(r, args[2], args[3]));
            return;
        }
        if (args[1].equals("values")) {
            values(r, args[2], Arrays.asList(args).subList(3, args.length));
            return;
        }
        if (!args[1].equals("show"))
            for (int i = 3; i < args.length; i++)
                q.narrow(args[i]);
        q.run(r, args[1], args.length > 2 ? args[2] : "");
    }

    /**
     * What the program `jfr` of this JDK does with such arguments; it ends its process after one
     * command, and most of its time is its start.
     */
    private static void jfr(String... args) throws Exception {
        Class<?> command = Class.forName("jdk.jfr.internal.tool.Command");
        Method commands = command.getDeclaredMethod("getCommands"),
            named = command.getDeclaredMethod("getName"),
            execute = command.getDeclaredMethod("execute", Deque.class);

        for (Method m : new Method[] {commands, named, execute})
            m.setAccessible(true);
        for (Object c : (Iterable<?>) commands.invoke(null))
            if (named.invoke(c).equals(args[0])) {
                execute.invoke(c, new ArrayDeque<>(Arrays.asList(args).subList(1, args.length)));
                return;
            }
        throw new IllegalArgumentException("jfr has no command " + args[0]);
    }

    /** One command: "query", "jfr" or "main" and a class that does not end the process, and its arguments. */
    private static int serve(String[] command, String out, String err) throws IOException {
        String[] args = Arrays.copyOfRange(command, 1, command.length);
        PrintStream oldOut = System.out, oldErr = System.err;

        try (PrintStream o = new PrintStream(new FileOutputStream(out), false, "UTF-8");
             PrintStream e = new PrintStream(new FileOutputStream(err), true, "UTF-8")) {
            System.setOut(o);
            System.setErr(e);
            try {
                if (command[0].equals("jfr"))
                    jfr(args);
                else if (command[0].equals("main"))
                    Class.forName(args[0]).getMethod("main", String[].class)
                        .invoke(null, (Object) Arrays.copyOfRange(args, 1, args.length));
                else
                    answer(args);
                return 0;
            } catch (InvocationTargetException x) {
                x.getCause().printStackTrace();
            } catch (Exception | StackOverflowError | OutOfMemoryError x) {
                x.printStackTrace();
            }
            return 1;
        } finally {
            System.setOut(oldOut);
            System.setErr(oldErr);
        }
    }

    /**
     * Reads lines "OUT ERR COMMAND ARG...", apart by the character 31, and writes a line for each, the
     * exit code, when what the command said is in the files OUT and ERR. Ends with the process `pid`.
     */
    private static void serve(long pid) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        String line;

        ProcessHandle.of(pid).orElseThrow().onExit().thenRun(() -> Runtime.getRuntime().halt(0));
        while ((line = in.readLine()) != null) {
            String[] f = line.split("\u001f", -1);

            System.out.println(serve(Arrays.copyOfRange(f, 2, f.length), f[0], f[1]));
        }
    }

    public static void main(String[] args) throws IOException {
        if (args[0].equals("serve"))
            serve(Long.parseLong(args[1]));
        else
            answer(args);
    }
}
