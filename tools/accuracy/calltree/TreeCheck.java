/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Holds a recording of the generated program against its call tree.
 *
 * TreeCheck TREE.TXT RECORDING [EXAMPLES]
 *
 * A stack of a thread of the tree is wrong unless its frames are a path of the tree from the
 * thread's own root: each method called by the one below, from the line of that call, with nothing
 * between that does not belong there. (A stack whose lower end is missing may begin anywhere.)
 * Stacks with a frame marked as guessed are counted apart, and those with one whose code or class
 * was gone before it was named. For every thread: complete is what ends
 * in the C library, in which threads start, or just below
 * it, in the program's _start.
 *
 * Prints one line per clock "cpu|wall EVENTS complete N guessed N truncated N failed N wrong N
 * unnamed N" and "java N", those of the tree's threads that have frames of the tree; then, per kind of call,
 * how many were seen. EXAMPLES: how many wrong stacks to print. Exit code 1 if any is wrong.
 */
final class TreeCheck {
    private static final String LIBRARY = "libtree.so";
    private static final String GUESSED = "[caller guessed]";
    private static final String UNLOADED = "[unloaded ";
    private static final String MISSED = "[stack not captured]";
    private static final int RECURSIONS = 5;

    private static final class Node {
        String name;
        int line0;
        int line1;
        boolean jdk;
        boolean recursive;
        boolean isNative;
        List<String> functions = List.of(); // of C, the outermost first
        final Set<Node> roots = new HashSet<>(); // from which it is reached
        final Map<Node, Edge> edges = new HashMap<>();
    }

    private record Edge(String kind, int line) {
    }

    /** One clock's figures, by events and by the samples they stand for. */
    private static final class Count {
        final Map<String, long[]> n = new TreeMap<>();

        void add(String what, long samples) {
            long[] x = n.computeIfAbsent(what, k -> new long[2]);

            x[0]++;
            x[1] += samples;
        }

        long get(String what, int by) {
            return n.containsKey(what) ? n.get(what)[by] : 0;
        }
    }

    private static final class Wrong extends Exception {
        private static final long serialVersionUID = 1;

        Wrong(String why) {
            super(why, null, false, false);
        }
    }

    private final Map<String, Node> nodes = new HashMap<>();
    private final Map<String, Node> roots = new HashMap<>();
    private final Map<String, Count> counts = new TreeMap<>();
    private final Map<String, Long> seen = new TreeMap<>();
    private final Map<String, Integer> reasons = new TreeMap<>();
    private int examples;

    // ---- the tree ----

    private void readTree(Path file) throws IOException {
        Map<String, Node> byId = new HashMap<>();
        List<String> lines = Files.readAllLines(file);

        for (String line : lines)
            if (line.startsWith("node "))
                readNode(line.split(" "), byId);
        for (String line : lines) {
            String[] w = line.split(" ");
            switch (w[0]) {
                case "edge" -> {
                    if (byId.containsKey(w[1]) && byId.containsKey(w[2]))
                        byId.get(w[1]).edges.put(byId.get(w[2]),
                            new Edge(w[3], Integer.parseInt(w[4])));
                }
                case "c" -> {
                    List<String> f = new ArrayList<>(List.of(w).subList(2, w.length));
                    Collections.reverse(f);
                    byId.get(w[1]).functions = f;
                }
                case "thread" -> roots.put(w[1], byId.get(w[2]));
                default -> {
                }
            }
        }
    }

    private void readNode(String[] w, Map<String, Node> byId) {
        Node n = new Node();
        List<String> flags = List.of(w);

        n.name = w[2] + "." + w[3];
        n.line0 = Integer.parseInt(w[4]);
        n.line1 = Integer.parseInt(w[5]);
        n.jdk = flags.contains("jdk");
        n.recursive = flags.contains("rec");
        n.isNative = flags.contains("native");
        nodes.put(n.name, n);
        byId.put(w[1], n);
    }

    // ---- frames ----

    private static String klass(RecordedFrame f) {
        RecordedMethod m = f.getMethod();

        return m == null || m.getType() == null ? "?" : m.getType().getName();
    }

    private static String method(RecordedFrame f) {
        return f.getMethod() == null ? "?" : f.getMethod().getName();
    }

    private static boolean isJava(RecordedFrame f) {
        return switch (String.valueOf(f.getType())) {
            case "Native", "C++", "Kernel" -> false;
            default -> true;
        };
    }

    private Node node(RecordedFrame f) {
        String m = method(f);

        // javac's name of a lambda's body ends in a number of its own
        if (m.startsWith("lambda$s"))
            m = m.substring(0, m.lastIndexOf('$'));
        return nodes.get(klass(f) + "." + m);
    }

    private static boolean invokes(RecordedFrame f) {
        String k = klass(f);

        return k.startsWith("java.lang.invoke.") || k.startsWith("java.lang.reflect.")
            || k.startsWith("jdk.internal.reflect.");
    }

    private static boolean isVm(RecordedFrame f) {
        return klass(f).equals("libjvm.so") || klass(f).equals("(jvm)");
    }

    // ---- one stack ----

    private static String names(List<RecordedFrame> frames) {
        StringBuilder sb = new StringBuilder();

        for (RecordedFrame f : frames)
            sb.append(' ').append(klass(f)).append('.').append(method(f));
        return sb.toString();
    }

    private static Wrong between(Edge e, List<RecordedFrame> glue) {
        return new Wrong("between caller and callee (" + e.kind + "):" + names(glue));
    }

    /** What lies between a caller and its callee, the outermost first. */
    private static void checkGlue(Node caller, Edge e, List<RecordedFrame> glue) throws Wrong {
        boolean ok = switch (e.kind) {
            case "LAMBDA" -> glue.size() <= 1 && glue.stream().allMatch(f ->
                klass(f).contains("$$Lambda") && method(f).equals("ap"));
            case "HANDLE" -> glue.stream().allMatch(f -> isJava(f) && invokes(f));
            case "REFLECT" -> {
                boolean down = glue.stream().anyMatch(f -> method(f).equals("invoke0"));
                yield glue.stream().allMatch(f -> isJava(f) ? invokes(f)
                    : down && (isVm(f) || klass(f).equals("libjava.so")));
            }
            case "UPCALL" -> {
                int c = caller.functions.size();
                yield glue.size() > c && functions(glue).equals(caller.functions)
                    && glue.subList(c, glue.size()).stream().allMatch(TreeCheck::isVm);
            }
            default -> glue.isEmpty();
        };

        if (!ok)
            throw between(e, glue);
    }

    private static List<String> functions(List<RecordedFrame> frames) {
        List<String> out = new ArrayList<>();

        for (RecordedFrame f : frames)
            if (klass(f).equals(LIBRARY))
                out.add(method(f));
        return out;
    }

    /** What lies on top of the last method of the tree. */
    private static void checkTop(Node top, List<RecordedFrame> above) throws Wrong {
        List<String> c = functions(above);

        if (top.isNative && !c.isEmpty()) {
            String last = c.get(c.size() - 1);
            if (last.equals("burn") || last.equals("method"))
                c.remove(c.size() - 1);
        }
        if (c.size() > top.functions.size() || !top.functions.subList(0, c.size()).equals(c))
            throw new Wrong("C functions on top:" + names(above));
        if (top.jdk || top.isNative || above.stream().noneMatch(TreeCheck::isJava))
            return;
        // the JVM asks the class loader for a class that this code is the first to name
        if (names(above).contains("ConstantPool::klass_at"))
            return;
        if (!top.name.endsWith(".<init>") || !names(above).startsWith(" java.lang.Object.<init>"))
            throw new Wrong("on top of a method that calls no other:" + names(above));
    }

    private static void checkBottom(RecordedThread t, Node root, Node n, List<RecordedFrame> below,
        boolean complete) throws Wrong {
        if (root == null)
            throw new Wrong("method of the tree in another thread: " + n.name);
        if (!n.roots.contains(root))
            throw new Wrong("method of another thread's tree: " + n.name);
        if (!complete)
            return;
        if (n != root)
            throw new Wrong("begins with " + n.name + " and not with the root");
        for (RecordedFrame f : below)
            if (isJava(f) && !klass(f).equals("java.lang.Thread"))
                throw new Wrong("below the root:" + names(below));
    }

    /** On top, code without debug information (calls that never stop at a safepoint) has no line. */
    private void checkLine(Node n, RecordedFrame f, Edge e) throws Wrong {
        int line = f.getLineNumber();

        if (n.isNative)
            return;
        if (e == null && line == -1)
            seen.merge("line unknown", 1L, Long::sum);
        else if (e == null ? line < n.line0 || line > n.line1 : line != e.line)
            throw new Wrong((e == null ? "line " : "line of the call ") + line + " in " + n.name
                + " (" + f.getType() + "), which has " + (e == null ? n.line0 + "-" + n.line1
                : String.valueOf(e.line)));
    }

    /** The number of frames of the tree; the frames are the outermost first. */
    private int check(RecordedThread t, Node root, List<RecordedFrame> frames, boolean complete)
        throws Wrong {
        List<RecordedFrame> glue = new ArrayList<>();
        List<String> kinds = new ArrayList<>();
        RecordedFrame below = null;
        Node cur = null;
        int again = 0;

        for (RecordedFrame f : frames) {
            Node n = node(f);
            if (n == null) {
                glue.add(f);
                continue;
            }
            if (cur == null) {
                checkBottom(t, root, n, glue, complete);
            } else {
                Edge e = cur.edges.get(n);
                if (e == null)
                    throw new Wrong(cur.name + " does not call " + n.name);
                again = n == cur ? again + 1 : 0;
                if (again > RECURSIONS)
                    throw new Wrong(n.name + " calls itself too often");
                checkGlue(cur, e, glue);
                checkLine(cur, below, e);
                kinds.add(e.kind);
            }
            cur = n;
            below = f;
            glue.clear();
        }
        if (cur == null)
            return 0;
        checkLine(cur, below, null);
        checkTop(cur, glue);
        for (String k : kinds)
            seen.merge(k, 1L, Long::sum);
        seen.merge("leaf " + below.getType(), 1L, Long::sum);
        return kinds.size() + 1;
    }

    // ---- the recording ----

    private static List<RecordedFrame> outermostFirst(RecordedStackTrace s) {
        List<RecordedFrame> frames = new ArrayList<>(s.getFrames());

        Collections.reverse(frames);
        return frames;
    }

    private void event(RecordedEvent e, Count c, long samples) {
        RecordedStackTrace s = e.getStackTrace();
        RecordedThread t = e.getThread("sampledThread");
        String name = t == null ? "?" : t.getJavaName() != null ? t.getJavaName() : t.getOSName();

        c.add("events", samples);
        List<RecordedFrame> frames = s == null ? List.of() : outermostFirst(s);
        if (frames.isEmpty() || method(frames.get(0)).equals(MISSED)) {
            c.add("failed", samples);
            return;
        }
        boolean guessed = frames.stream().anyMatch(f -> method(f).equals(GUESSED));
        boolean complete = klass(frames.get(0)).startsWith("libc.so")
            || frames.size() > 1 && method(frames.get(1)).startsWith("__libc_start_main");
        c.add(guessed ? "guessed" : complete ? "complete" : "truncated", samples);
        if (guessed) {
            example(name, e, frames, "guessed");
            return;
        }
        if (frames.stream().anyMatch(f -> method(f).startsWith(UNLOADED))) {
            c.add("unnamed", samples);
            example(name, e, frames, "unnamed");
            return;
        }
        try {
            if (check(t, roots.get(name), frames, complete) > 0)
                c.add("java", samples);
        } catch (Wrong w) {
            c.add("wrong", samples);
            example(name, e, frames, w.getMessage());
        }
        if (!complete)
            example(name, e, frames, "truncated");
    }

    private void example(String thread, RecordedEvent e, List<RecordedFrame> frames, String why) {
        String reason = why.replaceAll("[0-9]+", "#").replaceFirst(":.*", "");

        if (reasons.merge(reason, 1, Integer::sum) > examples)
            return;
        System.out.printf("--- %s, thread %s, tid %d, %s at %s%n", why, thread,
            e.getThread("sampledThread") == null ? 0 : e.getThread("sampledThread").getOSThreadId(),
            e.getEventType().getName(), e.getStartTime());
        for (int i = frames.size() - 1; i >= 0; i--) {
            RecordedFrame f = frames.get(i);
            System.out.printf("      %s.%s:%d (%s)%n", klass(f), method(f), f.getLineNumber(),
                f.getType());
        }
    }

    private void read(Path file) throws IOException {
        try (RecordingFile r = new RecordingFile(file)) {
            while (r.hasMoreEvents()) {
                RecordedEvent e = r.readEvent();
                switch (e.getEventType().getName()) {
                    case "jdk.ExecutionSample" ->
                        event(e, counts.computeIfAbsent("cpu", k -> new Count()), 1);
                    case "profiler.WallClockSample" ->
                        event(e, counts.computeIfAbsent("wall", k -> new Count()),
                            e.getInt("samples"));
                    default -> {
                    }
                }
            }
        }
    }

    private void own(Node n, Node root) {
        n.roots.add(root);
        for (Node to : n.edges.keySet())
            if (to != n)
                own(to, root);
    }

    private void print() {
        for (var x : counts.entrySet()) {
            for (int by = 0; by < 2; by++) {
                StringBuilder sb = new StringBuilder(x.getKey()).append(by == 0 ? "" : "-weighted");
                for (String k : List.of("events", "complete", "guessed", "truncated", "failed",
                    "wrong", "unnamed", "java"))
                    sb.append(' ').append(k).append(' ').append(x.getValue().get(k, by));
                System.out.println(sb);
            }
        }
        seen.forEach((k, n) -> System.out.println("seen " + k + " " + n));
        reasons.forEach((k, n) -> System.out.println("reason " + n + " " + k));
    }

    public static void main(String[] args) throws IOException {
        TreeCheck c = new TreeCheck();

        c.readTree(Path.of(args[0]));
        c.examples = args.length > 2 ? Integer.parseInt(args[2]) : 3;
        c.roots.values().forEach(r -> c.own(r, r));
        c.read(Path.of(args[1]));
        c.print();
        if (c.counts.values().stream().anyMatch(n -> n.get("wrong", 0) > 0))
            System.exit(1);
    }
}
