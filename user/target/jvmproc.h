/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JVMs of this host, from /proc alone: nothing is asked of the process itself. A process is a
 * JVM when it has an executable mapping of a file named libjvm.so (hsperfdata is absent for users
 * without a passwd entry and with -XX:-UsePerfData, so it does not decide).
 */
#ifndef GNOMON_TARGET_JVMPROC_H
#define GNOMON_TARGET_JVMPROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "target/cgroup.h"
#include "target/container.h"
#include "target/javacmd.h"
#include "target/procfs.h"

#define JVM_PATH_LEN	1024
#define JVM_VERSION_LEN 64

/* The executable mapping of libjvm.so. */
struct jvm_image {
	uint64_t start, end, offset;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	char path[JVM_PATH_LEN]; /* as the process sees it, without " (deleted)" */
	bool deleted;		 /* the file was removed or replaced, as an upgrade does */
};

/* The JDK's `release` file, or what the image says. */
struct jvm_release {
	char version[JVM_VERSION_LEN]; /* "17.0.15"; "" not found */
	char runtime[JVM_VERSION_LEN]; /* "17.0.15+6-Debian-1deb12u1", "" unknown */
	char vendor[JVM_VERSION_LEN];  /* IMPLEMENTOR: "Debian", "Eclipse Adoptium"; "" unknown */
	int major;		       /* 8, 17, 25; 0 unknown */
	bool openj9;		       /* not HotSpot: nothing but native frames can be had */
};

struct jvm_proc {
	struct proc_id id;
	pid_t inner_pid;   /* what it takes itself for: names /tmp/.java_pidN and /tmp/perf-N.map */
	uint32_t uid, gid; /* effective */
	char user[33];	   /* name on this host, or the number */
	char comm[PROC_COMM_LEN];
	char state; /* of stat */
	uint32_t threads;
	uint64_t uptime_ns;
	struct java_cmd cmd;
	struct jvm_image image;
	struct jvm_release release;
	struct container container;
	struct cgroup_ref cgroup;
	struct cgroup_limits limits;
	uint16_t machine;  /* ELF e_machine of the program, 0 unknown */
	uint8_t elf_class; /* 1: 32 bits, 2: 64 bits, 0 unknown */
};

/* Processes we had to pass over. */
struct jvm_skipped {
	size_t denied; /* not ours to look at: they may be JVMs */
};

/* ---- pure -------------------------------------------------------------------------------------
 */

/* Find libjvm.so in the text of /proc/PID/maps. */
bool jvm_image_find(const char *maps, size_t len, struct jvm_image *out);

/* KEY="value" lines of a JDK's release file. True when it has JAVA_VERSION. */
bool jvm_release_parse(const char *text, size_t len, struct jvm_release *out);

/*
 * The version out of a piece of libjvm.so itself: "... for linux-amd64 JRE (17.0.15+6-LTS), ..."
 * (HotSpot, abstract_vm_version.cpp). True when found.
 */
bool jvm_release_scan(const char *image, size_t len, struct jvm_release *out);

/*
 * The whole of that text, as the JVM tells it of itself: "OpenJDK 64-Bit Server VM (17.0.15+6-LTS)
 * for linux-amd64 JRE (...), built on ...". True when found, and when it fits.
 */
bool jvm_info_scan(const char *image, size_t len, char *buf, size_t cap);

/* ---- readers ----------------------------------------------------------------------------------
 */

/*
 * An argument file on a command line (`java @FILE`) is not opened: its name is the process's
 * choice, so it may be anybody's secret, a device, or a file system that does not answer. The JVM
 * is asked instead, by who can read its memory: `fn` sets what the JVM says of `cmd`, and leaves
 * the rest. Call this once, before the others.
 */
typedef void (*jvm_tells_fn)(pid_t pid, struct java_cmd *cmd);
void jvm_command_ask(jvm_tells_fn fn);

/*
 * 0; -ENOEXEC: runs, but is no JVM; -ESRCH: gone, or a zombie; -EACCES: not ours to look at.
 */
int jvm_proc_read(pid_t pid, struct jvm_proc *out);

/* The same answers without looking any closer. */
int jvm_proc_check(pid_t pid);

/* jvm_info_scan() of its libjvm.so: some 10 ms. 0 or -ENOENT. */
int jvm_info_read(const struct jvm_proc *j, char *buf, size_t cap);

/* Its VM options, from the command line, the JVM and the environment. 0 or a negative errno. */
int jvm_flags_read(pid_t pid, struct java_flags *out);

/*
 * Call cb for every JVM, in the order of /proc (ascending pids), until it returns non-zero, and
 * return that. `skipped` may be NULL.
 */
int jvm_list(int (*cb)(const struct jvm_proc *j, void *arg), void *arg,
	     struct jvm_skipped *skipped);

/*
 * Whose it is. `domain` tells one user in one container from all others, or outside of any that
 * root has made: a number of this process, and another one in the next. `uid`: its user's, or
 * GRANTS_ANY (broker/grants.h) where it is not known.
 */
struct jvm_owner {
	uint64_t domain;
	uint32_t uid;
};
struct jvm_owner jvm_owner(const struct jvm_proc *j);

/* "17.0.15", "25.0.3 (OpenJ9)" or "?". */
void jvm_version_text(const struct jvm_proc *j, char *buf, size_t cap);

/* ELF e_machine of this program. */
uint16_t jvm_own_machine(void);

#endif
