/* SPDX-License-Identifier: Apache-2.0 */
package tree;

import java.io.FileInputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What the generated methods share, and the program's main: starts the threads, keeps the code
 * changing (classes loaded late, classes thrown away, branches never taken before) until its
 * standard input ends.
 *
 * Rt DIRECTORY: where the thrown-away classes and libtree.so lie.
 */
public final class Rt {
    private Rt() {
    }

    /** Target of call sites through lambdas. */
    public interface Fn {
        int ap(int q, int f);
    }

    /** What a thrown-away class implements. */
    public interface Go {
        int go(int q, int f);
    }

    /** The exception that crosses frames. */
    public static final class Ex extends RuntimeException {
        private static final long serialVersionUID = 1;

        Ex(int q) {
            super(null, null, false, (q & 3) == 0);
        }
    }

    /** Flag in `f`: this thread may sleep. The bits above RECURSION count recursive calls. */
    static final int SLEEPY = 1;
    static final int RECURSION = 8;

    static final Object[] LOCK = {new Object(), new Object(), new Object(), new Object()};
    static final ReentrantLock[] JUC = {new ReentrantLock(), new ReentrantLock()};
    static volatile boolean stop;
    static volatile int sink;
    /** Changes with time: branches that test it have never been taken before, for a while. */
    public static int mode;

    static Go[] gone = new Go[0];

    /** A call site that gets a receiver of a new class while the program runs. */
    private record Late(Object[] receivers, String name) {
    }

    private static final ArrayDeque<Late> LATE = new ArrayDeque<>();

    static <T> T[] late(T[] receivers, String name) {
        LATE.add(new Late(receivers, name));
        return receivers;
    }

    static Method method(Class<?> c, String name) {
        try {
            return c.getDeclaredMethod(name, int.class, int.class);
        } catch (NoSuchMethodException e) {
            throw new AssertionError(e);
        }
    }

    static MethodHandle handle(MethodHandles.Lookup l, Class<?> c, String name) {
        try {
            return l.findStatic(c, name,
                MethodType.methodType(int.class, int.class, int.class));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static RuntimeException rethrow(Throwable t) {
        if (t.getCause() instanceof Ex e)
            return e;
        if (t instanceof RuntimeException e)
            return e;
        throw new AssertionError(t);
    }

    static final FileInputStream ZERO;

    static {
        try {
            ZERO = new FileInputStream("/dev/zero");
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Sees each class of a directory only once. */
    private static final class Thrown extends ClassLoader {
        private final byte[] code;

        Thrown(byte[] code) {
            super(Rt.class.getClassLoader());
            this.code = code;
        }

        Go make(String name) throws ReflectiveOperationException {
            return (Go) defineClass(name, code, 0, code.length).getDeclaredConstructor()
                .newInstance();
        }
    }

    private static void throwAway(List<byte[]> code, int round)
        throws ReflectiveOperationException {
        for (int i = 0; i < code.size(); i++)
            if (gone[i] == null || (round + i) % 8 == 0)
                gone[i] = new Thrown(code.get(i)).make("tree.G" + i);
        if (round % 64 == 0)
            System.gc();
    }

    private static void loadLate() throws ReflectiveOperationException {
        Late l = LATE.poll();

        if (l != null)
            l.receivers[l.receivers.length - 1] =
                Class.forName(l.name).getDeclaredConstructor().newInstance();
    }

    private static void change(List<byte[]> code) {
        try {
            for (int round = 1; !stop; round++) {
                Thread.sleep(25);
                throwAway(code, round);
                loadLate();
                mode = round >> 3;
            }
        } catch (ReflectiveOperationException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void start(Runnable r, String name) {
        Thread t = new Thread(null, r, name, 8 << 20);

        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        Path dir = Path.of(args[0]);
        List<byte[]> code = new ArrayList<>();

        System.load(dir.resolve("libtree.so").toAbsolutePath().toString());
        for (int i = 0; Files.exists(dir.resolve("G" + i + ".class")); i++)
            code.add(Files.readAllBytes(dir.resolve("G" + i + ".class")));
        gone = new Go[code.size()];
        throwAway(code, 0);
        for (String c : Files.readAllLines(dir.resolve("units")))
            Class.forName(c);
        for (int i = 0; i < Roots.RUN.length; i++)
            start(Roots.RUN[i], "tree-" + i);
        start(() -> change(code), "changes");
        System.out.println("READY " + ProcessHandle.current().pid());
        while (System.in.read() >= 0)
            continue;
        stop = true;
    }
}
