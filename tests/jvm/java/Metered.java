/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.CountDownLatch;

/**
 * Between one "go" and the next, a thread that never rests and one that never does anything. Each tells what it was: its
 * CPU time as the kernel has it, and how long it was there.
 */
final class Metered {
    private static volatile boolean stops;

    public static void main(String[] args) throws InterruptedException {
        CountDownLatch end = new CountDownLatch(1), started = new CountDownLatch(2);
        Thread busy = new Thread(() -> {
            started.countDown();
            while (!stops)
                Harness.sink = Harness.crunch(Harness.sink);
            Harness.say("TRUTH busy 0 " + Harness.cpu());
        }, "metered-busy");
        Thread idle = new Thread(() -> {
            long begin = System.nanoTime();

            started.countDown();
            Harness.await(end);
            Harness.say("TRUTH idle 0 " + (System.nanoTime() - begin));
        }, "metered-idle");

        Harness.ready();
        Harness.awaitGo();
        busy.start();
        idle.start();
        Harness.await(started);
        Harness.say("STARTED");
        Harness.awaitGo();
        stops = true;
        end.countDown();
        busy.join();
        idle.join();
        Harness.done();
    }
}
