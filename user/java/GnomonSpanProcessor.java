// SPDX-License-Identifier: Apache-2.0
package gnomon;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.ContextStorage;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Publishes which span of OpenTelemetry's SDK is current on each thread:
 *
 * <pre>
 * SdkTracerProvider.builder().addSpanProcessor(new GnomonSpanProcessor())...
 * </pre>
 *
 * It has to be made before the process makes any context current, {@link #problem()} says where it was not. A span's ids are
 * published while it is current, on whatever thread, and not from its start to its end; a span of another process never. The
 * endpoint is the name of the request's outermost span in this process, by its name at that moment, the operation that of
 * the current one. Where a thread has scopes of {@link GnomonContext} around it these are told, and not its spans.
 */
public final class GnomonSpanProcessor implements SpanProcessor {
    private static final int SPANS_MAX = 1 << 17; // of more that are not ended the outermost ones are not known

    private static final AtomicBoolean ASKED = new AtomicBoolean();
    /** Spans that are not ended, with the outermost of their request in this process. */
    private static final Map<Object, ReadableSpan> ROOTS = new ConcurrentHashMap<>();

    private static volatile boolean follows;

    public GnomonSpanProcessor() {
        if (!ASKED.getAndSet(true)) {
            ContextStorage.addWrapper(Following::new);
        }
    }

    /** Why nothing is published; null: it is, as far as it is known, which is from the first span on. */
    public static String problem() {
        return GnomonContext.problem() == null && !follows && !ROOTS.isEmpty()
                ? "contexts of OpenTelemetry were in use before a GnomonSpanProcessor was made"
                : GnomonContext.problem();
    }

    @Override
    public void onStart(Context parent, ReadWriteSpan span) {
        Span outer = Span.fromContextOrNull(parent);
        ReadableSpan root = outer == null ? null : ROOTS.get(outer);

        if (ROOTS.size() < SPANS_MAX) {
            ROOTS.put(span, root == null ? span : root);
        }
    }

    @Override
    public boolean isStartRequired() {
        return true;
    }

    @Override
    public void onEnd(ReadableSpan span) {
        ROOTS.remove(span);
    }

    @Override
    public boolean isEndRequired() {
        return true;
    }

    /** Tells of a thread that the span of this context is current now. */
    private static void show(Context context) {
        Span span = context == null ? null : Span.fromContextOrNull(context);
        SpanContext ids = span == null ? null : span.getSpanContext();

        if (ids == null || !ids.isValid() || ids.isRemote()) {
            GnomonContext.withdraw();
            return;
        }
        ReadableSpan root = ROOTS.get(span);
        String name = span instanceof ReadableSpan ? ((ReadableSpan) span).getName() : "";

        GnomonContext.assign(root == null ? name : root.getName(), name, ids.getTraceId(), ids.getSpanId(),
                root == null ? ids.getSpanId() : root.getSpanContext().getSpanId());
    }

    /** What the program uses, told of by the way. */
    private static final class Following implements ContextStorage {
        private final ContextStorage storage;

        Following(ContextStorage storage) {
            this.storage = storage;
            follows = true;
        }

        @Override
        public Scope attach(Context context) {
            Scope scope = storage.attach(context);

            if (context == null) {
                return scope;
            }
            show(context);
            return () -> {
                scope.close();
                show(storage.current()); // whatever order they are closed in
            };
        }

        @Override
        public Context current() {
            return storage.current();
        }

        @Override
        public Context root() {
            return storage.root();
        }
    }
}
