/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
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
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordingFile;

/**
 * CallCheck FILE JAVA-HOME [JAR|DIRECTORY...]: judges the stacks of any Java program's recording by the
 * program itself. A Java frame above another was called by it: so the instruction at the caller's
 * bytecode index, in the class file that the JVM of JAVA-HOME loaded from the class path or its own
 * modules, invokes a method of the callee's name and descriptor. What is judged is each such pair of
 * each distinct stack. A mark of gnomon's between the two ("[caller guessed]") makes a wrong one a
 * marked one.
 *
 * Prints "calls checked N wrong N marked N unknown N", and up to 40 that are wrong, each with the stack
 * around it. Unknown are those whose caller's class is none of the files' (made at run time).
 */
final class CallCheck {
    private static final int EXAMPLES = 40;

    record Frame(String klass, String method, String descriptor, String type, int bci) {
        boolean isJava() {
            return !type.equals("Native") && !type.equals("C++") && !type.equals("Kernel") && !isBracketed();
        }

        /** A mark, or what stands for a method that has no name. */
        boolean isBracketed() {
            return klass.startsWith("(") || method.startsWith("[");
        }

        boolean isMark() {
            return klass.equals("(gnomon)");
        }

        @Override
        public String toString() {
            return klass + "." + method + (bci > 0 ? "@" + bci : "") + " [" + type + "]";
        }
    }

    private final Map<String, byte[]> classPath = new HashMap<>();
    private final Map<String, byte[]> ownReader = new HashMap<>();
    private final Map<String, List<ClassCalls>> classes = new HashMap<>();
    private final Map<String, Integer> examples = new TreeMap<>();
    private final Map<String, String> context = new HashMap<>();
    private final FileSystem modules;
    private final int version;
    private long checked, wrong, marked, unknown;

    private CallCheck(Path javaHome) throws IOException {
        modules = FileSystems.newFileSystem(URI.create("jrt:/"), Map.of("java.home", javaHome.toString()));
        version = Integer.parseInt(Files.readString(javaHome.resolve("release"))
            .replaceAll("(?s).*JAVA_VERSION=\"(\\d+).*", "$1"));
        add(javaHome.resolve("lib/jrt-fs.jar"), ownReader);
    }

    /* ---- classes ---- */

    private void add(Path p, Map<String, byte[]> to) throws IOException {
        if (Files.isDirectory(p)) {
            try (Stream<Path> all = Files.walk(p)) {
                for (Path x : (Iterable<Path>) all::iterator)
                    if (x.toString().endsWith(".class"))
                        to.putIfAbsent(p.relativize(x).toString(), Files.readAllBytes(x));
            }
            return;
        }
        try (ZipFile jar = new ZipFile(p.toFile())) {
            Map<String, ZipEntry> of = new HashMap<>();
            Map<String, Integer> since = new HashMap<>();

            for (ZipEntry e : Collections.list(jar.entries()))
                if (e.getName().endsWith(".class"))
                    choose(e, of, since);
            for (Map.Entry<String, ZipEntry> e : of.entrySet())
                to.putIfAbsent(e.getKey(), jar.getInputStream(e.getValue()).readAllBytes());
        }
    }

    /** Of a class that a jar has for several versions of Java, the newest that the JVM takes. */
    private void choose(ZipEntry e, Map<String, ZipEntry> of, Map<String, Integer> since) {
        String name = e.getName(), prefix = "META-INF/versions/";
        int from = 0;

        if (name.startsWith(prefix)) {
            int slash = name.indexOf('/', prefix.length());

            from = Integer.parseInt(name.substring(prefix.length(), slash));
            name = name.substring(slash + 1);
        }
        if (from <= version && from >= since.getOrDefault(name, 0)) {
            of.put(name, e);
            since.put(name, from);
        }
    }

    private byte[] bytes(String klass) throws IOException {
        String file = klass.replace('.', '/') + ".class";
        Path links = modules.getPath("/packages", klass.substring(0, Math.max(0, klass.lastIndexOf('.'))));

        if (classPath.containsKey(file))
            return classPath.get(file);
        if (!Files.isDirectory(links))
            return null;
        try (Stream<Path> all = Files.list(links)) {
            for (Path x : (Iterable<Path>) all::iterator) {
                Path p = modules.getPath("/modules", x.getFileName().toString(), file);

                if (Files.exists(p))
                    return Files.readAllBytes(p);
            }
        }
        return null;
    }

    /**
     * None: it was made at run time. Several: programs that read another JDK's classes load its
     * jrt-fs.jar, whose classes the JDK's modules have too, compiled otherwise.
     */
    private List<ClassCalls> calls(String klass) throws IOException {
        List<ClassCalls> known = classes.get(klass);

        if (known != null)
            return known;
        known = new ArrayList<>();
        for (byte[] b : new byte[][] {bytes(klass), ownReader.get(klass.replace('.', '/') + ".class")})
            if (b != null)
                known.add(new ClassCalls(b));
        classes.put(klass, known);
        return known;
    }

    /* ---- the judgement ---- */

    /**
     * Method handles are invoked through methods that the JVM makes: what such an instruction runs
     * cannot be told from it. These classes, among them those of which the class file has another
     * form than the JVM's archive, are the JDK's own.
     */
    private static boolean isHandle(String klass) {
        return klass.startsWith("java.lang.invoke.");
    }

    /**
     * Of descriptors over 1,023 bytes gnomon keeps the first types, a digest, and what is returned
     * ("(ILcut_0123456789abcdef;)V"). The digest is not looked at.
     */
    private static boolean isOf(String descriptor, String kept) {
        int cut = kept.indexOf("Lcut_");

        return cut < 0 ? descriptor.equals(kept) : descriptor.length() > 1023
            && descriptor.startsWith(kept.substring(0, cut));
    }

    /** Null: it is right in one of its forms; else what the caller does there. */
    private static String fault(Frame callee, Frame caller, List<ClassCalls> forms) {
        String fault = "its class has no such method";

        for (ClassCalls c : forms) {
            for (ClassCalls.Method m : c.methods(caller.method)) {
                if (!isOf(m.descriptor(), caller.descriptor))
                    continue;
                fault = fault(callee, caller, m.code());
                if (fault == null)
                    return null;
            }
        }
        return fault;
    }

    private static String fault(Frame callee, Frame caller, Map<Integer, ClassCalls.Instruction> code) {
        ClassCalls.Instruction i = code.get(caller.bci);

        if (code.isEmpty())
            return "it has no bytecode";
        if (i == null)
            return "no instruction is there";
        if (!i.invokes())
            return "opcode " + i.opcode();
        if (i.opcode() == ClassCalls.INVOKEDYNAMIC || isHandle(i.owner()))
            return null;
        if (i.name().equals(callee.method) && isOf(i.descriptor(), callee.descriptor))
            return null;
        return "it calls " + i.owner() + "." + i.name() + i.descriptor();
    }

    private void judge(List<Frame> stack, int at, int callerAt) throws IOException {
        Frame callee = stack.get(at), caller = stack.get(callerAt);
        List<ClassCalls> calls = isHandle(caller.klass) ? List.of() : calls(caller.klass);
        String fault;

        if (calls.isEmpty()) {
            unknown++;
            return;
        }
        checked++;
        fault = fault(callee, caller, calls);
        if (fault == null)
            return;
        wrong++;
        marked += callerAt > at + 1 ? 1 : 0;
        fault = (callerAt > at + 1 ? "marked: " : "") + callee + " <- " + caller + ": " + fault;
        examples.merge(fault, 1, Integer::sum);
        context.putIfAbsent(fault, stack.subList(Math.max(0, at - 4), Math.min(stack.size(), at + 8)).toString());
    }

    /** Pairs with native frames between are no calls by bytecode. */
    private void judge(List<Frame> stack) throws IOException {
        for (int i = 0; i + 1 < stack.size(); i++) {
            int next = i + 1;

            while (next + 1 < stack.size() && stack.get(next).isMark())
                next++;
            if (stack.get(i).isJava() && stack.get(next).isJava())
                judge(stack, i, next);
        }
    }

    private static Frame frame(RecordedFrame f) {
        RecordedMethod m = f.getMethod();

        return new Frame(m.getType().getName(), m.getName(), m.getDescriptor(), f.getType(), f.getBytecodeIndex());
    }

    private void read(Path file) throws IOException {
        Set<List<Frame>> stacks = new HashSet<>();

        try (RecordingFile in = new RecordingFile(file)) {
            while (in.hasMoreEvents()) {
                RecordedEvent e = in.readEvent();
                RecordedStackTrace trace = e.getStackTrace();
                List<Frame> stack = new ArrayList<>();

                if (trace == null)
                    continue;
                for (RecordedFrame f : trace.getFrames())
                    stack.add(frame(f));
                if (stacks.add(stack))
                    judge(stack);
            }
        }
    }

    private void print() {
        System.out.printf("calls checked %d wrong %d marked %d unknown %d%n", checked, wrong, marked, unknown);
        examples.entrySet().stream().sorted((a, b) -> b.getValue() - a.getValue()).limit(EXAMPLES).forEach(e ->
            System.out.printf("wrong %d times: %s%n      in %s%n", e.getValue(), e.getKey(), context.get(e.getKey())));
    }

    public static void main(String[] args) throws IOException {
        CallCheck c = new CallCheck(Path.of(args[1]));

        for (int i = 2; i < args.length; i++)
            c.add(Path.of(args[i]), c.classPath);
        c.read(Path.of(args[0]));
        c.print();
    }
}
