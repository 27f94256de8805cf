// SPDX-License-Identifier: Apache-2.0

import gnomon.GnomonServletFilter;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.concurrent.CountDownLatch;

/**
 * Requests that two containers' filters pass on, and that stay within: of jakarta.servlet with a pattern, of javax.servlet, of an age before
 * there were any. The interfaces are those that context_servlet.sh makes, with no more than is asked of them.
 */
public final class ContextServlets {
    private static final String TRACE = "00-11111111111111112222222222222222-3333333333333333-01";
    private static final CountDownLatch WITHIN = new CountDownLatch(2);

    private static <T> T answers(Class<T> type, String path) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, called, args) -> {
            switch (called.getName()) {
                case "getMethod":
                    return path.startsWith("/cart") ? "GET" : "BREW";
                case "getHeader":
                    return path.startsWith("/cart") ? TRACE : null;
                case "getServletPath":
                    return path;
                default:
                    return (jakarta.servlet.http.HttpServletMapping) () -> path;
            }
        }));
    }

    private static void start(Runnable task) {
        Thread t = new Thread(task);

        t.setDaemon(true);
        t.start();
    }

    private static void stay(Object request, Object response) throws IOException {
        WITHIN.countDown();
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }


    private static void jakartaServes() {
        jakarta.servlet.Filter filter = GnomonServletFilter.of(jakarta.servlet.Filter.class);

        try {
            filter.doFilter(answers(jakarta.servlet.http.HttpServletRequest.class, "/cart/*"), null, ContextServlets::stay);
        } catch (IOException | jakarta.servlet.ServletException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void javaxServes() {
        javax.servlet.Filter filter = GnomonServletFilter.of(javax.servlet.Filter.class);

        try {
            filter.doFilter(answers(javax.servlet.http.HttpServletRequest.class, "/pot"), null, ContextServlets::stay);
        } catch (IOException | javax.servlet.ServletException e) {
            throw new IllegalStateException(e);
        }
    }

    /** What a servlet throws is thrown, and what is no request of HTTP is passed on; neither leaves a scope behind. */
    private static void others() throws Exception {
        jakarta.servlet.Filter filter = GnomonServletFilter.of(jakarta.servlet.Filter.class);
        IOException broken = new IOException("broken");
        boolean[] passed = {false};

        try {
            filter.doFilter(answers(jakarta.servlet.http.HttpServletRequest.class, "/cart"), null, (from, to) -> {
                throw broken;
            });
            throw new IllegalStateException("nothing is thrown");
        } catch (IOException e) {
            if (e != broken) {
                throw e;
            }
        }
        filter.doFilter(new jakarta.servlet.ServletRequest() { }, null, (from, to) -> passed[0] = true);
        if (!passed[0] || !filter.equals(filter) || filter.hashCode() == 0 && filter.toString().isEmpty()) {
            throw new IllegalStateException("a filter does not what it should");
        }
    }

    public static void main(String[] args) throws Exception {
        others();
        start(ContextServlets::jakartaServes);
        start(ContextServlets::javaxServes);
        WITHIN.await();
        System.out.println("READY " + ProcessHandle.current().pid());
        int c;
        do {
            c = System.in.read();
        } while (c >= 0 && c != 'e');
        System.exit(0);
    }
}
