/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of other processes: opened below their root or behind their mappings, for reading, regular
 * ones only. The processes have laid out all of it, to mislead or to hold up: nothing outside the
 * root is reached, no FIFO or device is opened, and who waits for an answer that does not come is a
 * worker, who is given up (-ETIMEDOUT). What lies on a file system that might not answer later,
 * when it is read, comes as a copy.
 *
 * Any thread may ask. Each call waits for at most BROKER_ANSWER_MS of a worker that hangs; what a
 * machine with no time to spare takes is not counted.
 */
#ifndef GNOMON_BROKER_BROKER_H
#define GNOMON_BROKER_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/file.h"

#define BROKER_ANSWER_MS 2000

/*
 * Makes the workers. To be called once, before anything of a target is read, while there is one
 * thread. Without it, or when it fails, everything is done where it is asked for, and may hang.
 */
int broker_start(void);

/* Ends them, in time: those that hang are left behind. Nobody may ask any more. */
void broker_stop(void);

/*
 * `pid` tells whose it is; proc_fd is an open /proc/PID, root an open directory. `file` may be
 * NULL. A descriptor, close-on-exec, or a negative errno; also what openat2() says, -EINVAL for
 * what is no regular file, -EWOULDBLOCK for one that is leased, -EFBIG for one that
 * is too large for a copy.
 */
int broker_below(pid_t pid, int root, const char *path, struct broker_file *file);
int broker_rooted(pid_t pid, int proc_fd, const char *path, struct broker_file *file);

/* The program that it runs. */
int broker_exe(pid_t pid, int proc_fd);

/*
 * The file of a mapping. First through map_files, which is the very file even when it was deleted
 * or replaced (needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN), else by `path`, as /proc/PID/maps
 * has it, below its root; NULL: no path. Device and inode must be those of the mapping, -ESTALE
 * otherwise; since the numbers of maps and of fstat() differ on overlayfs and btrfs, the inode
 * suffices there, and on overlayfs nothing is asked of map_files.
 */
int broker_mapped(pid_t pid, int proc_fd, const struct broker_mapping *m, const char *path,
		  struct broker_file *file);

/* Tells whether `path` is still that file: 0, or as above. */
int broker_is_mapped(pid_t pid, int proc_fd, const struct broker_mapping *m, const char *path);

/* A directory, O_PATH, whose file system has just answered. */
int broker_directory(pid_t pid, int root, const char *path);

/*
 * Tells whether the memory of a file's mapping can be read without being held up: 0; -EREMOTE: its
 * file system may not answer; or another -errno: that is not known.
 */
int broker_answers(pid_t pid, int proc_fd, const struct broker_mapping *m);

/* Memory that may hold up who reads it; mem_fd is an open /proc/PID/mem. All of it or -errno. */
int broker_memory(pid_t pid, int mem_fd, uint64_t addr, void *dst, size_t len);

/*
 * This process has no rights, from now on: what the kernel tells of other processes and not of just
 * anybody's is asked for below by who reads it (target/procfs.h). Nothing changes without workers.
 */
void broker_rely(void);
bool broker_is_relied_on(void);

/*
 * The kernel's own files of a process, /proc/PID/NAME: only where it is relied on. A descriptor
 * for reading, with O_DIRECTORY or O_PATH in `flags` a directory; the text, as much of cap - 1 and
 * of 32 KiB as there is, NUL terminated: its length; where a link leads, likewise. Or -errno.
 */
int broker_proc_open(pid_t pid, const char *name, int flags);
int broker_proc_text(pid_t pid, const char *name, char *buf, size_t cap);
int broker_proc_link(pid_t pid, const char *name, char *buf, size_t cap);

/*
 * Writes a user's name, NUL terminated. Returns its length, or -errno; -ENOENT: it has none. A
 * directory service may be asked, by sockets that the caller does not have.
 */
int broker_user(uid_t uid, char *buf, size_t cap);

/*
 * What such a file, or where such a link leads, says of each of n processes, BROKER_TEXTS at most,
 * in one question: NUL terminated, "" of one that cannot be read. 0 or -errno: nothing is known of
 * any.
 */
#define BROKER_TEXTS	  128
#define BROKER_TEXT_BYTES 256
int broker_proc_texts(const pid_t *pids, size_t n, const char *name, bool link,
		      char (*texts)[BROKER_TEXT_BYTES]);

/* Tells whether something of the process was lately not opened or not read in time. */
bool broker_waited(pid_t pid);

/* Lists the descriptors, at most 2, that a process forked from this one has to keep to ask, too.
 * Returns their number. */
size_t broker_descriptors(int fds[2]);

/* CPU time of all workers so far. */
uint64_t broker_cpu_ns(void);

#endif
