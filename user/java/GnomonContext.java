// SPDX-License-Identifier: Apache-2.0
package gnomon;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;

/**
 * Which request a thread works for, published for profilers outside of the process (OpenTelemetry's OTEP 4719 and 4947).
 *
 * <pre>
 * try (GnomonContext scope = GnomonContext.open("GET /cart", traceId, spanId)) {
 *     ...
 * }
 * </pre>
 *
 * Scopes nest: the outermost one's name is the endpoint, the innermost one's the operation. A scope is closed by the thread
 * that opened it, the innermost first. All scopes of a thread are one object, so that none is made. Where
 * nothing can be published every method does what it says but that, and {@link #problem()} says why.
 */
public final class GnomonContext implements AutoCloseable {
    // The record: trace id, span id, valid, trace flags, size of the attributes, then those: key, length, UTF-8.
    static final int RECORD_SIZE = 384;
    private static final int SPAN = 16;
    private static final int VALID = 24;
    private static final int ATTRIBUTES = 28;
    private static final int NAME_MAX = 128; // bytes; two names and the rest are less than RECORD_SIZE

    private static final byte ENDPOINT_KEY = 0;
    private static final byte OPERATION_KEY = 1;
    private static final byte ROOT_KEY = 2;

    private static final int IDS = 4; // of a level: trace id (2), span id, local root span id
    private static final boolean LITTLE = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
    private static final VarHandle WORDS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final MethodHandle IS_VIRTUAL = isVirtualHandle();
    private static final ThreadLocal<GnomonContext> CURRENT = ThreadLocal.withInitial(GnomonContext::new);

    private final Thread owner = Thread.currentThread();
    private final boolean isVirtual = isVirtual(owner);
    private ByteBuffer buffer; // null: nothing is published
    private int at; // of the record in it
    private int depth;
    private boolean assigned; // the outermost scope is not opened and closed, but as a tracer says it is now
    private long[] ids = new long[IDS * 8];
    private Name[] names = new Name[2 * 8]; // of a level: endpoint, operation
    private Name writtenEndpoint;
    private final byte[] digits = new byte[64]; // of a trace id, a span id and a root's
    // The last ids that were given as text, and what they are: a request's scopes mostly have the very same objects.
    private String traceText = "";
    private String spanText = "";
    private long traceHigh;
    private long traceLow;
    private long span;
    private long random = System.nanoTime() ^ owner.getId() << 40;

    private GnomonContext() {
        if (!isVirtual && Library.PROBLEM == null) {
            buffer = Library.inOrder(Library.attach());
        }
    }

    /** Why nothing is published; null: it is. Of virtual threads the reason may be another. */
    public static String problem() {
        return Library.PROBLEM != null || !CURRENT.get().isVirtual || Library.Virtual.RECORDS != null
                ? Library.PROBLEM
                : "this JVM does not tell when virtual threads are mounted";
    }

    /** An attribute of the process, "service.name" for instance. Readers learn of it at once. */
    public static void resource(String key, String value) {
        Library.describe(key, value);
    }

    /** A scope of 32 and 16 hexadecimal digits. What is no such number is 0. */
    public static GnomonContext open(String name, String traceId, String spanId) {
        GnomonContext c = CURRENT.get();

        if (traceId != c.traceText || spanId != c.spanText) {
            c.read(traceId, spanId);
        }
        c.push(Name.of(name), c.traceHigh, c.traceLow, c.span);
        return c;
    }

    /** Where one of them has not its number of digits both are 0. */
    private void read(String traceId, String spanId) {
        boolean whole = traceId.length() == 32 && spanId.length() == 16;

        if (whole) {
            take(traceId, 0, 32, 0);
            take(spanId, 0, 16, 32);
        }
        traceHigh = whole ? hex(0) : 0;
        traceLow = whole ? hex(16) : 0;
        span = whole ? hex(32) : 0;
        traceText = traceId;
        spanText = spanId;
    }

    public static GnomonContext open(String name, long traceIdHigh, long traceIdLow, long spanId) {
        GnomonContext c = CURRENT.get();

        c.push(Name.of(name), traceIdHigh, traceIdLow, spanId);
        return c;
    }

    /** A scope with a span id of its own, and the trace id of the one around it or a new one. */
    public static GnomonContext open(String name) {
        GnomonContext c = CURRENT.get();
        int level = IDS * c.depth;

        if (c.depth > 0) {
            c.push(Name.of(name), c.ids[level - IDS], c.ids[level - IDS + 1], c.number());
        } else {
            c.push(Name.of(name), c.number(), c.number(), c.number());
        }
        return c;
    }

    /**
     * A scope with a span id of its own, and the trace id of a W3C {@code traceparent} ("00-TRACEID-PARENTID-FLAGS"); null, or
     * what is none, is the same as {@link #open(String)}.
     */
    public static GnomonContext openRequest(String name, String traceparent) {
        GnomonContext c = CURRENT.get();
        boolean whole = traceparent != null && traceparent.length() >= 55 && traceparent.startsWith("00-")
                && traceparent.charAt(35) == '-';
        long high = 0;
        long low = 0;

        if (whole) {
            c.take(traceparent, 3, 32, 0);
            high = c.hex(0);
            low = c.hex(16);
        }
        if ((high | low) == 0) {
            return open(name);
        }
        c.push(Name.of(name), high, low, c.number());
        return c;
    }

    @Override
    public void close() {
        if (depth > (assigned ? 1 : 0) && Thread.currentThread() == owner) {
            pop();
        }
    }

    private void pop() {
        depth--;
        if (depth > 0) {
            write();
        } else if (buffer != null) {
            buffer.put(at + VALID, (byte) 0);
            VarHandle.releaseFence();
            if (isVirtual) {
                Library.leave(owner, at);
                buffer = null;
            }
        }
    }

    /** This is the thread's outermost scope now, in place of the one before. Not where the program has opened one. */
    static void assign(String endpoint, String operation, String traceId, String spanId, String root) {
        GnomonContext c = CURRENT.get();
        int inner = c.depth;

        if (inner > 0 && !c.assigned) {
            return;
        }
        c.assigned = true;
        c.depth = 0;
        c.take(traceId, 0, 32, 0);
        c.take(spanId, 0, 16, 32);
        c.take(root, 0, 16, 48);
        c.fill(Name.of(endpoint), Name.of(operation), c.hex(0), c.hex(16), c.hex(32), c.hex(48));
        c.depth = Math.max(inner, 1);
        if (inner <= 1) {
            c.write();
        }
    }

    /** There is no such scope any more. */
    static void withdraw() {
        GnomonContext c = CURRENT.get();

        if (!c.assigned) {
            return;
        }
        c.assigned = false;
        System.arraycopy(c.ids, IDS, c.ids, 0, IDS * (c.depth - 1));
        System.arraycopy(c.names, 2, c.names, 0, 2 * (c.depth - 1));
        if (c.depth == 1) {
            c.pop();
        } else {
            c.depth--;
        }
    }

    /** The task in the context that the calling thread has now. */
    public static Runnable wrap(Runnable task) {
        Carried carried = Carried.now();

        return carried == null ? task : () -> {
            try (GnomonContext scope = carried.open()) {
                task.run();
            }
        };
    }

    /** The task in the context that the calling thread has now. */
    public static <T> Callable<T> wrap(Callable<T> task) {
        Carried carried = Carried.now();

        return carried == null ? task : () -> {
            try (GnomonContext scope = carried.open()) {
                return task.call();
            }
        };
    }

    /** Runs each task in the context of who hands it over. */
    public static Executor wrap(Executor executor) {
        return task -> executor.execute(wrap(task));
    }

    /** Runs each task in the context of who hands it over. */
    public static ExecutorService wrap(ExecutorService executor) {
        return new CarryingExecutor(executor);
    }

    private void push(Name name, long traceIdHigh, long traceIdLow, long spanId) {
        int level = IDS * depth;

        if (depth == 0) {
            push(name, name, traceIdHigh, traceIdLow, spanId, spanId);
        } else {
            push(names[2 * depth - 2], name, traceIdHigh, traceIdLow, spanId, ids[level - 1]);
        }
    }

    private void push(Name endpoint, Name operation, long traceIdHigh, long traceIdLow, long spanId, long root) {
        fill(endpoint, operation, traceIdHigh, traceIdLow, spanId, root);
        depth++;
        write();
    }

    /** The level behind the innermost. */
    private void fill(Name endpoint, Name operation, long traceIdHigh, long traceIdLow, long spanId, long root) {
        int level = IDS * depth;

        if (level == ids.length) {
            ids = Arrays.copyOf(ids, 2 * ids.length);
            names = Arrays.copyOf(names, 2 * names.length);
        }
        if (depth == 0 && isVirtual && buffer == null) {
            enter();
        }
        ids[level] = traceIdHigh;
        ids[level + 1] = traceIdLow;
        ids[level + 2] = spanId;
        ids[level + 3] = root;
        names[2 * depth] = endpoint;
        names[2 * depth + 1] = operation;
    }

    private void enter() {
        long record = Library.PROBLEM == null && Library.Virtual.RECORDS != null ? Library.enter(owner) : -1;

        if (record >= 0) {
            buffer = Library.Virtual.RECORDS;
            at = (int) record;
            writtenEndpoint = null;
        }
    }

    /**
     * The innermost scope into the record. Who reads it has stopped this thread, so that only the order of the stores
     * counts, as the fences have it.
     */
    private void write() {
        ByteBuffer b = buffer;
        int to = at;
        int level = IDS * (depth - 1);
        long[] numbers = ids;
        Name endpoint = names[2 * depth - 2];
        Name operation = names[2 * depth - 1];

        if (b == null) {
            return;
        }
        b.put(to + VALID, (byte) 0);
        VarHandle.releaseFence();
        b.putLong(to, bytes(numbers[level]));
        b.putLong(to + 8, bytes(numbers[level + 1]));
        b.putLong(to + SPAN, bytes(numbers[level + 2]));
        if (endpoint != writtenEndpoint) {
            writtenEndpoint = endpoint;
            endpoint.write(b, to + ATTRIBUTES, ENDPOINT_KEY);
        }
        int size = 2 + endpoint.length;
        if (numbers[level + 3] != numbers[level + 2]) {
            size += writeRoot(b, to + ATTRIBUTES + size, numbers[level + 3]);
        }
        if (operation != endpoint) {
            operation.write(b, to + ATTRIBUTES + size, OPERATION_KEY);
            size += 2 + operation.length;
        }
        // trace flags 0, and the size: one store
        b.putInt(to + VALID, LITTLE ? size << 16 : size);
        VarHandle.releaseFence();
        b.put(to + VALID, (byte) 1);
    }

    /** Only where it is another than the scope's own span id. */
    private static int writeRoot(ByteBuffer b, int to, long root) {
        b.put(to, ROOT_KEY);
        b.put(to + 1, (byte) 16);
        b.putLong(to + 2, bytes(digits(root >>> 32)));
        b.putLong(to + 10, bytes(digits(root & 0xffffffffL)));
        return 18;
    }

    /** A number whose bytes in memory are those of v, the highest first. */
    private static long bytes(long v) {
        return LITTLE ? Long.reverseBytes(v) : v;
    }

    /** The eight hexadecimal digits of a 32-bit number, the first one in the highest byte. */
    static long digits(long v) {
        long x = v;

        x = (x << 16 | x) & 0x0000ffff0000ffffL;
        x = (x << 8 | x) & 0x00ff00ff00ff00ffL;
        x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0fL;
        // 'a' - 10 - '0' more where a digit is above 9
        long letters = (x + 0x0606060606060606L >>> 4) & 0x0101010101010101L;
        return x + 0x3030303030303030L + letters * ('a' - 10 - '0');
    }

    /** Puts the low bytes of n characters at the index among the digits: of all numbers, before the first is read. */
    @SuppressWarnings("deprecation") // everything else makes objects
    private void take(String s, int from, int n, int to) {
        s.getBytes(from, from + n, digits, to);
    }

    /** Of the 16 hexadecimal digits there; 0 where they are none. */
    private long hex(int at) {
        long high = number((long) WORDS.get(digits, at));
        long low = number((long) WORDS.get(digits, at + 8));

        return (high | low) < 0 ? 0 : high << 32 | low;
    }

    /** The number of 32 bits that eight ASCII characters are the digits of, the highest byte the first one; -1: of none. */
    private static long number(long ascii) {
        long letters = ascii >>> 6 & 0x0101010101010101L;
        long x = (ascii & 0x0f0f0f0f0f0f0f0fL) + 9 * letters & 0x0f0f0f0f0f0f0f0fL;

        x = (x | x >>> 4) & 0x00ff00ff00ff00ffL;
        x = (x | x >>> 8) & 0x0000ffff0000ffffL;
        x = (x | x >>> 16) & 0xffffffffL;
        return digits(x) == (ascii | letters << 5) ? x : -1;
    }

    /** Marsaglia's xorshift64, and a multiplication: any number but 0. */
    private long number() {
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        return random * 0x2545f4914f6cdd1dL;
    }

    private static boolean isVirtual(Thread thread) {
        try {
            return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(thread);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private static MethodHandle isVirtualHandle() {
        try {
            return MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    /** A scope's name as it is written: length and bytes, eight at a time. Those used lately are kept. */
    static final class Name {
        private static final Name[] LATELY = new Name[1024];

        final String text;
        final int length;
        private final long[] words;

        private Name(String text) {
            byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
            int n = Math.min(utf8.length, NAME_MAX);

            while (n < utf8.length && (utf8[n] & 0xc0) == 0x80) {
                n--;
            }
            ByteBuffer b = ByteBuffer.allocate((1 + n + 7) / 8 * 8).order(ByteOrder.nativeOrder());
            b.put((byte) n).put(utf8, 0, n).rewind();
            this.text = text;
            length = n;
            words = new long[b.capacity() / 8];
            b.asLongBuffer().get(words);
        }

        static Name of(String text) {
            int i = text.hashCode() & LATELY.length - 1;
            Name name = LATELY[i];

            if (name == null || name.text != text && !name.text.equals(text)) {
                name = new Name(text);
                LATELY[i] = name;
            }
            return name;
        }

        /** Up to seven bytes behind it are written, too. */
        void write(ByteBuffer b, int at, byte key) {
            b.put(at, key);
            for (int i = 0; i < words.length; i++) {
                b.putLong(at + 1 + 8 * i, words[i]);
            }
        }
    }

    /** The innermost scope of a thread, to be opened in others. */
    private static final class Carried {
        private final Name endpoint;
        private final Name operation;
        private final long traceIdHigh;
        private final long traceIdLow;
        private final long spanId;
        private final long root;

        private Carried(GnomonContext c) {
            int level = IDS * (c.depth - 1);

            endpoint = c.names[2 * c.depth - 2];
            operation = c.names[2 * c.depth - 1];
            traceIdHigh = c.ids[level];
            traceIdLow = c.ids[level + 1];
            spanId = c.ids[level + 2];
            root = c.ids[level + 3];
        }

        /** null: the thread is in no scope. */
        static Carried now() {
            GnomonContext c = CURRENT.get();

            return c.depth == 0 ? null : new Carried(c);
        }

        GnomonContext open() {
            GnomonContext c = CURRENT.get();

            c.push(endpoint, operation, traceIdHigh, traceIdLow, spanId, root);
            return c;
        }
    }
}
