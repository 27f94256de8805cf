/* SPDX-License-Identifier: Apache-2.0 */
import java.util.Random;
import java.util.function.ToIntFunction;

/**
 * Code that moves the stack pointer within its frame: what C2 makes of methods of String, and C1 of
 * casts to an interface. A thread for each, of the method's name: run() calls it all the time.
 */
public final class Moves {
    private interface A {
    }

    private interface B {
    }

    private interface C {
    }

    private interface D {
    }

    private static final class Forth implements A, B, C, D {
    }

    private static final class Back implements D, C, B, A {
    }

    private static final int N = 500;

    private Moves() {
    }

    static int compare(String[] s) {
        int n = 0;

        for (int i = 1; i < N; i++)
            n += s[i].compareTo(s[i - 1]);
        return n;
    }

    static int index(String[] s) {
        int n = 0;

        for (int i = 0; i < N; i++)
            n += s[i].indexOf(s[i & 7]);
        return n;
    }

    static int constant(String[] s) {
        int n = 0;

        for (int i = 0; i < N; i++)
            n += s[i].indexOf("er.1");
        return n;
    }

    static int pack(String[] s) {
        char[] chars = new char[200];
        int n = 0;

        for (int i = 0; i < N; i++)
            n += new String(chars, 0, 100 + (i & 63)).length();
        return n + s.length;
    }

    static int casts(Object[] o) {
        int n = 0;

        for (int i = 0; i < N; i++) {
            n += o[i] instanceof A ? 1 : 0;
            n += o[i] instanceof D ? 1 : 0;
        }
        return n;
    }

    static <T> void run(ToIntFunction<T> what, T of) {
        for (;;)
            Harness.sink = what.applyAsInt(of);
    }

    private static <T> void begin(String name, ToIntFunction<T> what, T of) {
        Thread t = new Thread(() -> run(what, of), name);

        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        String[] strings = new String[N];
        Object[] objects = new Object[N];
        Random random = new Random(1);

        for (int i = 0; i < N; i++) {
            strings[i] = "customer.order.number.".repeat(i % 4) + random.nextInt(100_000);
            objects[i] = i % 2 == 0 ? new Forth() : new Back();
        }
        begin("compare", Moves::compare, strings);
        begin("index", Moves::index, strings);
        begin("constant", Moves::constant, strings);
        begin("pack", Moves::pack, strings);
        begin("casts", Moves::casts, objects);
        Thread.sleep(1000); // for the compiler
        Harness.ready();
        Harness.awaitEnd();
    }
}
