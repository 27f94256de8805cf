/* SPDX-License-Identifier: Apache-2.0 */
import java.io.PrintStream;
import java.util.HashSet;
import java.util.Set;
import org.openjdk.jmc.common.item.IAggregator;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IItemFilter;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.IItemQuery;
import org.openjdk.jmc.common.item.IMemberAccessor;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.common.unit.IQuantity;
import org.openjdk.jmc.flightrecorder.JfrAttributes;
import org.openjdk.jmc.flightrecorder.jdk.JdkAggregators;
import org.openjdk.jmc.flightrecorder.jdk.JdkFilters;
import org.openjdk.jmc.flightrecorder.jdk.JdkQueries;

/**
 * What of JDK Mission Control's pages a recording fills. An element is a table, a row of a chart or a value, by the
 * filter or aggregator that the page has for it (JMC 9.1, flightrecorder.ui); it is filled where that finds an event,
 * or a value other than 0. A line for each; the last one: elements ALL FILLED.
 */
final class Elements {
    private final IItemCollection items;
    private final PrintStream out;
    private int all, filled;

    private Elements(IItemCollection items, PrintStream out) {
        this.items = items;
        this.out = out;
    }

    private void element(String page, String name, boolean is) {
        all++;
        filled += is ? 1 : 0;
        out.println((is ? "filled " : "empty ") + page + ": " + name);
    }

    private static boolean any(IItemCollection c) {
        for (IItemIterable i : c)
            if (i.getItemCount() > 0)
                return true;
        return false;
    }

    private void filters(String page, IItemFilter... filters) {
        for (IItemFilter f : filters)
            element(page, f.toString(), any(items.apply(f)));
    }

    private void types(String page, String... types) {
        for (String t : types)
            element(page, t, any(items.apply(ItemFilters.type(t))));
    }

    private void queries(String page, IItemQuery... queries) {
        for (IItemQuery q : queries)
            element(page, q.getAttributes().toString(), any(items.apply(q.getFilter())));
    }

    private void values(String page, IAggregator<?, ?>... aggregators) {
        for (IAggregator<?, ?> a : aggregators) {
            Object v = items.getAggregate(a);
            boolean zero = v instanceof IQuantity && ((IQuantity) v).doubleValue() == 0;

            element(page, a.getName(), v != null && !zero && !v.toString().isEmpty());
        }
    }

    private void threads() {
        Set<Object> found = new HashSet<>();
        boolean lasts = false;

        for (IItemIterable it : items) {
            IMemberAccessor<?, IItem> thread = JfrAttributes.EVENT_THREAD.getAccessor(it.getType());

            if (thread == null)
                continue;
            lasts |= it.getItemCount() > 0
                && JfrAttributes.START_TIME.getAccessor(it.getType()) != JfrAttributes.END_TIME.getAccessor(it.getType());
            for (IItem i : it)
                if (thread.getMember(i) != null)
                    found.add(thread.getMember(i));
        }
        filters("Threads", ItemFilters.hasAttribute(JfrAttributes.EVENT_THREAD), JdkFilters.THREAD_LATENCIES,
            JdkFilters.THREAD_START, JdkFilters.THREAD_END);
        element("Threads", "the table", !found.isEmpty());
        element("Threads", "a lane of any event with a duration", lasts);
    }

    private void collections() {
        filters("Garbage Collections", JdkFilters.GARBAGE_COLLECTION, JdkFilters.GC_PAUSE, JdkFilters.GC_PAUSE_PHASE,
            JdkFilters.HEAP_SUMMARY, JdkFilters.METASPACE_SUMMARY);
        values("GC Summary", JdkAggregators.YOUNG_COLLECTION_GC_COUNT, JdkAggregators.OLD_COLLECTION_GC_COUNT,
            JdkAggregators.ALL_COLLECTION_GC_COUNT, JdkAggregators.TOTAL_GC_PAUSE, JdkAggregators.LONGEST_GC_PAUSE);
        values("GC Configuration", JdkAggregators.YOUNG_COLLECTOR, JdkAggregators.OLD_COLLECTOR,
            JdkAggregators.CONCURRENT_GC_THREAD_COUNT_MIN, JdkAggregators.PARALLEL_GC_THREAD_COUNT_MIN,
            JdkAggregators.EXPLICIT_GC_CONCURRENT, JdkAggregators.USE_DYNAMIC_GC_THREADS,
            JdkAggregators.HEAP_CONF_INITIAL_SIZE_MIN, JdkAggregators.HEAP_CONF_MIN_SIZE,
            JdkAggregators.HEAP_CONF_MAX_SIZE, JdkAggregators.USE_COMPRESSED_OOPS, JdkAggregators.COMPRESSED_OOPS_MODE,
            JdkAggregators.HEAP_OBJECT_ALIGNMENT_MIN, JdkAggregators.YOUNG_GENERATION_MIN_SIZE,
            JdkAggregators.YOUNG_GENERATION_MAX_SIZE, JdkAggregators.TENURING_THRESHOLD_MAX, JdkAggregators.USES_TLABS);
    }

    private void jvm() {
        queries("Java Application", JdkQueries.CPU_USAGE_SIMPLE_QUERY, JdkQueries.THREAD_STATISTICS,
            JdkQueries.RSS_SIMPLE_QUERY, JdkQueries.HEAP_SUMMARY);
        values("Java Application", JdkAggregators.EXECUTION_SAMPLE_COUNT, JdkAggregators.ALLOCATION_TOTAL,
            JdkAggregators.TOTAL_IO_TIME, JdkAggregators.TOTAL_IO_COUNT, JdkAggregators.TOTAL_BLOCKED_TIME,
            JdkAggregators.TOTAL_BLOCKED_COUNT, JdkAggregators.CLASS_LOADING_COUNT, JdkAggregators.THROWABLES_COUNT);
        filters("Method Profiling", JdkFilters.EXECUTION_SAMPLE);
        filters("Lock Instances", JdkFilters.MONITOR_ENTER, JdkFilters.MONITOR_INFLATE);
        types("File I/O", "jdk.FileRead", "jdk.FileWrite", "jdk.FileForce");
        types("Socket I/O", "jdk.SocketRead", "jdk.SocketWrite");
        types("Memory", "jdk.ObjectAllocationSample", "jdk.ObjectCount", "jdk.ResidentSetSize", "jdk.PhysicalMemory");
        values("JVM Internals", JdkAggregators.JVM_START_TIME, JdkAggregators.JVM_NAME, JdkAggregators.PID,
            JdkAggregators.JVM_VERSION, JdkAggregators.JVM_ARGUMENTS, JdkAggregators.JAVA_ARGUMENTS,
            JdkAggregators.JVM_SHUTDOWN_TIME, JdkAggregators.JVM_SHUTDOWN_REASON);
        filters("JVM Internals", ItemFilters.type("jdk.LongFlag", "jdk.UnsignedLongFlag", "jdk.DoubleFlag", "jdk.BooleanFlag",
            "jdk.StringFlag", "jdk.IntFlag", "jdk.UnsignedIntFlag"));
        filters("VM Operations", JdkFilters.VM_OPERATIONS, JdkFilters.SAFE_POINTS);
        types("Compilations", "jdk.Compilation", "jdk.CompilationFailure");
        types("Code Cache", "jdk.CodeCacheStatistics", "jdk.CodeCacheConfiguration");
        types("Class Loading", "jdk.ClassLoad", "jdk.ClassDefine", "jdk.ClassLoadingStatistics", "jdk.ClassLoaderStatistics");
        types("Exceptions", "jdk.JavaExceptionThrow", "jdk.JavaErrorThrow", "jdk.ExceptionStatistics");
        filters("Thread Dumps", JdkFilters.THREAD_DUMP);
        filters("Agents", JdkFilters.AGENTS);
    }

    private void machine() {
        queries("Processes", JdkQueries.CPU_USAGE_DETAILED_GRAPH_QUERY, JdkQueries.PROCESSES);
        values("Environment", JdkAggregators.CPU_TYPE, JdkAggregators.MIN_NUMBER_OF_CORES, JdkAggregators.MIN_HW_THREADS,
            JdkAggregators.MIN_NUMBER_OF_SOCKETS, JdkAggregators.CPU_DESCRIPTION, JdkAggregators.MIN_TOTAL_MEMORY,
            JdkAggregators.OS_VERSION);
        queries("Environment Variables", JdkQueries.ENVIRONMENT_VARIABLE);
        queries("System Properties", JdkQueries.SYSTEM_PROPERTIES);
        types("Native Libraries", "jdk.NativeLibrary");
        queries("Recording", JdkQueries.RECORDINGS, JdkQueries.RECORDING_SETTINGS);
        values("Recording", JdkAggregators.DUMP_REASON);
    }

    static int tell(IItemCollection items, PrintStream out) {
        Elements e = new Elements(items, out);

        e.jvm();
        e.threads();
        e.collections();
        e.machine();
        out.println("elements " + e.all + " " + e.filled);
        return e.filled;
    }
}
