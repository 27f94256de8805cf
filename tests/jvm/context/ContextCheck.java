// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Holds each sample of a recording of ContextScopes against its gnomon.Context, read by the JDK's parser and put together as
 * gnomon-jfr(5) has it. Says how many samples were inside, how many of these had their own scope's context and how many
 * another's; how many were outside, and of these with any; and the same sum of samples by the events.
 */
final class ContextCheck {
    private static final Map<String, String[]> SCOPES = Map.of(
            "inCart", new String[] {"GET /cart", null, "0"},
            "inSelect", new String[] {"GET /cart", "SELECT", "1"},
            "inPay", new String[] {"POST /pay", null, "2"});

    private final Map<String, List<RecordedEvent>> contexts = new HashMap<>();
    private final List<RecordedEvent> samples = new ArrayList<>();
    private long inside;
    private long own;
    private long another;
    private long outside;
    private long outsideWith;
    private long said;
    private long had;

    private static String key(RecordedThread t) {
        return t == null ? "?" : t.getOSThreadId() + " " + t.getJavaThreadId() + " " + t.getJavaName() + " " + t.getOSName();
    }

    private static RecordedThread thread(RecordedEvent e) {
        return e.getThread(e.hasField("sampledThread") ? "sampledThread" : "eventThread");
    }

    private static long weight(RecordedEvent e) {
        return e.hasField("samples") ? e.getLong("samples") : 1;
    }

    private void take(RecordedEvent e) {
        switch (e.getEventType().getName()) {
            case "gnomon.Context":
                contexts.computeIfAbsent(key(thread(e)), k -> new ArrayList<>()).add(e);
                if (e.getString("traceId") != null) {
                    said += e.getLong("samples");
                }
                break;
            case "jdk.ExecutionSample":
            case "jdk.CPUTimeSample":
            case "profiler.WallClockSample":
                samples.add(e);
                break;
            default:
        }
    }

    /** Of those whose time it is the one that begins last. */
    private RecordedEvent contextOf(RecordedEvent sample) {
        Instant at = sample.getStartTime();
        RecordedEvent found = null;

        for (RecordedEvent c : contexts.getOrDefault(key(thread(sample)), List.of())) {
            if (!at.isBefore(c.getStartTime()) && !at.isAfter(c.getEndTime())
                    && (found == null || c.getStartTime().isAfter(found.getStartTime()))) {
                found = c;
            }
        }
        return found != null && found.getString("traceId") == null ? null : found;
    }

    /** The innermost of the program's methods that says where the thread is, or null. */
    private static String where(RecordedEvent sample) {
        RecordedStackTrace stack = sample.getStackTrace();

        if (stack == null) {
            return null;
        }
        for (RecordedFrame f : stack.getFrames()) {
            String type = f.getMethod().getType().getName();
            String name = f.getMethod().getName();

            if (type.equals("ContextScopes") && (SCOPES.containsKey(name) || name.equals("out"))) {
                return name;
            }
        }
        return null;
    }

    /** The JVM takes the virtual thread from its carrier, or puts it there: the library withdraws the context at the begin of that. */
    private static boolean isMoving(RecordedEvent sample) {
        return sample.getStackTrace().getFrames().stream().map(f -> f.getMethod().getName())
                .anyMatch(n -> n.contains("VTMS_") || n.contains("vthread_") || n.contains("Freeze") || n.contains("Thaw")
                        || n.equals("yieldContinuation") || n.startsWith("notifyJvmti"))
                || comesBack(sample);
    }

    /** It lost its CPU as it came back within Object.wait(), which JDK 24 and later leave the carrier for. */
    private static boolean comesBack(RecordedEvent sample) {
        return sample.hasField("state") && "STATE_QUEUED".equals(sample.getString("state")) && sample.getStackTrace().getFrames().stream()
                .anyMatch(f -> f.getMethod().getName().equals("JVM_MonitorWait"));
    }

    /** The span id is 1000 * turn and the scope's digit, turn the upper half of the trace id. */
    private static boolean isOwn(RecordedEvent c, String[] scope, String thread) {
        String trace = c.getString("traceId");
        String span = c.getString("spanId");
        long turn = Long.parseUnsignedLong(trace.substring(0, 16), 16);

        return Long.parseUnsignedLong(trace.substring(16), 16) == Long.parseLong(thread.substring("scope-".length()))
                && Long.parseUnsignedLong(span, 16) == 1000 * turn + Long.parseLong(scope[2])
                && Long.parseUnsignedLong(c.getString("localRootSpanId"), 16) == 1000 * turn + (scope[2].equals("2") ? 2 : 0)
                && scope[0].equals(c.getString("endpoint"))
                && (scope[1] == null ? c.getString("operation") == null : scope[1].equals(c.getString("operation")));
    }

    private void sample(RecordedEvent s) {
        RecordedThread t = thread(s);
        String name = t == null ? null : t.getJavaName();
        RecordedEvent c = contextOf(s);
        String at = where(s);
        boolean isScoped = name != null && name.startsWith("scope-");
        long n = weight(s);

        had += c == null ? 0 : n;
        if (!isScoped && at != null) {
            return; // the JVM's books have the carrier for a moment, though it works for the virtual thread
        }
        if (isScoped && at != null && c == null && isMoving(s)) {
            return;
        }
        if (isScoped && at != null && !at.equals("out")) {
            inside += n;
            if (c != null && isOwn(c, SCOPES.get(at), name)) {
                own += n;
            } else {
                if (c != null) {
                    another += n;
                }
                System.err.println("in " + at + " of " + name + ": " + s + c);
            }
        } else if (!isScoped || at != null) {
            outside += n;
            if (c != null) {
                outsideWith += n;
                System.err.println("outside: " + s + c);
            }
        }
    }

    public static void main(String[] args) throws IOException {
        ContextCheck check = new ContextCheck();

        for (RecordedEvent e : RecordingFile.readAllEvents(Path.of(args[0]))) {
            check.take(e);
        }
        check.samples.forEach(check::sample);
        System.out.println("inside " + check.inside + " own " + check.own + " another " + check.another
                + " outside " + check.outside + " with " + check.outsideWith + " said " + check.said + " had " + check.had);
    }
}
