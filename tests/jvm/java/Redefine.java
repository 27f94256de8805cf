/* SPDX-License-Identifier: Apache-2.0 */
import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;

/**
 * Redefine CLASSES MS: runs A0.all(), A1.all() ..., each for so much CPU time, in a thread called old; redefines
 * these classes, so that the JVM frees their old methods; and runs B0.all(), B1.all() ... in one called new.
 * With -javaagent: a jar that has the classes.
 */
final class Redefine {
    private static Instrumentation jvm;

    private Redefine() {
    }

    public static void premain(String args, Instrumentation i) {
        jvm = i;
    }

    private static void run(String name, long ns) throws ReflectiveOperationException {
        Method all = Class.forName(name).getDeclaredMethod("all", long.class);
        long until = Harness.cpu() + ns;

        all.setAccessible(true);
        while (Harness.cpu() < until)
            Harness.sink += (long) all.invoke(null, Harness.sink);
    }

    private static void redefine(String name) throws Exception {
        try (InputStream in = ClassLoader.getSystemResourceAsStream(name + ".class")) {
            jvm.redefineClasses(new ClassDefinition(Class.forName(name), in.readAllBytes()));
        }
    }

    private static void work(int classes, long ns) throws Exception {
        Thread.currentThread().setName("old");
        for (int i = 0; i < classes; i++)
            run("A" + i, ns);
        Thread.currentThread().setName("between");
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < classes; i++)
                redefine("A" + i);
            for (int i = 0; i < 2; i++) {
                System.gc();
                Harness.sleep(100_000_000);
            }
        }
        Thread.currentThread().setName("new");
        for (int i = 0; i < classes; i++)
            run("B" + i, ns);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread t = new Thread(() -> {
            try {
                work(Integer.parseInt(args[0]), Long.parseLong(args[1]) * 1_000_000);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });

        Harness.ready();
        Harness.awaitGo();
        t.start();
        t.join();
        Harness.done();
    }
}
