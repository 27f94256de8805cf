/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;

/**
 * AgentLoad MODE: code whose names are known. burn() calls step(), which is inlined.
 * "plain": one busy thread with a long name. "churn": a new thread every millisecond as well.
 * "fresh": new classes are compiled and thrown away all the time. "many N ROUNDS": N methods compiled
 * (each of a class of its own). Then, in each round: at "go", two seconds of a 1 ms heartbeat and of
 * requests to a server thread; the longest gap of the one as TRUTH gapI 0 NS, and without its waits
 * for a CPU as TRUTH haltI; the 99th percentile and the longest time of the others as TRUTH p99-I
 * and TRUTH slowest-I.
 */
final class AgentLoad {
    static volatile int result;
    static final List<Object> KEPT = new ArrayList<>(); // or their classes would be unloaded

    static int step(int x) {
        return x * 31 + 7;
    }

    static void burn(int n) {
        int x = n;

        for (int i = 0; i < n; i++)
            x = step(x) ^ i;
        result = x;
    }

    /** Without a pause until it is all compiled, then a tenth of the time. */
    static void burnForEver() {
        for (int i = 0;; i++) {
            long begun = System.nanoTime();

            burn(100_000);
            if (i < 5_000)
                Thread.yield();
            else
                Harness.sleep(9 * (System.nanoTime() - begun));
        }
    }

    private static void daemon(String name, Runnable r) {
        Thread t = new Thread(r, name);

        t.setDaemon(true);
        t.start();
    }

    private static void churn() {
        for (int i = 0;; i++) {
            Thread s = new Thread(() -> burn(100), "short-" + i);

            s.start();
            try {
                s.join();
                Thread.sleep(1);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** A class loader of its own for every copy of Victim: the classes can be unloaded. */
    private static void fresh() {
        try (java.io.InputStream in = AgentLoad.class.getResourceAsStream("AgentLoad$Victim.class")) {
            byte[] code = in.readAllBytes();

            for (int i = 1;; i++) {
                Class<?> c = new ClassLoader(null) {
                    Class<?> define() {
                        return defineClass("AgentLoad$Victim", code, 0, code.length);
                    }
                }.define();
                IntUnaryOperator op =
                    (IntUnaryOperator) c.getDeclaredConstructor().newInstance();

                for (int k = 0; k < 3000; k++)
                    result += op.applyAsInt(k);
                if (i % 50 == 0)
                    System.gc();
            }
        } catch (ReflectiveOperationException | IOException e) {
            throw new IllegalStateException(e);
        }
    }

    public static final class Victim implements IntUnaryOperator {
        public Victim() {
        }

        @Override
        public int applyAsInt(int x) {
            int s = x;

            for (int i = 0; i < 10; i++)
                s = s * 31 + i;
            return s;
        }
    }

    /** How long the calling thread has waited for a CPU in all, in ns. */
    private static long queued(RandomAccessFile schedstat, byte[] text) throws IOException {
        long ns = 0;
        int i = 0;

        schedstat.seek(0);
        schedstat.read(text);
        while (text[i++] != ' ')
            ;
        for (; text[i] != ' '; i++)
            ns = ns * 10 + text[i] - '0';
        return ns;
    }

    /** The longest gap, and the longest without the time that others had the CPUs. */
    private static long[] gap(long seconds) throws InterruptedException, IOException {
        long[] worst = new long[2];
        byte[] text = new byte[80];

        try (RandomAccessFile f = new RandomAccessFile("/proc/thread-self/schedstat", "r")) {
            long end = System.nanoTime() + seconds * 1_000_000_000L, last = System.nanoTime();
            long before = queued(f, text);

            while (last < end) {
                Thread.sleep(1);
                long now = System.nanoTime(), after = queued(f, text);

                worst[0] = Math.max(worst[0], now - last);
                worst[1] = Math.max(worst[1], now - last - (after - before));
                last = now;
                before = after;
            }
        }
        return worst;
    }

    /** One byte in, a little work, one byte out, over a connection of the loopback. */
    private static SocketChannel server() throws IOException {
        ServerSocketChannel listener = ServerSocketChannel.open();

        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        daemon("server", () -> {
            ByteBuffer b = ByteBuffer.allocateDirect(1);

            try (SocketChannel c = listener.accept()) {
                while (c.read(b.clear()) == 1) {
                    burn(10_000);
                    c.write(b.flip());
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        SocketChannel c = SocketChannel.open(listener.getLocalAddress());
        c.setOption(StandardSocketOptions.TCP_NODELAY, true);
        return c;
    }

    /** The times that requests took, in ns, sorted. */
    private static long[] requests(SocketChannel c, long seconds) throws IOException {
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        ByteBuffer b = ByteBuffer.allocateDirect(1);
        long[] took = new long[1_000_000];
        int n = 0;

        for (long now = System.nanoTime(); now < end && n < took.length;) {
            c.write(b.clear());
            c.read(b.clear());
            long then = now;

            now = System.nanoTime();
            took[n++] = now - then;
        }
        took = Arrays.copyOf(took, n);
        Arrays.sort(took);
        return took;
    }

    private static void round(int i, SocketChannel c) throws InterruptedException, IOException {
        long[][] took = new long[1][];
        Thread client = new Thread(() -> {
            try {
                took[0] = requests(c, 2);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }, "client");

        client.start();
        long[] gap = gap(2);
        client.join();
        int n = took[0].length;
        Harness.say("TRUTH p99-" + i + " 0 " + took[0][n - 1 - n / 100]);
        Harness.say("TRUTH slowest-" + i + " 0 " + took[0][n - 1]);
        Harness.say("TRUTH halt" + i + " 0 " + gap[1]);
        Harness.say("TRUTH gap" + i + " 0 " + gap[0]);
    }

    private static void many(int n) throws Exception {
        byte[] code;
        try (java.io.InputStream in = AgentLoad.class.getResourceAsStream("AgentLoad$Victim.class")) {
            code = in.readAllBytes();
        }
        for (int i = 0; i < n; i++) {
            Class<?> c = new ClassLoader(null) {
                Class<?> define() {
                    return defineClass("AgentLoad$Victim", code, 0, code.length);
                }
            }.define();
            IntUnaryOperator op = (IntUnaryOperator) c.getDeclaredConstructor().newInstance();

            for (int k = 0; k < 400; k++)
                result += op.applyAsInt(k);
            KEPT.add(op);
        }
    }

    public static void main(String[] args) throws Exception {
        String mode = args[0];

        if (!mode.equals("many")) // which leaves a CPU to those who attach
            daemon("a-busy-thread-with-a-long-name", AgentLoad::burnForEver);
        if (mode.equals("churn"))
            daemon("churner", AgentLoad::churn);
        if (mode.equals("fresh"))
            daemon("fresh", AgentLoad::fresh);
        if (mode.equals("many"))
            many(Integer.parseInt(args[1]));
        Harness.ready();
        int rounds = mode.equals("many") ? Integer.parseInt(args[2]) : 0;
        SocketChannel c = rounds > 0 ? server() : null;
        for (int i = 1; i <= rounds; i++) {
            Harness.awaitGo();
            round(i, c);
        }
        Harness.done();
    }
}
