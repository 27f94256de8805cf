// SPDX-License-Identifier: Apache-2.0
package gnomon;

import com.sun.net.httpserver.Filter;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;

/**
 * A scope around each request of the JDK's HttpServer: {@code httpContext.getFilters().add(new GnomonHttpFilter())}. Its name
 * is the method and the path of the HttpContext, its trace id that of the header {@code traceparent} or a new one.
 */
public final class GnomonHttpFilter extends Filter {
    private static final String METHODS = " GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH ";

    @Override
    public String description() {
        return "publishes the request's context";
    }

    @Override
    public void doFilter(HttpExchange exchange, Chain chain) throws IOException {
        String method = exchange.getRequestMethod();
        String name = (METHODS.contains(" " + method + " ") ? method : "OTHER") + " "
                + exchange.getHttpContext().getPath();

        try (GnomonContext scope = GnomonContext.openRequest(name, exchange.getRequestHeaders().getFirst("traceparent"))) {
            chain.doFilter(exchange);
        }
    }
}
