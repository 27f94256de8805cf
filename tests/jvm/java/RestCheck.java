/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordingFile;

/**
 * RestCheck THREAD-PRINT RECORDING: the Java frames of each wall sample of each thread equal those
 * that `jcmd Thread.print` gave: class, method, line. The thread that answers jcmd does not count.
 *
 * Prints differences and "threads N frames N samples N inlined N"; exit code 1 when any differs.
 */
final class RestCheck {
    /** A carrier's is in brackets. */
    private static final Pattern TID = Pattern.compile("\\bnid=(0x)?([0-9a-f]+)|^\"[^\"]*\" #[0-9]+ \\[([0-9]+)\\]");
    private static final Pattern AT = Pattern.compile("^\\tat ([^(]+)\\((?:.*?:([0-9]+))?.*\\)$");

    private final Map<Long, List<String>> told = new TreeMap<>();
    /** Carriers of which the JVM tells only what is below the virtual thread. */
    private final Set<Long> tails = new HashSet<>();
    private final Map<Long, String> names = new HashMap<>();
    private final Set<Long> seen = new HashSet<>();
    private final Map<String, Integer> types = new TreeMap<>();
    private int samples;
    private int wrong;

    private void readPrint(Path file) throws IOException {
        List<String> frames = null;
        long id = 0;
        int top = 0;

        for (String line : Files.readAllLines(file)) {
            Matcher at = AT.matcher(line);
            Matcher tid = TID.matcher(line);
            if (line.startsWith("\"") && tid.find()) {
                id = tid.group(3) != null ? Long.parseLong(tid.group(3))
                                          : Long.parseLong(tid.group(2), tid.group(1) == null ? 10 : 16);
                frames = new ArrayList<>();
                top = -1;
                told.put(id, frames);
                names.put(id, line.substring(0, line.indexOf('"', 1) + 1));
            } else if (line.startsWith("   Carrying virtual thread")) {
                tails.add(id);
            } else if (line.startsWith("   Mounted virtual thread")) {
                tails.remove(id);
                top = 0;
            } else if (frames != null && at.matches()) {
                frames.add(top < 0 ? frames.size() : top++, at.group(1) + ":" + (at.group(2) == null ? "-1" : at.group(2)));
            }
        }
        told.values().removeIf(List::isEmpty);
    }

    private static boolean isJava(RecordedFrame f) {
        return switch (f.getType()) {
            case "Native", "C++", "Kernel" -> false;
            default -> true;
        };
    }

    private void event(RecordedEvent e) {
        long tid = e.getThread("sampledThread").getOSThreadId();
        List<String> want = told.get(tid);
        RecordedStackTrace s = e.getStackTrace();
        List<String> got = new ArrayList<>();

        if (want == null || names.get(tid).equals("\"Attach Listener\""))
            return;
        for (RecordedFrame f : s == null ? List.<RecordedFrame>of() : s.getFrames())
            if (isJava(f) && !f.getMethod().getName().equals("enterSpecial")) { // the JVM does not tell of it
                // the JDK's reader makes a dot of the slash before a hidden class's address
                got.add(f.getMethod().getType().getName().replace(".0x", "/0x") + "."
                    + f.getMethod().getName() + ":"
                    + f.getLineNumber());
                types.merge(f.getType(), 1, Integer::sum);
            }
        if (tails.contains(tid) && got.size() > want.size())
            got = got.subList(got.size() - want.size(), got.size());
        samples++;
        seen.add(tid);
        if (got.equals(want) || wrong++ >= 10)
            return;
        System.out.println("--- " + names.get(tid) + " " + tid);
        for (int i = 0; i < Math.max(want.size(), got.size()); i++) {
            String w = i < want.size() ? want.get(i) : "";
            String g = i < got.size() ? got.get(i) : "";
            System.out.println((w.equals(g) ? "        " : "differs ") + w + "   " + g);
        }
    }

    public static void main(String[] args) throws IOException {
        RestCheck c = new RestCheck();

        c.readPrint(Path.of(args[0]));
        try (RecordingFile r = new RecordingFile(Path.of(args[1]))) {
            while (r.hasMoreEvents()) {
                RecordedEvent e = r.readEvent();
                if (e.getEventType().getName().equals("profiler.WallClockSample"))
                    c.event(e);
            }
        }
        System.out.println("threads " + c.seen.size() + " frames "
            + c.seen.stream().mapToInt(t -> c.told.get(t).size()).sum() + " samples " + c.samples
            + " wrong " + c.wrong + " " + c.types);
        System.exit(c.wrong > 0 || c.seen.size() < 20 ? 1 : 0);
    }
}
