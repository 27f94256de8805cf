// SPDX-License-Identifier: Apache-2.0

package scope;

import gnomon.GnomonContext;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/** What a scope of GnomonContext costs, opened and closed. Of each operation the ids are others, as requests' are. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class Scopes {
    private static final int N = 64;

    private final String[] traces = new String[N];
    private final String[] spans = new String[N];
    private int next;

    public Scopes() {
        if (GnomonContext.problem() != null) {
            throw new IllegalStateException(GnomonContext.problem());
        }
        for (int i = 0; i < N; i++) {
            spans[i] = String.format("%016x", (i + 1) * 0x9e3779b97f4a7c15L);
            traces[i] = String.format("%016x", (i + 1) * 0xd6e8feb86659fd93L) + spans[i];
        }
    }

    /** Nothing but what the others do besides. */
    @Benchmark
    public void nothing(Blackhole hole) {
        int i = next++ & N - 1;

        hole.consume(traces[i]);
        hole.consume(spans[i]);
    }

    @Benchmark
    public void idsAsText(Blackhole hole) {
        int i = next++ & N - 1;

        try (GnomonContext scope = GnomonContext.open("GET /cart", traces[i], spans[i])) {
            hole.consume(scope);
        }
    }

    /** Of one span, as where a request goes from thread to thread, or comes back to one. */
    @Benchmark
    public void idsAsTextAgain(Blackhole hole) {
        try (GnomonContext scope = GnomonContext.open("GET /cart", traces[0], spans[0])) {
            hole.consume(scope);
        }
    }

    @Benchmark
    public void idsAsNumbers(Blackhole hole) {
        int i = next++ & N - 1;

        try (GnomonContext scope = GnomonContext.open("GET /cart", i, i + 1, i + 2)) {
            hole.consume(scope);
        }
    }

    @Benchmark
    public void idsOfItsOwn(Blackhole hole) {
        try (GnomonContext scope = GnomonContext.open("GET /cart")) {
            hole.consume(scope);
        }
    }

    /** An operation within a request: two scopes. */
    @Benchmark
    public void nested(Blackhole hole) {
        int i = next++ & N - 1;

        try (GnomonContext outer = GnomonContext.open("GET /cart", i, i + 1, i + 2)) {
            try (GnomonContext inner = GnomonContext.open("SELECT", i, i + 1, i + 3)) {
                hole.consume(inner);
            }
        }
    }
}
