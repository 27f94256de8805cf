/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * ExecSelf children N MS: after "go" burns MS of CPU in one thread while N child processes burn
 * as much as they can: none of theirs may be counted.
 * ExecSelf exec LIBRARY: after "go" the whole process becomes `sleep 30` through execve.
 */
final class ExecSelf {
    private static native void become();

    private static void children(int n, long ms) throws IOException, InterruptedException {
        List<Process> all = new ArrayList<>();
        long before;

        for (int i = 0; i < n; i++)
            all.add(new ProcessBuilder("sh", "-c", "while :; do :; done").start());
        before = Harness.cpu();
        Harness.burn(before + ms * 1_000_000);
        Harness.say("TRUTH main - " + (Harness.cpu() - before));
        for (Process p : all)
            p.destroyForcibly().waitFor();
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        boolean exec = args[0].equals("exec");

        if (exec)
            System.load(args[1]);
        Thread busy = new Thread(() -> Harness.burn(Long.MAX_VALUE), "exec-busy-thread-number-1");
        busy.setDaemon(true);
        if (exec)
            busy.start();
        Harness.ready();
        Harness.awaitGo();
        if (exec)
            become();
        children(Integer.parseInt(args[1]), Long.parseLong(args[2]));
        Harness.done();
    }
}
