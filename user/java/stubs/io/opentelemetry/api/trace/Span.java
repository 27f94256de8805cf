// SPDX-License-Identifier: Apache-2.0
package io.opentelemetry.api.trace;

import io.opentelemetry.context.Context;

public interface Span {
    static Span fromContextOrNull(Context context) {
        throw new UnsupportedOperationException();
    }

    SpanContext getSpanContext();
}
