// SPDX-License-Identifier: Apache-2.0

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import gnomon.GnomonContext;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A server with ten threads, whose GET /allocation-stalls needs much memory, and GET /hello none; as many clients that ask it.
 * ContextStalls REQUESTS: so many of each from "go" on, then of each of the first "TOOK ns CPU-NS QUEUED-NS", by its own clock and the
 * scheduler's account of the thread.
 */
public final class ContextStalls {
    private static final int THREADS = 10;
    private static final int BUFFER = 30 << 20;
    private static final int BUFFERS = 24;

    private static volatile Object kept;
    private static final StringBuffer TOOK = new StringBuffer();

    /** Two buffers live at a time: of all threads together more than half of a heap of 1 GiB. */
    private static void allocate() {
        for (int i = 0; i < BUFFERS; i += 2) {
            ByteBuffer one = ByteBuffer.allocate(BUFFER);
            ByteBuffer two = ByteBuffer.allocate(BUFFER);

            kept = one;
            kept = two;
        }
    }

    private static void allocationStalls(HttpExchange exchange) throws IOException {
        try (GnomonContext scope = GnomonContext.open("GET /allocation-stalls")) {
            long[] before = account();
            long from = System.nanoTime();

            allocate();
            long ns = System.nanoTime() - from;
            long[] after = account();
            TOOK.append("TOOK " + ns + " " + (after[0] - before[0]) + " " + (after[1] - before[1]) + "\n");
        }
        answer(exchange);
    }

    /** Of this thread: how long it ran, and how long it waited for a CPU. */
    private static long[] account() throws IOException {
        String[] words = Files.readString(Path.of("/proc/thread-self/schedstat")).split(" ");

        return new long[] {Long.parseLong(words[0]), Long.parseLong(words[1])};
    }

    private static void hello(HttpExchange exchange) throws IOException {
        try (GnomonContext scope = GnomonContext.open("GET /hello")) {
            answer(exchange);
        }
    }

    private static void answer(HttpExchange exchange) throws IOException {
        exchange.sendResponseHeaders(200, -1);
        exchange.close();
    }

    private static void ask(HttpServer server, String path) {
        try {
            HttpURLConnection c = (HttpURLConnection) URI
                    .create("http://127.0.0.1:" + server.getAddress().getPort() + path).toURL().openConnection();

            if (c.getResponseCode() != 200) {
                throw new IOException(path + ": " + c.getResponseCode());
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void clients(HttpServer server, int requests) throws InterruptedException {
        Thread[] clients = new Thread[THREADS];
        AtomicInteger left = new AtomicInteger(requests);

        for (int i = 0; i < THREADS; i++) {
            clients[i] = new Thread(() -> {
                while (left.decrementAndGet() >= 0) {
                    ask(server, "/hello");
                    ask(server, "/allocation-stalls");
                }
            }, "client-" + i);
            clients[i].start();
        }
        for (Thread c : clients) {
            c.join();
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
        AtomicInteger n = new AtomicInteger();
        ExecutorService pool = Executors.newFixedThreadPool(THREADS, r -> new Thread(r, "serves-" + n.getAndIncrement()));
        int requests = Integer.parseInt(args[0]);

        if (GnomonContext.problem() != null) {
            throw new IllegalStateException(GnomonContext.problem());
        }
        server.createContext("/allocation-stalls", ContextStalls::allocationStalls);
        server.createContext("/hello", ContextStalls::hello);
        server.setExecutor(pool);
        server.start();
        System.out.println("READY " + ProcessHandle.current().pid());
        in.readLine();
        clients(server, requests);
        System.out.print(TOOK);
        System.out.println("DONE");
        in.readLine();
        System.exit(0);
    }
}
