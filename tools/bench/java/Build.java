/* SPDX-License-Identifier: Apache-2.0 */
import java.lang.management.ManagementFactory;

/**
 * Build CLASS ARGS...: runs the main() of CLASS and says at the end how long this JVM has lived and
 * the CPU time of its process: "LIFE ns cpu_ns". From within, since a profiler that starts the JVM
 * takes time before and after.
 */
final class Build {
    private static void tell() {
        long cpu = ((com.sun.management.OperatingSystemMXBean)
            ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();

        System.out.println("LIFE " + ManagementFactory.getRuntimeMXBean().getUptime() * 1_000_000
            + " " + cpu);
    }

    public static void main(String[] args) throws ReflectiveOperationException {
        String[] rest = new String[args.length - 1];

        System.arraycopy(args, 1, rest, 0, rest.length);
        Runtime.getRuntime().addShutdownHook(new Thread(Build::tell));
        Class.forName(args[0]).getMethod("main", String[].class).invoke(null, (Object) rest);
    }
}
