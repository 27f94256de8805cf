/* SPDX-License-Identifier: Apache-2.0 */
package shop;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** A small web shop for `make demo`: prints "READY port" and serves until it is ended. */
public final class Server {
    private interface Page {
        String answer(String query);
    }

    private static void page(HttpServer http, String path, Page page) {
        http.createContext(path, exchange -> handle(exchange, page));
    }

    private static void handle(HttpExchange exchange, Page page) throws IOException {
        String query = exchange.getRequestURI().getQuery();
        byte[] body = page.answer(query == null ? "" : query).getBytes(StandardCharsets.UTF_8);

        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(200, body.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
        }
    }

    private static ExecutorService workers(int n) {
        AtomicInteger number = new AtomicInteger();

        return Executors.newFixedThreadPool(n,
            r -> new Thread(r, "http-request-worker-" + number.incrementAndGet()));
    }

    public static void main(String[] args) throws IOException {
        Database database = new Database(3);
        Catalog catalog = new Catalog(5000);
        Checkout checkout = new Checkout(catalog, database);
        HttpServer http = HttpServer.create(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);

        page(http, "/search", catalog::search);
        page(http, "/checkout", checkout::order);
        page(http, "/report", q -> new Report(catalog).bestSellers(20));
        http.setExecutor(workers(12));
        http.start();
        System.out.println("READY " + http.getAddress().getPort());
    }
}
