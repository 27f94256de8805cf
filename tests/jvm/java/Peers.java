/* SPDX-License-Identifier: Apache-2.0 */
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/**
 * Peers FIFO: threads each of which waits for one thing, and says for which: "CAUSE thread operation
 * kind cause". A Unix socket is made beside the FIFO.
 */
final class Peers {
    private static final int DELAY_MS = 40;

    interface Loop {
        void run() throws Exception;
    }

    private static void start(String name, Loop loop) {
        Thread t = new Thread(() -> {
            try {
                loop.run();
            } catch (Exception e) {
                Harness.say("FAIL " + name + " " + e);
            }
        }, name);

        t.setDaemon(true);
        t.start();
    }

    private static void says(String thread, String op, String kind, String cause) {
        Harness.say("CAUSE " + thread + " " + op + " " + kind + " " + cause);
    }

    /** Answers each byte after the delay, each client by a thread that is named after its port. */
    static void serve(ServerSocket server) throws Exception {
        for (;;) {
            Socket s = server.accept();

            start("serves-" + s.getPort(), () -> {
                int b;

                while ((b = s.getInputStream().read()) >= 0) {
                    Thread.sleep(DELAY_MS);
                    s.getOutputStream().write(b);
                }
            });
        }
    }

    /** Asks and waits, again and again; with a time limit Java waits by poll(). */
    static void ask(Socket s) throws IOException {
        InputStream in = s.getInputStream();
        OutputStream out = s.getOutputStream();

        for (;;) {
            out.write(1);
            if (in.read() < 0)
                return;
        }
    }

    private static Socket connection(ServerSocket server, int timeout) throws IOException {
        Socket s = new Socket(server.getInetAddress(), server.getLocalPort());

        s.setSoTimeout(timeout);
        return s;
    }

    public static void main(String[] args) throws Exception {
        Path fifo = Path.of(args[0]), path = fifo.resolveSibling("peers.sock");
        ServerSocket server = new ServerSocket(0, 9, InetAddress.getByName("127.0.0.1"));
        ServerSocket lonely = new ServerSocket(0, 9, InetAddress.getByName("127.0.0.1"));
        ServerSocketChannel unix = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        UnixDomainSocketAddress address = UnixDomainSocketAddress.of(path);
        Pipe pipe = Pipe.open();
        Selector selector = Selector.open();
        String port = "127.0.0.1:" + server.getLocalPort();

        unix.bind(address);
        SocketChannel local = SocketChannel.open(address);
        start("server", () -> serve(server));
        start("reads", () -> ask(connection(server, 0)));
        start("polls", () -> ask(connection(server, 60000)));
        start("accepts", () -> lonely.accept());
        start("unix", () -> local.read(ByteBuffer.allocate(1)));
        start("pipe", () -> pipe.source().read(ByteBuffer.allocate(1)));
        start("holds", () -> {
            FileOutputStream out = new FileOutputStream(fifo.toFile());

            Thread.sleep(Long.MAX_VALUE);
            out.close();
        });
        start("fifo", () -> new FileInputStream(fifo.toFile()).read());
        start("selects", () -> selector.select());
        says("reads", "read", "TCP", port);
        says("polls", "read", "TCP", port);
        says("accepts", "accept", "TCP", "clients of :" + lonely.getLocalPort());
        says("unix", "read", "Unix socket", path.toString());
        says("pipe", "read", "pipe", "pipe:");
        says("fifo", "read", "file", fifo.toString());
        says("selects", "poll", "epoll", "[eventpoll]");
        Harness.ready();
        Harness.done();
    }
}
