/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.LongAdder;

/** PingPong PAIRS SECONDS: after "go" pairs of threads hand one object back and forth. */
final class PingPong {
    private static volatile boolean stop;
    private static final LongAdder turns = new LongAdder();

    private static void pair(int number) {
        SynchronousQueue<Integer> there = new SynchronousQueue<>(), back = new SynchronousQueue<>();

        start("pingpong-left-number-" + number, () -> {
            while (!stop) {
                there.put(1);
                back.take();
                turns.increment();
            }
            there.put(0);
        });
        start("pingpong-right-number-" + number, () -> {
            while (there.take() != 0)
                back.put(1);
        });
    }

    private interface Body {
        void run() throws InterruptedException;
    }

    private static void start(String name, Body body) {
        Thread t = new Thread(() -> {
            try {
                body.run();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }, name);

        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws InterruptedException {
        int pairs = Integer.parseInt(args[0]), seconds = Integer.parseInt(args[1]);

        Harness.ready();
        Harness.awaitGo();
        for (int i = 1; i <= pairs; i++)
            pair(i);
        Thread.sleep(seconds * 1000L);
        stop = true;
        Thread.sleep(200);
        Harness.say("TRUTH turns - " + turns.sum());
        Harness.done();
    }
}
