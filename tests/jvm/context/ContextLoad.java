// SPDX-License-Identifier: Apache-2.0

import com.sun.net.httpserver.HttpServer;
import gnomon.GnomonContext;
import gnomon.GnomonHttpFilter;
import java.io.File;
import java.io.InputStream;
import java.lang.invoke.VarHandle;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.MappedByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Publishes contexts and says beside it, in the file "marks" among its classes, which one each thread has; context_probe.c
 * tells what the marks mean.
 *
 * ContextLoad platform|virtual THREADS: threads in nested scopes all the time. ContextLoad still: one thread in two scopes, a
 * pool's that has a task of it, and a server's with a request; they stay.
 */
public final class ContextLoad {
    private static final Object LOCK = new Object();

    private static volatile boolean ended;

    private final MappedByteBuffer marks;
    private final int at;
    private final boolean isVirtual;
    private final long number;
    private long spans;
    private long noise;

    private ContextLoad(MappedByteBuffer marks, int i, boolean isVirtual) {
        this.marks = marks;
        this.isVirtual = isVirtual;
        at = 32 * i;
        number = 0x1000 + i;
        spans = number << 32;
    }

    private void mark(long state) {
        VarHandle.fullFence();
        marks.putLong(at + 8, state);
        VarHandle.fullFence();
    }

    private void inside(long span) {
        marks.putLong(at + 16, span);
        mark(2);
    }

    private void work() {
        for (int i = 0; i < 60_000; i++) {
            noise = noise * 31 + i;
        }
    }

    /** Where a virtual thread leaves its carrier. */
    private void rest(long turn) throws InterruptedException {
        mark(3);
        if (turn % 3 == 0) {
            Thread.sleep(1);
        } else if (turn % 3 == 1) {
            synchronized (LOCK) {
                noise++;
            }
        } else {
            Thread.yield();
        }
        mark(2);
    }

    private void run() {
        try {
            marks.putLong(at, isVirtual ? 0 : Long.parseLong(
                    Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString()));
            marks.putLong(at + 24, number);
            for (long turn = number; !ended; turn++) {
                scope(turn);
                mark(0);
                work();
                Thread.sleep(1);
            }
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    private void scope(long turn) throws InterruptedException {
        long span = spans++;

        mark(1);
        try (GnomonContext outer = GnomonContext.open("outer " + turn % 5, turn, number, span)) {
            inside(span);
            work();
            rest(turn);
            long innerSpan = spans++;
            mark(1);
            try (GnomonContext inner = GnomonContext.open("inner " + turn % 7, turn, number, innerSpan)) {
                inside(innerSpan);
                work();
                rest(turn + 1);
                work();
                mark(1);
            }
            inside(span);
            work();
            mark(1);
        }
    }

    private static Thread start(Runnable task, boolean isVirtual) throws ReflectiveOperationException {
        if (isVirtual) {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        }
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static MappedByteBuffer map(int threads) throws Exception {
        File classes = new File(ContextLoad.class.getProtectionDomain().getCodeSource().getLocation().toURI());

        try (FileChannel c = FileChannel.open(new File(classes, "marks").toPath(), StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MappedByteBuffer b = c.map(FileChannel.MapMode.READ_WRITE, 0, 32L * threads);
            b.order(ByteOrder.nativeOrder());
            return b;
        }
    }

    /** Each a trace id and a span id: in capital letters; with what is next to digits in ASCII; of other lengths. */
    private static final String[][] IDS = {
        {"0AF7651916CD43DD8448EB211C80319C", "ABCDEFabcdef0123"},
        {"0af7651916cd43dd8448eb211c80319g", "b7ad6b716920333/"},
        {":af7651916cd43dd8448eb211c803190", "b7ad6b71@9203331"},
        {"0af7651916cd43dd84`8eb211c803190", "Gb7ad6b716920333"},
        {"0af7651916cd43dd8448eb211c80319", "b7ad6b7169203331"},
    };

    private static void still() throws Exception {
        CountDownLatch within = new CountDownLatch(2 + IDS.length);
        CountDownLatch never = new CountDownLatch(1);
        ExecutorService pool = GnomonContext.wrap(Executors.newSingleThreadExecutor());
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);

        server.createContext("/shop", exchange -> {
            within.countDown();
            await(never);
        }).getFilters().add(new GnomonHttpFilter());
        server.setExecutor(task -> {
            Thread t = new Thread(task);
            t.setDaemon(true);
            t.start();
        });
        server.start();
        Socket socket = new Socket(server.getAddress().getAddress(), server.getAddress().getPort());
        socket.getOutputStream().write(("GET /shop/1?q HTTP/1.1\r\nHost: x\r\n"
                + "traceparent: 00-11111111111111112222222222222222-3333333333333333-01\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII));
        GnomonContext.resource("service.name", "shop");
        for (String[] ids : IDS) {
            start(() -> {
                // what was open before has half of these ids, and then all
                GnomonContext.open("earlier", ids[0], "00f067aa0ba902b7").close();
                GnomonContext.open("earlier", "4bf92f3577b34da6a3ce929d0e0e4736", ids[1]).close();
                GnomonContext.open("earlier", ids[0], ids[1]).close();
                try (GnomonContext scope = GnomonContext.open("ids", ids[0], ids[1])) {
                    within.countDown();
                    await(never);
                }
            }, false);
        }
        try (GnomonContext outer = GnomonContext.open("GET /cart", "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")) {
            pool.execute(() -> {
                within.countDown();
                await(never);
            });
            try (GnomonContext inner = GnomonContext.open("SELECT \u00fc", 1, 2, 3)) {
                within.await();
                System.out.println("READY " + ProcessHandle.current().pid());
                untilEnd();
            }
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void untilEnd() throws Exception {
        InputStream in = System.in;
        int c;

        do {
            c = in.read();
        } while (c >= 0 && c != 'e');
        ended = true;
        System.exit(0);
    }

    public static void main(String[] args) throws Exception {
        if (GnomonContext.problem() != null) {
            throw new IllegalStateException(GnomonContext.problem());
        }
        if (args[0].equals("still")) {
            still();
            return;
        }
        int threads = Integer.parseInt(args[1]);
        MappedByteBuffer marks = map(threads);
        boolean isVirtual = args[0].equals("virtual");
        for (int i = 0; i < threads; i++) {
            start(new ContextLoad(marks, i, isVirtual)::run, isVirtual);
        }
        Thread.sleep(1000);
        System.out.println("READY " + ProcessHandle.current().pid());
        untilEnd();
    }
}
