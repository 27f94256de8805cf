// SPDX-License-Identifier: Apache-2.0
package gnomon;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.Map;

/** The native half, unpacked and loaded when it is first used, and the process context that it publishes. */
final class Library {
    /** Names of the thread context's keys, by number. */
    static final String[] KEYS = {"gnomon.endpoint", "gnomon.operation", "gnomon.local_root_span_id"};

    private static final Map<String, String> RESOURCE = new LinkedHashMap<>();

    /** Why nothing is published; null: it is. */
    static final String PROBLEM = load();

    private Library() {}

    static native boolean publish(byte[] payload, int size);

    static native ByteBuffer attach();

    static native ByteBuffer followVirtual();

    static native long enter(Thread thread);

    static native void leave(Thread thread, long at);

    /** The records of virtual threads, from the first one's first scope on. */
    static final class Virtual {
        /** null: this JVM does not tell when virtual threads are mounted. */
        static final ByteBuffer RECORDS = PROBLEM == null ? inOrder(followVirtual()) : null;

        private Virtual() {}
    }

    static ByteBuffer inOrder(ByteBuffer buffer) {
        return buffer == null ? null : buffer.order(ByteOrder.nativeOrder());
    }

    private static String load() {
        String given = System.getProperty("gnomon.context.library");

        try {
            if (otherPublishes()) {
                return "another library of this process publishes contexts already";
            }
            if (given != null) {
                System.load(given);
            } else {
                unpack();
            }
            describe();
            return publish() ? null : "the process context cannot be published";
        } catch (IOException | RuntimeException | LinkageError e) {
            return e + " (remedy: -Dgnomon.context.library=PATH of libgnomon-context.so)";
        }
    }

    private static boolean otherPublishes() throws IOException {
        return new String(Files.readAllBytes(Paths.get("/proc/self/maps")), StandardCharsets.ISO_8859_1)
                .contains("OTEL_CTX");
    }

    /** The file is removed as soon as it is loaded. */
    private static void unpack() throws IOException {
        String name = "libgnomon-context-" + System.getProperty("os.arch") + ".so";

        try (InputStream in = Library.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IOException("the jar has no '" + name + "'");
            }
            Path file = Files.createTempFile("gnomon-context", ".so");
            try {
                Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
                System.load(file.toString());
            } finally {
                Files.delete(file);
            }
        }
    }

    private static void describe() {
        String service = System.getenv("OTEL_SERVICE_NAME");

        RESOURCE.put("service.name", service == null || service.isEmpty() ? "unknown_service:java" : service);
        RESOURCE.put("telemetry.sdk.name", "gnomon");
        RESOURCE.put("telemetry.sdk.language", "java");
    }

    static void describe(String key, String value) {
        if (PROBLEM == null) {
            synchronized (RESOURCE) {
                RESOURCE.put(key, value);
                if (!publish()) {
                    throw new IllegalArgumentException("the process context would be larger than 65,504 bytes");
                }
            }
        }
    }

    // ProcessContext {1: Resource {1: KeyValue}, 2: KeyValue}, KeyValue {1: key, 2: AnyValue {1: string, 5: array {1: AnyValue}}}
    private static boolean publish() {
        byte[] resource = {};
        byte[] array = {};

        for (Map.Entry<String, String> e : RESOURCE.entrySet()) {
            resource = join(resource, field(1, keyValue(e.getKey(), text(e.getValue()))));
        }
        for (String key : KEYS) {
            array = join(array, field(1, text(key)));
        }
        byte[] all = join(
                field(1, resource),
                field(2, keyValue("threadlocal.schema_version", text("tlsdesc_v1_dev"))),
                field(2, keyValue("threadlocal.attribute_key_map", field(5, array))));
        return publish(all, all.length);
    }

    private static byte[] keyValue(String key, byte[] value) {
        return join(field(1, key.getBytes(StandardCharsets.UTF_8)), field(2, value));
    }

    private static byte[] text(String s) {
        return field(1, s.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] field(int number, byte[] bytes) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int n = bytes.length;

        out.write(number << 3 | 2);
        for (; n > 0x7f; n >>>= 7) {
            out.write(n & 0x7f | 0x80);
        }
        out.write(n);
        out.write(bytes, 0, bytes.length);
        return out.toByteArray();
    }

    private static byte[] join(byte[]... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();

        for (byte[] part : parts) {
            out.write(part, 0, part.length);
        }
        return out.toByteArray();
    }
}
