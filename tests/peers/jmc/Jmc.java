/* SPDX-License-Identifier: Apache-2.0 */
import java.io.File;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmc.common.IMCFrame;
import org.openjdk.jmc.common.IMCMethod;
import org.openjdk.jmc.common.IMCStackTrace;
import org.openjdk.jmc.common.IMCThread;
import org.openjdk.jmc.common.item.IAccessorKey;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.IMemberAccessor;
import org.openjdk.jmc.common.item.IType;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.common.unit.IQuantity;
import org.openjdk.jmc.common.util.FormatToolkit;
import org.openjdk.jmc.common.util.IPreferenceValueProvider;
import org.openjdk.jmc.flightrecorder.JfrAttributes;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;
import org.openjdk.jmc.flightrecorder.rules.IResult;
import org.openjdk.jmc.flightrecorder.rules.IRule;
import org.openjdk.jmc.flightrecorder.rules.ResultToolkit;
import org.openjdk.jmc.flightrecorder.rules.RuleRegistry;
import org.openjdk.jmc.flightrecorder.rules.util.RulesToolkit;
import org.openjdk.jmc.flightrecorder.stacktrace.FrameSeparator;
import org.openjdk.jmc.flightrecorder.stacktrace.FrameSeparator.FrameCategorization;
import org.openjdk.jmc.flightrecorder.stacktrace.StacktraceModel;
import org.openjdk.jmc.flightrecorder.stacktrace.graph.StacktraceGraphModel;
import org.openjdk.jmc.flightrecorder.stacktrace.tree.Node;
import org.openjdk.jmc.flightrecorder.stacktrace.tree.StacktraceTreeModel;

/**
 * Recordings as JDK Mission Control reads them: Jmc FILE... Every value of every event, every frame's
 * names, every stack model by every category, every rule, every page. Of each, lines in FILE.jmc:
 *
 * events TYPE COUNT SAMPLES   SAMPLES: the sum of the field `samples`, where there is one
 * java VERSION                as its rules take it
 * rule ID SEVERITY TEXT       what each rule says
 * rules RULES SAID            how many there are, and how many had something to say
 * filled|empty PAGE: WHAT     each element of its pages
 * elements ALL FILLED         how many these are
 * THREW WHAT HOW_OFTEN        anything that it threw
 * end                         all of it was read
 */
public final class Jmc {
    private final Map<String, Integer> threw = new TreeMap<>();
    private final PrintStream out;

    private Jmc(PrintStream out) {
        this.out = out;
    }

    private <T> T tried(String what, Callable<T> c) {
        try {
            return c.call();
        } catch (Throwable e) {
            Throwable why = e.getCause() != null ? e.getCause() : e;
            StackTraceElement[] at = why.getStackTrace();

            threw.merge(what + ": " + why + (at.length > 0 ? " at " + at[0] : ""), 1, Integer::sum);
            return null;
        }
    }

    private void check(String what, long want, double got) {
        if (want != got)
            threw.merge(what + " has " + got + " of " + want + " events", 1, Integer::sum);
    }

    // ---- events ----

    private void frames(IMCStackTrace s) {
        for (IMCFrame f : s.getFrames()) {
            IMCMethod m = f.getMethod();

            tried("a frame's line and type", () -> f.getFrameLineNumber() + String.valueOf(f.getType()));
            if (m == null || m.getType() == null) {
                threw.merge("a frame without " + (m == null ? "method" : "class"), 1, Integer::sum);
                continue;
            }
            tried("a class's name", () -> m.getType().getFullName() + m.getType().getTypeName());
            tried("a class's package", () -> m.getType().getPackage().getName());
            tried("a class's hash", () -> m.getType().hashCode());
            tried("a method", () -> m.getMethodName() + m.hashCode() + m.getModifier());
            tried("a method as text", () -> FormatToolkit.getHumanReadable(m)
                + FormatToolkit.getHumanReadable(m, true, true, true, true, true, true));
        }
    }

    private void value(Object v) {
        if (v instanceof IMCStackTrace)
            frames((IMCStackTrace) v);
        else if (v instanceof IMCThread)
            tried("a thread", () -> ((IMCThread) v).getThreadName() + ((IMCThread) v).getThreadId()
                + ((IMCThread) v).getThreadGroup() + v.hashCode());
        else
            tried("a value", () -> String.valueOf(v));
    }

    /** Every value of every event; the sum of the field `samples`. */
    private long values(IItemIterable events) {
        IType<IItem> type = events.getType();
        long samples = 0;

        for (IAccessorKey<?> key : type.getAccessorKeys().keySet()) {
            IMemberAccessor<?, IItem> field = type.getAccessor(key);

            for (IItem i : events) {
                Object v = tried("the field " + key.getIdentifier(), () -> field.getMember(i));

                value(v);
                if (key.getIdentifier().equals("samples") && v instanceof IQuantity)
                    samples += ((IQuantity) v).longValue();
            }
        }
        return samples;
    }

    private void events(IItemCollection items) {
        Map<String, long[]> sums = new TreeMap<>();

        for (IItemIterable it : items) {
            long[] sum = sums.computeIfAbsent(it.getType().getIdentifier(), k -> new long[2]);

            sum[0] += it.getItemCount();
            sum[1] += values(it);
        }
        sums.forEach((type, s) -> out.println("events " + type + " " + s[0] + " " + s[1]));
    }

    // ---- stacks ----

    private static long withStack(IItemCollection items) {
        long n = 0;

        for (IItemIterable it : items) {
            IMemberAccessor<IMCStackTrace, IItem> stack = JfrAttributes.EVENT_STACKTRACE.getAccessor(it.getType());

            for (IItem i : it)
                n += stack != null && stack.getMember(i) != null ? 1 : 0;
        }
        return n;
    }

    private static double weight(Node root) {
        return root.getChildren().stream().mapToDouble(Node::getCumulativeWeight).sum();
    }

    private void models(String of, IItemCollection items) {
        long n = withStack(items);

        for (FrameCategorization by : FrameCategorization.values())
            for (boolean optimized : new boolean[] {false, true})
                for (boolean turned : new boolean[] {false, true}) {
                    FrameSeparator sep = new FrameSeparator(by, optimized);
                    String what = " of " + of + " by " + by + (optimized ? ", optimized" : "") + (turned ? ", turned" : "");
                    StacktraceTreeModel tree =
                        tried("the tree" + what, () -> new StacktraceTreeModel(items, sep, turned));

                    if (tree != null)
                        check("the tree" + what, n, weight(tree.getRoot()));
                    StacktraceModel forks = new StacktraceModel(turned, sep, items);
                    Integer in = tried("the forks" + what, () -> forks.getRootFork().getItemsInFork());

                    if (in != null)
                        check("the forks" + what, n, in);
                    tried("the graph" + what, () -> new StacktraceGraphModel(sep, items, null).getNodes());
                }
    }

    // ---- rules ----

    private void rules(IItemCollection items) {
        List<IRule> rules = new ArrayList<>(RuleRegistry.getRules());
        Map<IRule, Future<IResult>> results =
            RulesToolkit.evaluateParallel(rules, items, IPreferenceValueProvider.DEFAULT_VALUES, 1);
        int said = 0;

        for (IRule r : rules) {
            IResult x = tried("the rule " + r.getId(), () -> results.get(r).get(60, TimeUnit.SECONDS));
            String text = x == null ? null
                : tried("what " + r.getId() + " says", () -> ResultToolkit.populateMessage(x, x.getSummary(), false));

            said += x != null && x.getSeverity().getLimit() >= 0 ? 1 : 0;
            out.println("rule " + r.getId() + " " + (x == null ? "" : x.getSeverity()) + " " + text);
        }
        out.println("rules " + rules.size() + " " + said);
    }

    private void file(String name) {
        IItemCollection items = tried("the file", () -> JfrLoaderToolkit.loadEvents(new File(name)));

        if (items != null) {
            events(items);
            models("all", items);
            for (String type : new String[] {"jdk.ExecutionSample", "jdk.CPUTimeSample", "profiler.WallClockSample"})
                models(type, items.apply(ItemFilters.type(type)));
            out.println("java " + tried("the JVM's version", () -> RulesToolkit.getJavaVersion(items)));
            rules(items);
            tried("the pages", () -> Elements.tell(items, out));
        }
        threw.forEach((what, n) -> out.println("THREW " + what + " " + n + " times"));
        out.println("end");
    }

    public static void main(String[] args) throws Exception {
        for (String name : args)
            try (PrintStream out = new PrintStream(name + ".jmc", "UTF-8")) {
                new Jmc(out).file(name);
            }
        System.exit(0); // whatever threads its rules have left
    }
}
