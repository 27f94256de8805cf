/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * Apart serve PORT: answers as Peers does.
 * Apart ask ADDRESS PORT: asks again and again by the thread "asks".
 */
final class Apart {
    private static void ask(String address, int port) {
        try (Socket s = new Socket(InetAddress.getByName(address), port)) {
            Harness.say("PORT " + s.getLocalPort());
            Peers.ask(s);
        } catch (IOException e) {
            Harness.say("FAIL " + e);
        }
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("serve")) {
            ServerSocket server = new ServerSocket(Integer.parseInt(args[1]));

            Harness.ready();
            Peers.serve(server);
        }
        Thread t = new Thread(() -> ask(args[1], Integer.parseInt(args[2])), "asks");

        t.setDaemon(true);
        t.start();
        Harness.ready();
        Harness.done();
    }
}
