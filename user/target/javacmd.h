/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command line of a Java process says: the program it runs and the VM options that matter
 * to a profiler. Pure functions over strings. Which options take a separate value, and what counts
 * as an argument file, follows the java(1) manual and the JDK's launcher (java.base/share/native/
 * libjli: java.c, args.c).
 */
#ifndef GNOMON_TARGET_JAVACMD_H
#define GNOMON_TARGET_JAVACMD_H

#include <stdbool.h>
#include <stddef.h>

#include "target/procfs.h"

#define JAVA_MAIN_LEN 256

enum java_main_kind {
	JAVA_MAIN_NONE = 0, /* not found: main is "" */
	JAVA_MAIN_CLASS,    /* "org.example.Main" */
	JAVA_MAIN_JAR,	    /* "/opt/app/app.jar" */
	JAVA_MAIN_MODULE,   /* "mod/org.example.Main" or "mod" */
	JAVA_MAIN_SOURCE,   /* "Main.java", single-file source mode */
	JAVA_MAIN_PROGRAM,  /* no java launcher: base name of the program ("javac", "eclipse") */
	JAVA_MAIN_ARGFILE,  /* "@FILE", which says it: that file is not ours to open */
};

/* May JVMTI agents be loaded into the running VM? Since JDK 21 it warns of it by default. */
enum java_agents {
	JAVA_AGENTS_DEFAULT = 0,
	JAVA_AGENTS_ALLOWED,   /* -XX:+EnableDynamicAgentLoading: no warning */
	JAVA_AGENTS_FORBIDDEN, /* -XX:-EnableDynamicAgentLoading */
};

struct java_flags {
	bool disable_attach;	  /* -XX:+DisableAttachMechanism */
	bool start_attach;	  /* -XX:+StartAttachListener: listens from the start */
	bool reduce_signals;	  /* -Xrs, -XX:+ReduceSignalUsage */
	bool preserve_fp;	  /* -XX:+PreserveFramePointer */
	bool interpreted;	  /* -Xint */
	bool debug_nonsafepoints; /* -XX:+DebugNonSafepoints */
	enum java_agents agents;
	char gc[16];	   /* "G1", "Parallel", "Serial", "Z", ...; "" the VM chose */
	char max_heap[16]; /* value of -Xmx as written, "" not given */
};

struct java_cmd {
	enum java_main_kind kind;
	char main[JAVA_MAIN_LEN]; /* printable: other bytes become '?' */
	struct java_flags flags;
};

/*
 * Parse a java launcher's command line (argv[0] included). `launcher` false: some other program
 * that embeds a VM; then the main class is its base name, and only -XX and -X options are taken
 * from argv. What follows an argument file ("@FILE") may be its last option's value or the
 * program's own, so the file stands for the main class (JAVA_MAIN_ARGFILE). Flags already set in
 * *out stay unless argv says otherwise, so that environment variables can be applied before and
 * after it.
 */
void java_cmd_parse(const struct proc_args *argv, bool launcher, struct java_cmd *out);

/*
 * Parses what a JVM says that it runs (its property sun.java.command): "org.example.Main arg",
 * "/opt/app.jar arg". Sets kind and main, unless there is nothing in it.
 */
void java_command_parse(const char *command, struct java_cmd *out);

/* Options of JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS or _JAVA_OPTIONS. */
void java_options_parse(const char *options, struct java_flags *flags);

#endif
