/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingFile;

/**
 * UnloadCheck RECORDING: what Unload's frames are called: "generations N right N unnamed N wrong N", the
 * wrong ones on lines before. Exit code 1 when there are any.
 */
final class UnloadCheck {
    private static final Pattern THREAD = Pattern.compile("gen-([0-9]+)");
    private static final Pattern NUMBER = Pattern.compile("(?:Generation|step|more)([0-9]{8})");

    private int right, unnamed, wrong, last, generations;

    private void frame(RecordedEvent e, int generation, RecordedFrame f) {
        String name = f.getMethod().getType().getName() + "." + f.getMethod().getName();
        Matcher m = NUMBER.matcher(name);

        if (name.contains("[unloaded"))
            unnamed++;
        while (m.find()) {
            if (Integer.parseInt(m.group(1)) == generation) {
                right++;
            } else if (wrong++ < 20) {
                System.out.println("of generation " + generation + ", " + e.getEventType().getName() + " at " + e.getStartTime() + ": " + name);
            }
        }
    }

    private void event(RecordedEvent e) {
        String java = e.getThread("sampledThread").getJavaName(), os = e.getThread("sampledThread").getOSName();
        Matcher m = THREAD.matcher(os);

        if (!m.matches() || e.getStackTrace() == null)
            return;
        if (java != null && !java.equals(os) && wrong++ < 20)
            System.out.println("thread '" + os + "' is called '" + java + "'");
        int generation = Integer.parseInt(m.group(1));
        if (generation != last)
            generations++;
        last = generation;
        for (RecordedFrame f : e.getStackTrace().getFrames())
            frame(e, generation, f);
    }

    public static void main(String[] args) throws IOException {
        UnloadCheck c = new UnloadCheck();

        try (RecordingFile r = new RecordingFile(Path.of(args[0]))) {
            while (r.hasMoreEvents()) {
                RecordedEvent e = r.readEvent();
                if (e.hasField("sampledThread"))
                    c.event(e);
            }
        }
        System.out.println("generations " + c.generations + " right " + c.right + " unnamed "
            + c.unnamed + " wrong " + c.wrong);
        System.exit(c.wrong > 0 ? 1 : 0);
    }
}
