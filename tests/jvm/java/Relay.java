/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Relay RUNNERS: after "go" one of the threads has the token, works for some 30 us and hands it to
 * any other, for ever. Runner number N waits for it below N calls of deep().
 */
final class Relay {
    private static Semaphore[] tokens;

    private static void deep(int number, int calls) throws InterruptedException {
        if (calls > 1)
            deep(number, calls - 1);
        else
            run(number);
    }

    private static void run(int number) throws InterruptedException {
        for (;;) {
            tokens[number].acquire();
            work(20_000 + ThreadLocalRandom.current().nextInt(20_000));
            tokens[other(number)].release();
        }
    }

    private static void work(int ns) {
        for (long end = System.nanoTime() + ns; System.nanoTime() < end;)
            Thread.onSpinWait();
    }

    private static int other(int number) {
        int next = ThreadLocalRandom.current().nextInt(tokens.length - 1);

        return next < number ? next : next + 1;
    }

    private static void start(int number) {
        Thread t = new Thread(() -> {
            try {
                deep(number, number + 1);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }, "relay-runner-" + (number + 1));

        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) {
        tokens = new Semaphore[Integer.parseInt(args[0])];
        for (int i = 0; i < tokens.length; i++)
            tokens[i] = new Semaphore(0);
        for (int i = 0; i < tokens.length; i++)
            start(i);
        Harness.ready();
        Harness.awaitGo();
        tokens[0].release();
        Harness.awaitEnd();
    }
}
