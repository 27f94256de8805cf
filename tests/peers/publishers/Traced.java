// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Threads "scope-N" whose methods serve() and query() a tracer was told to make spans of. At the end the file args[0] has each
 * context that the tracer's API said a thread was in, "THREAD TRACE SPAN" a line, the lower 16 digits of the trace.
 * args[1]: platform or virtual. -Dotel=true: no tracer makes the spans but Spans, by OpenTelemetry's SDK.
 */
public final class Traced {
    private static final Set<String> SAID = ConcurrentHashMap.newKeySet();

    private static volatile long sink;

    private Traced() {
    }

    private static String digits(Object id) {
        String s = String.valueOf(id);
        // Datadog's are decimal where they fit 64 bits, else hexadecimal
        String hex = s.length() < 32 && s.matches("[0-9]+") && !Boolean.getBoolean("hex") && !Spans.USED ? new BigInteger(s).toString(16) : s;

        hex = "0".repeat(Math.max(0, 16 - hex.length())) + hex;
        return hex.substring(hex.length() - 16);
    }

    private static Object call(Class<?> type, Object on, String name) throws ReflectiveOperationException {
        Method m = type.getMethod(name);

        m.setAccessible(true);
        return m.invoke(on);
    }

    private static void say() {
        try {
            Object trace;
            Object span;

            if (Spans.USED) {
                trace = Spans.traceId();
                span = Spans.spanId();
            } else if (Boolean.getBoolean("hex")) {
                Class<?> api = Class.forName("co.elastic.apm.api.ElasticApm");
                Object current = call(api, null, "currentSpan");
                Class<?> type = Class.forName("co.elastic.apm.api.Span");
                trace = call(type, current, "getTraceId");
                span = call(type, current, "getId");
            } else {
                Class<?> type = Class.forName("datadog.trace.api.Tracer", true, null);
                Object tracer = call(Class.forName("datadog.trace.api.GlobalTracer", true, null), null, "get");
                trace = call(type, tracer, "getTraceId");
                span = call(type, tracer, "getSpanId");
            }
            SAID.add(Thread.currentThread().getName() + " " + digits(trace) + " " + digits(span));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void work(int n) {
        long x = sink;

        for (int i = 0; i < n * 1000; i++) {
            x = x * 31 + i;
        }
        sink = x;
    }

    static void query() throws InterruptedException {
        say();
        work(600);
        Thread.sleep(8);
    }

    /** Runs within the span from begin to end, which serve(), in which the tracer begins and ends it, does not. */
    static void body() throws InterruptedException {
        say();
        work(600);
        Thread.sleep(12);
    }

    static void serve() throws InterruptedException {
        body();
        query();
        body();
    }

    static void outside() throws InterruptedException {
        work(300);
        Thread.sleep(9);
    }

    private static void run() {
        try {
            for (;;) {
                if (Spans.USED) {
                    Spans.serve();
                } else {
                    serve();
                }
                outside();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void start(String name, boolean isVirtual) throws ReflectiveOperationException {
        if (isVirtual) {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            Class<?> type = Class.forName("java.lang.Thread$Builder");
            type.getMethod("name", String.class).invoke(builder, name);
            type.getMethod("start", Runnable.class).invoke(builder, (Runnable) Traced::run);
            return;
        }
        Thread t = new Thread(Traced::run, name);
        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws ReflectiveOperationException, IOException {
        for (int i = 0; i < 4; i++) {
            start("scope-" + i, args[1].equals("virtual"));
        }
        if (Spans.USED && Spans.problem() != null) {
            throw new IllegalStateException(Spans.problem());
        }
        System.out.println("READY " + ProcessHandle.current().pid());
        int c;
        do {
            c = System.in.read();
        } while (c >= 0 && c != 'e');
        try (PrintWriter w = new PrintWriter(Path.of(args[0]).toFile())) {
            SAID.forEach(w::println);
        }
        System.exit(0);
    }
}
