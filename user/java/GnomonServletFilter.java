// SPDX-License-Identifier: Apache-2.0
package gnomon;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/**
 * A scope around each request of a servlet container, of either package name; this class needs neither to be compiled:
 *
 * <pre>
 * servletContext.addFilter("gnomon", GnomonServletFilter.of(jakarta.servlet.Filter.class))
 *         .addMappingForUrlPatterns(null, false, "/*");
 * </pre>
 *
 * Its name is the method and the pattern that the container chose the servlet by, or the servlet's path before Servlet 4.0; its
 * trace id is that of the header {@code traceparent} or a new one. It ends with the call of the filter: what an
 * asynchronous request does afterwards is its own.
 */
public final class GnomonServletFilter implements InvocationHandler {
    private static final String METHODS = " GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH ";

    private final Class<?> request;
    private final Method method;
    private final Method header;
    private final Method path;
    private final Method mapping; // null before Servlet 4.0
    private final Method pattern;
    private final Method next;

    private GnomonServletFilter(Class<?> filter) throws ReflectiveOperationException {
        String servlet = filter.getPackage().getName();
        Class<?> mappings;

        request = Class.forName(servlet + ".http.HttpServletRequest", false, filter.getClassLoader());
        method = request.getMethod("getMethod");
        header = request.getMethod("getHeader", String.class);
        path = request.getMethod("getServletPath");
        mapping = methodOrNull(request, "getHttpServletMapping");
        mappings = mapping == null ? null : mapping.getReturnType();
        pattern = mappings == null ? null : mappings.getMethod("getPattern");
        next = Class.forName(servlet + ".FilterChain", false, filter.getClassLoader()).getMethod("doFilter",
                Class.forName(servlet + ".ServletRequest", false, filter.getClassLoader()),
                Class.forName(servlet + ".ServletResponse", false, filter.getClassLoader()));
    }

    /** A filter for {@code jakarta.servlet.Filter.class} or {@code javax.servlet.Filter.class}. */
    public static <T> T of(Class<T> filter) {
        try {
            return filter.cast(Proxy.newProxyInstance(filter.getClassLoader(), new Class<?>[] {filter},
                    new GnomonServletFilter(filter)));
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(filter.getName() + " is no servlet filter's interface", e);
        }
    }

    @Override
    public Object invoke(Object proxy, Method called, Object[] args) throws Throwable {
        switch (called.getName()) {
            case "doFilter":
                filter(args[0], args[1], args[2]);
                return null;
            case "equals":
                return proxy == args[0];
            case "hashCode":
                return System.identityHashCode(proxy);
            case "toString":
                return "GnomonServletFilter";
            default: // init, destroy
                return null;
        }
    }

    private void filter(Object from, Object to, Object chain) throws Throwable {
        if (!request.isInstance(from)) {
            call(next, chain, from, to);
            return;
        }
        try (GnomonContext scope = GnomonContext.openRequest(name(from), (String) call(header, from, "traceparent"))) {
            call(next, chain, from, to);
        }
    }

    private String name(Object from) throws Throwable {
        String verb = (String) call(method, from);
        Object match = mapping == null ? null : call(mapping, from);
        String to = (String) (match == null ? call(path, from) : call(pattern, match));

        return (METHODS.contains(" " + verb + " ") ? verb : "OTHER") + " " + (to == null || to.isEmpty() ? "/" : to);
    }

    /** What is thrown is thrown as it is. */
    private static Object call(Method m, Object on, Object... args) throws Throwable {
        try {
            return m.invoke(on, args);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static Method methodOrNull(Class<?> of, String name) {
        try {
            return of.getMethod(name);
        } catch (NoSuchMethodException e) {
            return null;
        }
    }
}
