/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc of a process: parsers, which are pure functions over bounded text, and readers on top of
 * them. All text counts as hostile (a process chooses its comm, cmdline, environment and file
 * names). Field meanings: proc(5) and the kernel's Documentation/filesystems/proc.rst.
 *
 * Readers return 0 or a negative errno: -ESRCH when the process or thread is gone, -EACCES or
 * -EPERM when we may not look, -EBADMSG when the text is not what the kernel writes.
 */
#ifndef GNOMON_TARGET_PROCFS_H
#define GNOMON_TARGET_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_COMM_LEN  64 /* 15 characters for ordinary tasks, more for kernel workers */
#define PROC_NS_LEVELS 33 /* the kernel nests PID namespaces 32 deep below the first */
#define PROC_ARGS_MAX  (2u << 20)
#define PROC_ARGC_MAX  16384

/* A process, safe against the reuse of its pid. */
struct proc_id {
	pid_t pid;
	uint64_t start; /* clock ticks (sysconf(_SC_CLK_TCK)) since boot */
};

struct proc_stat {
	pid_t pid;
	pid_t ppid;
	char comm[PROC_COMM_LEN]; /* raw bytes, NUL terminated */
	char state;		  /* R S D T t Z X I */
	uint32_t flags;		  /* PF_*; PROC_PF_KTHREAD below */
	uint64_t utime, stime;	  /* clock ticks */
	uint64_t threads;
	uint64_t start; /* clock ticks since boot */
};

#define PROC_PF_KTHREAD 0x00200000

struct proc_status {
	char state;
	pid_t tgid, pid, ppid;
	pid_t tracer;		     /* 0 none */
	uint32_t uid[4], gid[4];     /* real, effective, saved, file system */
	pid_t nspid[PROC_NS_LEVELS]; /* outermost first; nspid_n = 0 where the kernel does not tell
				      */
	unsigned int nspid_n;
	pid_t threads;
	uint64_t sigblk, sigign, sigcgt; /* bit n-1 is signal n */
	uint64_t cap_eff;
};

/* Inode numbers of /proc/PID/ns/X; 0 where not known. */
struct proc_namespaces {
	uint64_t pid, mnt, user, net, cgroup;
};

/* NUL separated strings (cmdline, environ). v points into data. */
struct proc_args {
	char *data;
	char **v;
	size_t n;
	bool cut; /* there was more than PROC_ARGS_MAX bytes or PROC_ARGC_MAX strings */
};

/* One line of mountinfo; the strings have their octal escapes undone. */
struct proc_mount {
	uint32_t dev_major, dev_minor;
	char root[512];
	char point[512];
	char fstype[32];
	char options[256];	/* of the superblock */
	bool read_only, noexec; /* of this mount */
};

/* ---- parsers: 0 or -EBADMSG --------------------------------------------------------------------
 */
int proc_stat_parse(const char *text, size_t len, struct proc_stat *out);
int proc_status_parse(const char *text, size_t len, struct proc_status *out);

/*
 * /proc/stat: CPU time of all CPUs that the hypervisor gave to others while they had something to
 * run, in clock ticks; 0 where it does not tell (and in kernels before 2.6.11).
 */
int proc_stolen_parse(const char *text, size_t len, uint64_t *ticks);

/* The same text: CPU time of all CPUs that was used, by whomever, in clock ticks. */
int proc_busy_parse(const char *text, size_t len, uint64_t *ticks);

/*
 * timens_offsets (time_namespaces(7)): what CLOCK_MONOTONIC is ahead by in there, in ns. As the
 * kernel has it, that is less than 146 years either way.
 */
int proc_timens_parse(const char *text, size_t len, int64_t *monotonic);

/* Take over a copy of the text; free with proc_args_free(). -ENOMEM. */
int proc_args_parse(const char *text, size_t len, struct proc_args *out);
void proc_args_free(struct proc_args *a);

/* Value of NAME=value among environment strings, or NULL. */
const char *proc_env_find(const struct proc_args *env, const char *name);

/*
 * Call cb for every well-formed line; lines that are not are passed over. Stops when cb returns
 * non-zero and returns that.
 */
int proc_mountinfo_parse(const char *text, size_t len,
			 int (*cb)(const struct proc_mount *m, void *arg), void *arg);

/* The pid by which the process knows itself: the innermost of NSpid, else its pid. */
pid_t proc_status_inner(const struct proc_status *st);

/* ---- readers -----------------------------------------------------------------------------------
 */
/*
 * Read /proc/PID/NAME (NAME may be "task/7/comm") into buf, NUL terminated; at most cap - 1 bytes,
 * the rest is left out. Returns the length.
 */
ssize_t proc_read(pid_t pid, const char *name, char *buf, size_t cap);

/*
 * The same by one read, of a file that the kernel makes as one piece (seq_file's single_open(), and
 * those of control groups): stat, status, io. Others may have more than it gives.
 */
ssize_t proc_read_once(pid_t pid, const char *name, char *buf, size_t cap);

/* The same into memory of its own (free()), up to max bytes; *len without the terminator. */
int proc_read_all(pid_t pid, const char *name, size_t max, char **text, size_t *len);

/*
 * Read /proc/PID/NAME, or where that link leads, of each of n processes: NUL terminated, "" where
 * it cannot be had. Where that takes rights that we lack, others are asked once for all. As
 * proc_read_once(), it is for files of one piece.
 */
#define PROC_TEXT_BYTES 256
void proc_texts_read(const pid_t *pids, size_t n, const char *name, bool link,
		     char (*texts)[PROC_TEXT_BYTES]);

/* Read any kernel text file; NUL terminated. Returns the length. */
ssize_t file_read(const char *path, char *buf, size_t cap);
/* As proc_read_once(). */
ssize_t file_read_once(const char *path, char *buf, size_t cap);

/*
 * The stolen time in ns since boot. The kernel makes the whole of /proc/stat for it: 0.1 ms on a
 * small machine, some on one of hundreds of CPUs.
 */
int host_stolen_read(uint64_t *ns);

/* CPU time of all CPUs together that was used since the boot, in ns. 0 or a negative errno. */
int host_busy_read(uint64_t *ns);

uint64_t proc_ticks_ns(uint64_t ticks); /* clock ticks, as stat has them */

/* tid 0: the process as a whole, else one of its threads. */
int proc_stat_read(pid_t pid, pid_t tid, struct proc_stat *out);

/*
 * What holds for the process, by its first thread, whose CPU time it has: that of all threads is
 * added up by the kernel at each look, which takes milliseconds where there are thousands.
 */
int proc_leader_read(pid_t pid, struct proc_stat *out);

int proc_status_read(pid_t pid, pid_t tid, struct proc_status *out);
int proc_comm_read(pid_t pid, pid_t tid, char *comm, size_t cap);
int proc_cmdline_read(pid_t pid, struct proc_args *out);
int proc_environ_read(pid_t pid, struct proc_args *out);
int proc_namespaces_read(pid_t pid, struct proc_namespaces *out);

/* The thread group of any task id: equal to `id` for a process, else the process it belongs to. */
int proc_tgid(pid_t id, pid_t *tgid);

int proc_id_read(pid_t pid, struct proc_id *out);
bool proc_id_alive(const struct proc_id *id); /* still there, not a zombie, and the same process */

/* Nanoseconds since the process began. */
uint64_t proc_uptime_ns(uint64_t start_ticks);

/* Call cb for every process in /proc until it returns non-zero, and return that. */
int proc_each(int (*cb)(pid_t pid, void *arg), void *arg);

/* A descriptor of /proc/PID/NAME for reading. */
int proc_file_open(pid_t pid, const char *name);

/* The same where `dir` is that directory: openat() and readlinkat(), with others' rights. -errno.
 */
int proc_at_open(int dir, const char *name, int flags);
ssize_t proc_at_link(int dir, const char *name, char *buf, size_t cap);

/* /proc/PID itself, O_PATH: stays bound to the process. */
int proc_dir_open(pid_t pid);

/*
 * Open a file as the process sees it, inside its root and never outside: symbolic links are
 * resolved below the root, magic links refused (openat2, Linux 5.6). Regular files only (-EINVAL),
 * and a FIFO or device put in its place does not block; what else might hold us up is in
 * broker/broker.h. Returns a descriptor to read from.
 */
int proc_root_open(pid_t pid, const char *path);

/* A directory in there, O_PATH, whose file system has just answered: for *at() calls. */
int proc_root_dir(pid_t pid, const char *path);

/* The first bytes of the program that it runs: how many, or -errno. */
ssize_t proc_exe_read(pid_t pid, void *buf, size_t n);

/* readlink of /proc/PID/NAME ("exe", "cwd"), NUL terminated; the length or a negative errno. */
ssize_t proc_link_read(pid_t pid, const char *name, char *buf, size_t cap);

#endif
