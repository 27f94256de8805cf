/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Writes a Java program whose call tree is known.
 *
 * CallTree DIRECTORY SEED METHODS: DIRECTORY/src/tree/*.java, DIRECTORY/gone/tree/G*.java (classes
 * to be thrown away), DIRECTORY/tree.c (native methods) and DIRECTORY/tree.txt, the truth:
 *
 *   node ID CLASS METHOD FIRST LAST [jdk] [rec] [native]   lines in the source file; jdk: methods
 *                                       that are none of the tree's may lie on top; rec: may call
 *                                       itself
 *   edge CALLER CALLEE KIND LINE        LINE of the call in the caller; UPCALL: from C
 *   c ID FUNCTION...                    C functions of a native method, the innermost first
 *   thread NAME ROOT
 *
 * Every method but a root has exactly one caller (besides itself, if rec), so a stack is right only
 * if each of its frames has the one frame below that it must have, at the line of the call.
 * Each descent takes a random path: few are hot, most are cold, so that all tiers of code occur.
 */
final class CallTree {
    private static final int ROOTS = 4;
    private static final int THREADS = 2 * ROOTS;
    private static final int PER_CLASS = 40;
    private static final int MAX_DEPTH = 70;
    private static final int RECURSIONS = 5;

    enum Kind { STATIC, VIRTUAL, INTERFACE, LATE, LAMBDA, REFLECT, HANDLE, CTOR, GONE, NATIVE }

    enum Leaf { NONE, BURN, LOCK, COPY, CRC, SLEEP, PARK, WAIT, JUC, THROW, ALLOC, READ }

    /** A call site, and the methods it may reach. */
    private static final class Site {
        Kind kind;
        int weight;
        final List<Node> to = new ArrayList<>();
    }

    private static final class Node {
        int id;
        int line0;
        int line1;
        String klass; // binary name
        String name;
        Unit unit;
        Leaf leaf = Leaf.NONE;
        boolean recursive;
        boolean catcher;
        boolean tiny;
        boolean sync;
        final List<Site> sites = new ArrayList<>();

        boolean jdk() {
            return leaf.ordinal() >= Leaf.COPY.ordinal() || sites.stream().anyMatch(s ->
                s.kind == Kind.LAMBDA || s.kind == Kind.REFLECT || s.kind == Kind.HANDLE);
        }
    }

    /** A source file: one class with nested ones. */
    private static final class Unit {
        final String name;
        final StringBuilder text = new StringBuilder();
        final List<Node> own = new ArrayList<>();
        int line = 1;
        int indent;

        Unit(String name) {
            this.name = name;
        }

        void put(String format, Object... args) {
            text.append("    ".repeat(indent)).append(String.format(format, args)).append('\n');
            line++;
        }
    }

    private final Random random;
    private final Path dir;
    private final StringBuilder truth = new StringBuilder();
    private final StringBuilder c = new StringBuilder();
    private final List<Unit> units = new ArrayList<>();
    private int nodes;
    private final List<Unit> gone = new ArrayList<>();

    private CallTree(Path dir, long seed) {
        this.dir = dir;
        this.random = new Random(seed);
    }

    private boolean chance(double p) {
        return random.nextDouble() < p;
    }

    // ---- the tree ----

    private Node node() {
        Node n = new Node();

        n.id = nodes++;
        return n;
    }

    private Kind kind(int budget) {
        double x = random.nextDouble();

        if (budget < 3 || x < 0.50)
            return Kind.STATIC;
        return x < 0.60 ? Kind.VIRTUAL : x < 0.70 ? Kind.INTERFACE : x < 0.77 ? Kind.LATE
            : x < 0.84 ? Kind.LAMBDA : x < 0.87 ? Kind.REFLECT : x < 0.90 ? Kind.HANDLE
            : x < 0.94 ? Kind.CTOR : x < 0.96 ? Kind.GONE : Kind.NATIVE;
    }

    private int targets(Kind k, int budget) {
        return switch (k) {
            case VIRTUAL, INTERFACE -> Math.min(budget, 2 + random.nextInt(3));
            case LATE -> 2;
            default -> 1;
        };
    }

    /** Fill `n` with a subtree of about `budget` methods. */
    private void grow(Node n, int budget, int depth) {
        if (budget <= 0 || depth >= MAX_DEPTH) {
            n.leaf = Leaf.values()[1 + random.nextInt(Leaf.values().length - 1)];
            return;
        }
        n.recursive = chance(0.05);
        n.catcher = chance(0.12);
        n.sync = chance(0.06);
        n.tiny = chance(0.15);
        int left = budget;
        int sites = n.tiny ? 1 : 1 + random.nextInt(4);
        for (int i = 0; i < sites && left > 0; i++) {
            int share = i == sites - 1 ? left : Math.max(1, (int) (left * random.nextDouble()));
            n.sites.add(site(share, depth));
            left -= share;
        }
        if (n.tiny)
            n.recursive = n.catcher = n.sync = false;
    }

    private Site site(int budget, int depth) {
        Site s = new Site();

        s.kind = kind(budget);
        if (s.kind == Kind.GONE) {
            s.to.add(gone());
            return s;
        }
        int n = targets(s.kind, budget);
        for (int i = 0; i < n; i++)
            s.to.add(node());
        for (Node to : s.to)
            grow(to, (budget - n) / n, depth + 1);
        if (s.kind == Kind.NATIVE)
            nativeNode(s.to.get(0));
        if (s.kind == Kind.LAMBDA || s.kind == Kind.CTOR)
            s.to.get(0).sync = s.to.get(0).tiny = s.to.get(0).recursive = false;
        return s;
    }

    /** A native method calls up to one static method, or is a leaf. */
    private void nativeNode(Node n) {
        n.recursive = n.catcher = n.sync = n.tiny = false;
        n.leaf = Leaf.NONE;
        while (n.sites.size() > 1)
            n.sites.remove(1);
        if (!n.sites.isEmpty() && n.sites.get(0).kind != Kind.STATIC)
            n.sites.clear();
    }

    /** A chain of three methods in a class to be thrown away. */
    private Node gone() {
        Unit u = new Unit("G" + gone.size());
        String[] names = {"go", "a", "b"};
        Node first = null;
        Node prev = null;

        gone.add(u);
        for (String name : names) {
            Node n = node();
            n.unit = u;
            n.klass = "tree." + u.name;
            n.name = name;
            u.own.add(n);
            if (prev == null) {
                first = n;
            } else {
                Site s = new Site();
                s.kind = Kind.STATIC;
                s.to.add(n);
                prev.sites.add(s);
            }
            prev = n;
        }
        prev.leaf = Leaf.BURN;
        return first;
    }

    // ---- where methods live ----

    private Unit unit(int root) {
        Unit u = units.isEmpty() ? null : units.get(units.size() - 1);

        if (u == null || u.own.size() >= PER_CLASS || !u.name.startsWith("C" + root + "_")) {
            u = new Unit("C" + root + "_" + units.size());
            units.add(u);
        }
        return u;
    }

    private void place(Node n, int root, Node parent, Site from) {
        if (n.klass == null) {
            // the body of a lambda lies in its caller's class
            n.unit = from != null && from.kind == Kind.LAMBDA ? parent.unit : unit(root);
            n.klass = "tree." + n.unit.name;
            n.name = "m" + n.id;
            n.unit.own.add(n);
            placeNested(n, parent, from);
        }
        for (Site s : n.sites)
            for (Node to : s.to)
                place(to, root, n, s);
    }

    private void placeNested(Node n, Node parent, Site from) {
        if (from == null)
            return;
        int first = from.to.get(0).id;
        switch (from.kind) {
            case VIRTUAL, INTERFACE, LATE -> {
                n.klass += "$K" + n.id;
                n.name = "v" + first;
            }
            case CTOR -> {
                n.klass += "$K" + n.id;
                n.name = "<init>";
            }
            case LAMBDA -> n.name = "lambda$s" + n.id;
            default -> {
            }
        }
    }

    // ---- source text ----

    private static String source(String binary) {
        return binary.substring("tree.".length()).replace('$', '.');
    }

    /** Where a site's members (receivers, handles) are declared: its first target's class. */
    private static String home(Site s) {
        return s.to.get(0).unit.name;
    }

    private String call(Site s, String f) {
        Node to = s.to.get(0);
        String args = "(q, " + f + ")";

        return switch (s.kind) {
            case STATIC, NATIVE -> source(to.klass) + "." + to.name + args;
            case VIRTUAL, INTERFACE, LATE ->
                home(s) + ".R" + to.id + "[(q >>> 9) & 7]." + to.name + args;
            case LAMBDA -> home(s) + ".s" + to.id + "(z).ap" + args;
            case REFLECT -> "(Integer) " + home(s) + ".M" + to.id + ".invoke(null, q, " + f + ")";
            case HANDLE -> "(int) " + home(s) + ".H" + to.id + ".invokeExact" + args;
            case CTOR -> "new " + source(to.klass) + args + ".r";
            case GONE -> "Rt.gone[" + to.unit.name.substring(1) + "].go" + args;
        };
    }

    private void edge(Node n, Node to, Kind k, int line) {
        truth.append(String.format("edge %d %d %s %d%n", n.id, to.id, k, line));
    }

    private void putCall(Unit u, Node n, Site s) {
        String f = n.leaf == Leaf.NONE ? "f & 255" : "f";

        if (s.kind == Kind.LAMBDA) {
            putLambda(u, n, s);
            return;
        }
        boolean wrap = s.kind == Kind.REFLECT || s.kind == Kind.HANDLE;
        if (wrap) {
            u.put("try {");
            u.indent++;
        }
        for (Node to : s.to)
            edge(n, to, s.kind, u.line);
        u.put("a += %s;", call(s, f));
        if (wrap) {
            u.indent--;
            u.put("} catch (Throwable t) { throw Rt.rethrow(t); }");
        }
    }

    /** javac names the body lambda$METHOD$NUMBER; each method has at most one. */
    private void putLambda(Unit u, Node n, Site s) {
        Node to = s.to.get(0);

        edge(n, to, s.kind, u.line);
        u.put("a += %s.s%d(a).ap(q, f & 255);", u.name, to.id);
    }

    private void putLambdaMaker(Unit u, Node n) {
        u.put("static Rt.Fn s%d(int z) {", n.id);
        u.indent++;
        u.put(n.id % 2 == 0 ? "return (q, f) -> {" : "return (q, f) -> { q += z;");
        n.line0 = u.line - 1;
        u.indent++;
        putBody(u, n);
        u.put("return a;");
        u.indent--;
        u.put("};");
        n.line1 = u.line - 1;
        u.indent--;
        u.put("}");
    }

    private void putLeaf(Unit u, Node n) {
        switch (n.leaf) {
            case BURN -> u.put("for (int i = q & 255; i > 0; i--) a = a * 31 + (i ^ a >>> 3);");
            case COPY -> u.put("System.arraycopy(B, q & 63, B, 64 + (q >>> 8 & 63), q >>> 16 & 511);");
            case CRC -> u.put("CRC.get().update(B, q & 63, q >>> 8 & 511);");
            case SLEEP -> putWait(u, "Thread.sleep(1);");
            case PARK -> putWait(u, "java.util.concurrent.locks.LockSupport.parkNanos(700_000);");
            case WAIT -> putWait(u, "synchronized (Rt.LOCK[q & 1]) { Rt.LOCK[q & 1].wait(1); }");
            case LOCK -> u.put("synchronized (Rt.LOCK[2 + (q & 1)]) {"
                + " for (int i = q & 0x3fff; i > 0; i--) a = a * 31 + (i ^ a >>> 3); }");
            case JUC -> {
                u.put("Rt.JUC[q & 1].lock();");
                u.put("try { for (int i = q & 0x3fff; i > 0; i--) a = a * 31 + (i ^ a >>> 3); }");
                u.put("finally { Rt.JUC[q & 1].unlock(); }");
            }
            case THROW -> u.put("if ((q & 7) != 0) throw new Rt.Ex(q);");
            case ALLOC -> u.put("a += new int[q & 1023].length + String.valueOf(q).length();");
            case READ -> {
                u.put("try { a += Rt.ZERO.read(new byte[q & 4095]); }");
                u.put("catch (java.io.IOException e) { a++; }");
            }
            default -> {
            }
        }
    }

    private void putWait(Unit u, String what) {
        u.put("if ((f & Rt.SLEEPY) != 0) {");
        u.indent++;
        u.put("try { %s }", what);
        u.put("catch (Exception e) { a++; }");
        u.indent--;
        u.put("}");
    }

    /** q: the next random number; a: something to compute; then one of the calls. */
    private void putBody(Unit u, Node n) {
        u.put("int a = q;");
        if (n.tiny) {
            putCall(u, n, n.sites.get(0));
            return;
        }
        u.put("q = q * 0x9E3779B1 + 0x%08X;", random.nextInt() | 1);
        u.put("q ^= q >>> 15;");
        if (chance(0.6))
            u.put("for (int i = q >>> 4 & %d; i > 0; i--) a = a * 31 + i;", chance(0.2) ? 63 : 7);
        putLeaf(u, n);
        if (n.recursive) {
            u.put("if ((q & 0x300) == 0 && f >>> Rt.RECURSION < %d) {", RECURSIONS);
            u.indent++;
            edge(n, n, Kind.STATIC, u.line);
            u.put("a += %s(q, f + (1 << Rt.RECURSION));", n.name);
            u.indent--;
            u.put("}");
        }
        if (!n.sites.isEmpty())
            putSwitch(u, n);
    }

    private void putSwitch(Unit u, Node n) {
        int total = 30;
        int at = 0;

        if (n.catcher) {
            u.put("try {");
            u.indent++;
        }
        u.put(chance(0.1) ? "switch (q + Rt.mode & 31) {" : "switch (q >>> 6 & 31) {");
        for (int i = 0; i < n.sites.size(); i++) {
            int w = i == n.sites.size() - 1 ? total - at
                : Math.max(1, (total - at) * (1 + random.nextInt(3)) / 4);
            StringBuilder labels = new StringBuilder();
            for (int k = at; k < at + w; k++)
                labels.append(k > at ? ", " : "").append(k);
            at += w;
            u.put("case %s:", labels);
            u.indent++;
            putCall(u, n, n.sites.get(i));
            u.put("break;");
            u.indent--;
            if (at >= total)
                break;
        }
        u.put("default:");
        u.put("    break;");
        u.put("}");
        if (n.catcher) {
            u.indent--;
            u.put("} catch (Rt.Ex e) { a++; }");
        }
    }

    private void putMethod(Unit u, Node n, String head) {
        n.line0 = u.line;
        u.put("%s {", head);
        u.indent++;
        putBody(u, n);
        u.put("return a;");
        u.indent--;
        u.put("}");
        n.line1 = u.line - 1;
    }

    private void putConstructor(Unit u, Node n) {
        u.put("static final class K%d {", n.id);
        u.indent++;
        u.put("final int r;");
        n.line0 = u.line;
        u.put("K%d(int q, int f) {", n.id);
        u.indent++;
        putBody(u, n);
        u.put("r = a;");
        u.indent--;
        u.put("}");
        n.line1 = u.line - 1;
        u.indent--;
        u.put("}");
    }

    /** The common type of a site's receivers, and the receivers. */
    private void putReceivers(Unit u, Site s) {
        int id = s.to.get(0).id;
        StringBuilder made = new StringBuilder();

        for (int i = 0; i < 8; i++)
            made.append(i > 0 ? ", " : "").append("new ")
                .append(source(s.to.get(s.kind == Kind.LATE ? 0 : i % s.to.size()).klass))
                .append("()");
        if (s.kind == Kind.INTERFACE)
            u.put("interface I%d { int v%d(int q, int f); }", id, id);
        else
            u.put("abstract static class I%d { abstract int v%d(int q, int f); }", id, id);
        String array = "new I" + id + "[] {" + made + "}";
        if (s.kind == Kind.LATE)
            array = "Rt.late(" + array + ", \"" + s.to.get(1).klass + "\")";
        u.put("static final I%d[] R%d = %s;", id, id, array);
    }

    private void putNested(Unit u, Node n, Site s) {
        u.put("static final class K%d %s %s.I%d {", n.id,
            s.kind == Kind.INTERFACE ? "implements" : "extends", home(s), s.to.get(0).id);
        u.indent++;
        putMethod(u, n, (s.kind == Kind.INTERFACE ? "public " : "")
            + (n.sync ? "synchronized " : "") + "int " + n.name + "(int q, int f)");
        u.indent--;
        u.put("}");
    }

    private void putNode(Unit u, Node n, Site s) {
        Kind k = s == null ? Kind.STATIC : s.kind;

        switch (k) {
            case VIRTUAL, INTERFACE, LATE -> {
                if (n == s.to.get(0))
                    putReceivers(u, s);
                putNested(u, n, s);
            }
            case CTOR -> putConstructor(u, n);
            case LAMBDA -> putLambdaMaker(u, n);
            case NATIVE -> {
                n.line0 = n.line1 = -1;
                u.put("static native int %s(int q, int f);", n.name);
                putC(n);
            }
            default -> {
                if (k == Kind.REFLECT)
                    u.put("static final java.lang.reflect.Method M%d ="
                        + " Rt.method(%s.class, \"%s\");", n.id, u.name, n.name);
                if (k == Kind.HANDLE)
                    u.put("static final java.lang.invoke.MethodHandle H%d = Rt.handle("
                        + "java.lang.invoke.MethodHandles.lookup(), %s.class, \"%s\");",
                        n.id, u.name, n.name);
                putMethod(u, n, (n.sync ? "static synchronized int " : "static int ") + n.name
                    + "(int q, int f)");
            }
        }
        tell(n, k);
    }

    private void tell(Node n, Kind k) {
        truth.append(String.format("node %d %s %s %d %d%s%s%s%n", n.id, n.klass, n.name, n.line0,
            n.line1, n.jdk() ? " jdk" : "", n.recursive ? " rec" : "",
            k == Kind.NATIVE ? " native" : ""));
    }

    // ---- C ----

    private static String mangled(String s) {
        return s.replace("_", "_1");
    }

    /** A native method: some C functions deep, then up into Java again if it has a callee. */
    private void putC(Node n) {
        int deep = random.nextInt(3);
        String body = n.sites.isEmpty() ? "\tr = burn(q, 200);\n" : upcall(n);
        String prev = null;
        List<String> names = new ArrayList<>();

        for (int i = 0; i < deep; i++) {
            String name = "f" + n.id + "_" + i;
            c.append(String.format("static __attribute__((noinline, noclone)) jint %s(JNIEnv *env,"
                + " jint q, jint f)\n{\n\tjint r;\n\n%s\treturn r * 3 + burn(q, %d);\n}\n\n", name,
                prev == null ? body : "\tr = " + prev + "(env, q, f);\n", random.nextInt(40)));
            names.add(name);
            prev = name;
        }
        String name = "Java_tree_" + mangled(n.unit.name) + "_" + n.name;
        c.append(String.format("JNIEXPORT jint JNICALL %s(JNIEnv *env, jclass klass, jint q,"
            + " jint f)\n{\n\tjint r;\n\n%s\treturn r + 1;\n}\n\n", name,
            prev == null ? body : "\tr = " + prev + "(env, q, f);\n"));
        names.add(name);
        truth.append("c ").append(n.id).append(' ').append(String.join(" ", names)).append('\n');
    }

    private String upcall(Node n) {
        Node to = n.sites.get(0).to.get(0);

        truth.append(String.format("edge %d %d UPCALL -1%n", n.id, to.id));
        return String.format("\tstatic jclass k;\n\tstatic jmethodID m;\n\n"
            + "\tif (!m && method(env, \"%s\", \"%s\", &k, &m))\n\t\treturn 0;\n"
            + "\tr = burn(q, 5) + (*env)->CallStaticIntMethod(env, k, m, q, f);\n",
            to.klass.replace('.', '/'), to.name);
    }

    private static final String C_HEAD = """
        /* generated */
        #include <jni.h>

        static __attribute__((noinline, noclone)) jint burn(jint q, int n)
        {
        \tvolatile jint a = q;

        \tfor (int i = 0; i < n; i++)
        \t\ta = a * 3 + i;
        \treturn a;
        }

        static __attribute__((noinline, noclone)) int method(JNIEnv *env, const char *name,
        \tconst char *method, jclass *k, jmethodID *m)
        {
        \tjclass c = (*env)->FindClass(env, name);

        \tif (!c)
        \t\treturn -1;
        \t*k = (*env)->NewGlobalRef(env, c);
        \t*m = (*env)->GetStaticMethodID(env, c, method, "(II)I");
        \treturn *m ? 0 : -1;
        }

        """;

    // ---- files ----

    private void write(Path file, CharSequence text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    private void putUnit(Unit u, Map<Node, Site> from) {
        u.put("package tree;");
        u.put("");
        u.put("final class %s {", u.name);
        u.indent++;
        u.put("static final byte[] B = new byte[1024];");
        u.put("static final ThreadLocal<java.util.zip.CRC32> CRC ="
            + " ThreadLocal.withInitial(java.util.zip.CRC32::new);");
        for (Node n : u.own)
            putNode(u, n, from.get(n));
        u.indent--;
        u.put("}");
    }

    private void putGone(Unit u) {
        u.put("package tree;");
        u.put("");
        u.put("public final class %s implements Rt.Go {", u.name);
        u.indent++;
        for (Node n : u.own) {
            putMethod(u, n, (n.name.equals("go") ? "public int " : "static int ") + n.name
                + "(int q, int f)");
            tell(n, Kind.STATIC);
        }
        u.indent--;
        u.put("}");
    }

    private void putRoots(List<Node> roots) {
        Unit u = new Unit("Roots");

        u.put("package tree;");
        u.put("");
        u.put("final class Roots {");
        u.indent++;
        StringBuilder made = new StringBuilder();
        for (int i = 0; i < THREADS; i++) {
            Node top = node();
            Node root = roots.get(i % ROOTS);
            top.klass = "tree.Roots$T" + i;
            top.name = "run";
            u.put("static final class T%d implements Runnable {", i);
            u.indent++;
            top.line0 = u.line;
            u.put("public void run() {");
            u.put("    for (int q = %d; !Rt.stop; q = q * 0x9E3779B1 + 12345) {", i + 1);
            u.put("        try {");
            edge(top, root, Kind.STATIC, u.line);
            u.put("            Rt.sink = %s.%s(q ^ q >>> 15, %d);", source(root.klass), root.name,
                i / ROOTS);
            u.put("        } catch (Rt.Ex e) { Rt.sink++; }");
            u.put("    }");
            u.put("}");
            top.line1 = u.line - 1;
            u.indent--;
            u.put("}");
            tell(top, Kind.STATIC);
            truth.append(String.format("thread tree-%d %d%n", i, top.id));
            made.append(i > 0 ? ", " : "").append("new T").append(i).append("()");
        }
        u.put("static final Runnable[] RUN = {%s};", made);
        u.indent--;
        u.put("}");
        units.add(u);
    }

    private void sites(Node n, Map<Node, Site> from) {
        for (Site s : n.sites)
            for (Node to : s.to) {
                from.put(to, s);
                sites(to, from);
            }
    }

    private void generate(int methods) throws IOException {
        List<Node> roots = new ArrayList<>();
        Map<Node, Site> from = new HashMap<>();
        StringBuilder classes = new StringBuilder();

        for (int i = 0; i < ROOTS; i++) {
            Node n = node();
            grow(n, methods / ROOTS, 0);
            place(n, i, null, null);
            sites(n, from);
            roots.add(n);
        }
        for (Unit u : units) {
            putUnit(u, from);
            classes.append("tree.").append(u.name).append('\n');
        }
        putRoots(roots);
        gone.forEach(this::putGone);
        for (Unit u : units)
            write(dir.resolve("src/tree/" + u.name + ".java"), u.text);
        for (Unit u : gone)
            write(dir.resolve("gone/tree/" + u.name + ".java"), u.text);
        write(dir.resolve("tree.c"), C_HEAD + c);
        write(dir.resolve("units"), classes);
        write(dir.resolve("tree.txt"), truth);
        System.out.println(nodes + " methods in " + (units.size() + gone.size()) + " files");
    }

    public static void main(String[] args) throws IOException {
        new CallTree(Path.of(args[0]), Long.parseLong(args[1])).generate(Integer.parseInt(args[2]));
    }
}
