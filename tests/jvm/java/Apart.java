/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * Apart serve PORT: answers each byte after 40 ms, each client by a thread that is named after its port.
 * Apart ask ADDRESS PORT: asks again and again by the thread "asks".
 */
final class Apart {
    private static final int DELAY_MS = 40;

    private static void answer(Socket s) {
        try {
            int b;

            while ((b = s.getInputStream().read()) >= 0) {
                Thread.sleep(DELAY_MS);
                s.getOutputStream().write(b);
            }
        } catch (IOException | InterruptedException e) {
            Harness.say("FAIL " + e);
        }
    }

    private static void serve(int port) throws IOException {
        ServerSocket server = new ServerSocket(port);

        Harness.say("READY " + ProcessHandle.current().pid());
        for (;;) {
            Socket s = server.accept();

            new Thread(() -> answer(s), "serves-" + s.getPort()).start();
        }
    }

    private static void ask(String address, int port) {
        try (Socket s = new Socket(InetAddress.getByName(address), port)) {
            Harness.say("PORT " + s.getLocalPort());
            Peers.ask(s);
        } catch (IOException e) {
            Harness.say("FAIL " + e);
        }
    }

    public static void main(String[] args) throws IOException {
        if (args[0].equals("serve"))
            serve(Integer.parseInt(args[1]));
        Thread t = new Thread(() -> ask(args[1], Integer.parseInt(args[2])), "asks");

        t.setDaemon(true);
        t.start();
        Harness.ready();
        Harness.done();
    }
}
