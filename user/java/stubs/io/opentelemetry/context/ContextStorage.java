// SPDX-License-Identifier: Apache-2.0
package io.opentelemetry.context;

import java.util.function.Function;

public interface ContextStorage {
    static void addWrapper(Function<? super ContextStorage, ? extends ContextStorage> wrapper) {
        throw new UnsupportedOperationException();
    }

    Scope attach(Context context);

    Context current();

    default Context root() {
        throw new UnsupportedOperationException();
    }
}
