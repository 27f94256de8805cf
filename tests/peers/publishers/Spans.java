// SPDX-License-Identifier: Apache-2.0

import gnomon.GnomonSpanProcessor;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Spans of OpenTelemetry's SDK around Traced's methods: nested, handed to other threads, and of a parent in another process. */
final class Spans {
    static final boolean USED = Boolean.getBoolean("otel");

    private static final ExecutorService POOL = USED ? Context.taskWrapping(Executors.newFixedThreadPool(2, r -> {
        Thread t = new Thread(r, "async");
        t.setDaemon(true);
        return t;
    })) : null;
    private static final Tracer TRACER = USED ? SdkTracerProvider.builder().addSpanProcessor(new GnomonSpanProcessor()).build()
            .get("traced") : null;

    private Spans() {
    }

    static String problem() {
        return GnomonSpanProcessor.problem();
    }

    static String traceId() {
        return Span.current().getSpanContext().getTraceId();
    }

    static String spanId() {
        return Span.current().getSpanContext().getSpanId();
    }

    private static void body() {
        try {
            Traced.body();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** As Traced.serve(), for a request from elsewhere. */
    static void serve() throws InterruptedException {
        SpanContext from = SpanContext.createFromRemoteParent("4bf92f3577b34da6a3ce929d0e0e4736",
                "00f067aa0ba902b7", TraceFlags.getSampled(), TraceState.getDefault());

        try (Scope remote = Context.root().with(Span.wrap(from)).makeCurrent()) {
            Traced.outside(); // no span of this process yet
            Span span = TRACER.spanBuilder("GET /traced").startSpan();
            Traced.outside(); // nor is it current
            try (Scope scope = span.makeCurrent()) {
                Future<?> other = POOL.submit(Spans::body);
                body();
                query();
                other.get();
                body();
                try (Scope none = Context.root().makeCurrent()) {
                    Traced.outside();
                }
            } catch (ExecutionException e) {
                throw new IllegalStateException(e);
            } finally {
                span.end();
            }
        }
    }

    private static void query() throws InterruptedException {
        Span span = TRACER.spanBuilder("SELECT").startSpan();

        try (Scope scope = span.makeCurrent()) {
            Traced.query();
        } finally {
            span.end();
        }
    }
}
