/* SPDX-License-Identifier: Apache-2.0 */
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingFile;

/**
 * JfrTypes [FILE]: the event types that a recording declares, or this JDK knows, with their fields in order:
 * "event NAME FIELD:TYPE ..."; of a recording also what states and types of frames are used: "state NAME",
 * "frame NAME".
 */
final class JfrTypes {
    private JfrTypes() {
    }

    private static String event(EventType t) {
        return "event " + t.getName() + t.getFields().stream()
            .map(f -> " " + f.getName() + ":" + f.getTypeName()).collect(Collectors.joining());
    }

    private static void used(RecordedEvent e, Set<String> words) {
        if (e.hasField("state"))
            words.add("state " + e.getString("state"));
        if (e.getStackTrace() != null)
            for (RecordedFrame f : e.getStackTrace().getFrames())
                words.add("frame " + f.getType());
    }

    public static void main(String[] args) throws Exception {
        Set<String> words = new TreeSet<>();

        if (args.length == 0)
            for (EventType t : FlightRecorder.getFlightRecorder().getEventTypes())
                words.add(event(t));
        else
            try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
                for (EventType t : file.readEventTypes())
                    words.add(event(t));
                while (file.hasMoreEvents())
                    used(file.readEvent(), words);
            }
        words.forEach(System.out::println);
    }
}
