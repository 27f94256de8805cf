/* SPDX-License-Identifier: Apache-2.0 */
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** Serve PORT THREADS: the JDK's own HTTP server on the loopback, a small page for each request. */
final class Serve {
    private Serve() {
    }

    private static void answer(HttpExchange e) throws IOException {
        StringBuilder page = new StringBuilder("<html><body>\n");

        for (int i = 0; i < 50; i++)
            page.append("<p>").append(i * 31 % 17).append("</p>\n");
        byte[] body = page.append("</body></html>\n").toString().getBytes();
        e.sendResponseHeaders(200, body.length);
        try (OutputStream out = e.getResponseBody()) {
            out.write(body);
        }
    }

    public static void main(String[] args) throws IOException {
        InetSocketAddress at =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(args[0]));
        HttpServer s = HttpServer.create(at, 128);

        s.setExecutor(Executors.newFixedThreadPool(Integer.parseInt(args[1])));
        s.createContext("/", Serve::answer);
        s.start();
        System.out.println("Server startup");
    }
}
