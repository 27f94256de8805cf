/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;

/**
 * Unload MS: generation after generation of classes is defined, runs for MS in a thread named for it, and
 * is unloaded, so that the next one's methods come to lie where its were. Classes and methods have their
 * generation in their names: frames of a thread "gen-N" must be of generation N.
 */
public final class Unload {
    private static final int CLASSES = 12;
    private static final String PLACE = "00000000";

    /** One class of a generation; calls the next of the chain, and the last one spins. */
    public interface Link {
        long link(Link[] chain, int at, long until);
    }

    /** Of each generation there are copies with its number in place of the zeros. */
    public static final class Generation00000000 implements Link {
        private static long step00000000(Link[] chain, int at, long until) {
            long n = 1;

            if (at < chain.length)
                return n + chain[at].link(chain, at + 1, until);
            while (System.nanoTime() < until)
                n = more00000000(n);
            return n;
        }

        private static long more00000000(long n) {
            for (int i = 0; i < 50; i++)
                n = n * 31 + i;
            return n;
        }

        @Override
        public long link(Link[] chain, int at, long until) {
            return step00000000(chain, at, until) + 1;
        }
    }

    private static final class Loader extends ClassLoader {
        Loader() {
            super(Unload.class.getClassLoader());
        }

        Class<?> define(byte[] code) {
            return defineClass(null, code, 0, code.length);
        }
    }

    private static byte[] template() throws IOException {
        try (InputStream in = Unload.class.getResourceAsStream("Unload$Generation" + PLACE + ".class")) {
            return in.readAllBytes();
        }
    }

    /** The bytes with the generation's number in all names. */
    private static byte[] numbered(byte[] template, int generation) {
        String text = new String(template, StandardCharsets.ISO_8859_1);

        return text.replace(PLACE, String.format("%08d", generation))
            .getBytes(StandardCharsets.ISO_8859_1);
    }

    /** Hidden classes, or each of a class loader of its own. */
    private static Link link(byte[] code, boolean hidden) throws ReflectiveOperationException {
        Class<?> made = hidden ? MethodHandles.lookup().defineHiddenClass(code, true).lookupClass()
                               : new Loader().define(code);

        return (Link) made.getConstructor().newInstance();
    }

    private static void generation(byte[] template, int n, long ns)
        throws ReflectiveOperationException, InterruptedException {
        byte[] code = numbered(template, n);
        Link[] chain = new Link[CLASSES];

        for (int i = 0; i < CLASSES; i++)
            chain[i] = link(code, (n + i) % 2 == 0);
        Thread t = new Thread(
            () -> Harness.sink += chain[0].link(chain, 1, System.nanoTime() + ns), "gen-" + n);
        t.start();
        t.join();
    }

    private static void generations(byte[] template, long ns) {
        try {
            for (int n = 1;; n++) {
                generation(template, n, ns);
                System.gc();
            }
        } catch (ReflectiveOperationException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws IOException {
        byte[] template = template();
        long ns = Long.parseLong(args[0]) * 1_000_000;
        Thread t = new Thread(() -> generations(template, ns), "generations");

        t.setDaemon(true);
        t.start();
        Harness.ready();
        Harness.done();
    }
}
