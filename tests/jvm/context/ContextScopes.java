// SPDX-License-Identifier: Apache-2.0

import gnomon.GnomonContext;
import java.io.IOException;

/**
 * Threads in scopes, so that the frames of a stack say which: within "in..." the thread is in the scope of that operation for as
 * long as the method runs, within "out" in none. ContextScopes platform|virtual THREADS; the threads are called "scope-NUMBER",
 * and NUMBER is the lower half of the trace ids.
 */
public final class ContextScopes {
    private static volatile boolean ended;
    private static volatile long sink;

    private final long number;
    private final Object lock = new Object();
    private long noise;

    private ContextScopes(long number) {
        this.number = number;
    }

    private void work(int n) {
        for (int i = 0; i < n * 1000; i++) {
            noise = noise * 31 + i;
        }
        sink = noise;
    }

    private void inCart() throws InterruptedException {
        work(400);
        Thread.sleep(12);
        work(100);
    }

    private void inSelect() throws InterruptedException {
        work(700);
        synchronized (lock) {
            lock.wait(7);
        }
    }

    private void inPay() throws InterruptedException {
        work(1500);
        Thread.sleep(5);
    }

    private void out() throws InterruptedException {
        work(300);
        Thread.sleep(9);
    }

    private void run() {
        try {
            for (long turn = 1; !ended; turn++) {
                try (GnomonContext cart = GnomonContext.open("GET /cart", turn, number, 1000 * turn)) {
                    inCart();
                    try (GnomonContext select = GnomonContext.open("SELECT", turn, number, 1000 * turn + 1)) {
                        inSelect();
                    }
                    inCart();
                }
                out();
                try (GnomonContext pay = GnomonContext.open("POST /pay", turn, number, 1000 * turn + 2)) {
                    inPay();
                }
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void start(long number, boolean isVirtual) throws ReflectiveOperationException {
        Runnable task = new ContextScopes(number)::run;
        if (isVirtual) {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            Class<?> type = Class.forName("java.lang.Thread$Builder");
            type.getMethod("name", String.class).invoke(builder, "scope-" + number);
            type.getMethod("start", Runnable.class).invoke(builder, task);
            return;
        }
        Thread thread = new Thread(task, "scope-" + number);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws ReflectiveOperationException, IOException {
        if (GnomonContext.problem() != null) {
            throw new IllegalStateException(GnomonContext.problem());
        }
        for (int i = 1; i <= Integer.parseInt(args[1]); i++) {
            start(i, args[0].equals("virtual"));
        }
        System.out.println("READY " + ProcessHandle.current().pid());
        int c;
        do {
            c = System.in.read();
        } while (c >= 0 && c != 'e');
        ended = true;
        System.exit(0);
    }
}
