// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * TracedCheck RECORDING SAID: each sample within Traced.body() has a context, each within Traced.outside() has none, and each
 * context is one that the tracer said its thread was in.
 */
final class TracedCheck {
    private final Map<String, List<RecordedEvent>> contexts = new HashMap<>();
    private final List<RecordedEvent> samples = new ArrayList<>();

    private static RecordedThread thread(RecordedEvent e) {
        return e.getThread(e.hasField("sampledThread") ? "sampledThread" : "eventThread");
    }

    private static String key(RecordedThread t) {
        return t == null ? "?" : t.getOSThreadId() + " " + t.getJavaThreadId() + " " + t.getJavaName();
    }

    private boolean has(RecordedEvent sample) {
        Instant at = sample.getStartTime();
        RecordedEvent found = null;

        for (RecordedEvent c : contexts.getOrDefault(key(thread(sample)), List.of())) {
            if (!at.isBefore(c.getStartTime()) && !at.isAfter(c.getEndTime())
                    && (found == null || c.getStartTime().isAfter(found.getStartTime()))) {
                found = c;
            }
        }
        return found != null && found.getString("traceId") != null;
    }

    /** A virtual thread that is taken from its carrier, or put there: tracers withdraw the context then. */
    private static boolean isMoving(List<RecordedFrame> frames) {
        return frames.stream().map(f -> f.getMethod().getName()).anyMatch(n -> n.contains("VTMS_") || n.contains("vthread_")
                || n.contains("Freeze") || n.contains("Thaw") || n.equals("yieldContinuation") || n.startsWith("notifyJvmti"));
    }

    private static String where(List<RecordedFrame> frames) {
        for (RecordedFrame f : frames) {
            if (f.getMethod().getType().getName().equals("Traced")) {
                String name = f.getMethod().getName();

                if (name.equals("body") || name.equals("outside")) {
                    return name;
                }
            }
        }
        return "";
    }

    public static void main(String[] args) throws IOException {
        TracedCheck check = new TracedCheck();
        Set<String> said = new HashSet<>(Files.readAllLines(Path.of(args[1])));
        long within = 0;
        long with = 0;
        long outside = 0;
        long outsideWith = 0;
        long known = 0;
        long unknown = 0;

        for (RecordedEvent e : RecordingFile.readAllEvents(Path.of(args[0]))) {
            String type = e.getEventType().getName();

            if (type.equals("gnomon.Context") && e.getString("traceId") != null) {
                String line = thread(e).getJavaName() + " " + e.getString("traceId").substring(16) + " " + e.getString("spanId");

                known += said.contains(line) ? 1 : 0;
                if (!said.contains(line)) {
                    unknown++;
                    System.err.println("nobody said: " + e);
                }
            }
            if (type.equals("gnomon.Context")) {
                check.contexts.computeIfAbsent(key(thread(e)), k -> new ArrayList<>()).add(e);
            } else if (e.hasField("sampledThread") && e.getStackTrace() != null) {
                check.samples.add(e);
            }
        }
        for (RecordedEvent s : check.samples) {
            List<RecordedFrame> frames = s.getStackTrace().getFrames();
            String at = where(frames);
            boolean has = check.has(s);

            if (at.equals("outside")) {
                outside++;
                outsideWith += has ? 1 : 0;
            } else if (at.equals("body") && (has || !isMoving(frames))) {
                within++;
                with += has ? 1 : 0;
            }
            if (at.equals("outside") == has && !at.isEmpty()) {
                System.err.println("in " + at + " " + has + ": " + s);
            }
        }
        System.out.println("within " + within + " with " + with + " outside " + outside + " with " + outsideWith + " said "
                + known + " unsaid " + unknown);
    }
}
