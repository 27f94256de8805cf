// SPDX-License-Identifier: Apache-2.0
package io.opentelemetry.sdk.trace;

import io.opentelemetry.api.trace.Span;

public interface ReadWriteSpan extends Span, ReadableSpan {}
