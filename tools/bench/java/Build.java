/* SPDX-License-Identifier: Apache-2.0 */
import java.lang.management.ManagementFactory;

/**
 * Build CLASS ARGS...: runs the main() of CLASS and says at the end the CPU time of its process: "CPU ns".
 * From within, since a profiler that starts the JVM uses some, too.
 */
final class Build {
    private static void tell() {
        System.out.println("CPU " + ((com.sun.management.OperatingSystemMXBean)
            ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime());
    }

    public static void main(String[] args) throws ReflectiveOperationException {
        String[] rest = new String[args.length - 1];

        System.arraycopy(args, 1, rest, 0, rest.length);
        Runtime.getRuntime().addShutdownHook(new Thread(Build::tell));
        Class.forName(args[0]).getMethod("main", String[].class).invoke(null, (Object) rest);
    }
}
