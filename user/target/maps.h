/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory mappings of a process: /proc/PID/maps parsed into an array sorted by address.
 *
 * The text is proc_pid_maps(5): "start-end perms offset major:minor inode   path". The kernel
 * writes a newline in a path as \012 and leaves everything else alone (seq_path() with "\n",
 * fs/proc/task_mmu.c), so a backslash is ambiguous and a path is a hint: whoever opens it compares
 * device and inode. A removed file's path carries " (deleted)".
 *
 * Not thread safe. A text of 100,000 lines takes linear time; more than MAPS_MAX lines or
 * MAPS_TEXT_MAX bytes is refused with -E2BIG.
 */
#ifndef GNOMON_TARGET_MAPS_H
#define GNOMON_TARGET_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPS_MAX      (4U << 20)
#define MAPS_TEXT_MAX (512U << 20)

#define MAPPING_READ   0x1
#define MAPPING_WRITE  0x2
#define MAPPING_EXEC   0x4
#define MAPPING_SHARED 0x8

struct mapping {
	uint64_t start, end; /* [start, end), page aligned */
	uint64_t offset;     /* of start in the file, bytes */
	uint64_t inode;	     /* 0: no file */
	uint32_t major, minor;
	uint32_t path;	 /* id for maps_path(), 0: none (anonymous) */
	uint8_t prot;	 /* MAPPING_* */
	uint8_t deleted; /* the path ended in " (deleted)", which was cut off */
	uint16_t reserved;
};

struct maps;

struct maps *maps_new(void); /* empty; NULL without memory */
void maps_free(struct maps *m);

/*
 * Replace the content by what the text says. Lines that make no sense are skipped and counted.
 * On error (-E2BIG, -ENOMEM) the old content stays.
 */
int maps_parse(struct maps *m, const char *text, size_t len);

/*
 * Replace the content by /proc/PID/maps; proc_fd is an open directory /proc/PID, which unlike the
 * pid never names another process, and always the same. -ESRCH when the process is gone or has no
 * memory (a zombie, a kernel thread): the old content stays.
 */
int maps_read(struct maps *m, int proc_fd);

/*
 * The descriptor of that file. It is opened once and kept, since opening may take the rights of
 * another process (target/procfs.h); it is of the program that the process ran then, and of nothing
 * after an exec: whoever gets -ESRCH from it, or no text, drops it and tries once more. Or -errno.
 */
int maps_file(struct maps *m, int proc_fd);
void maps_file_drop(struct maps *m);

/* The text of that file as it is now, in `text`, which is empty. 0, -ESRCH as above, or -errno. */
struct buffer;
int maps_text(struct maps *m, int proc_fd, struct buffer *text);

/* Changes whenever the content does: starts at 0, before the first successful parse. */
uint64_t maps_generation(const struct maps *m);

size_t maps_count(const struct maps *m);
size_t maps_skipped(const struct maps *m); /* lines of the last parse that made no sense */

/* The i-th mapping in address order (i < maps_count()); valid until the next parse or read. */
const struct mapping *maps_at(const struct maps *m, size_t i);

/* The mapping that holds addr, or NULL. O(log n). */
const struct mapping *maps_find(const struct maps *m, uint64_t addr);

/* The path ("" if none), decoded, without " (deleted)": a file, "[heap]", "[vdso]", "[anon:x]". */
const char *maps_path(const struct maps *m, const struct mapping *mp);

/* The mapping is of a file (as opposed to "[heap]", anonymous memory ...). */
bool mapping_is_file(const struct mapping *mp);

#endif
