/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the symbols of a stripped file are: in a separate debug file, or, compressed, in the file
 * itself (.gnu_debugdata, "MiniDebugInfo").
 */
#ifndef GNOMON_SYM_DEBUGFILE_H
#define GNOMON_SYM_DEBUGFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "sym/elf.h"

/* Where a file was found. */
struct debugfile_place {
	pid_t pid;	  /* by whom */
	int proc_fd;	  /* his open /proc/PID, below whose `root` it is, or -1: nowhere */
	const char *path; /* as /proc/PID/maps has it; "" if not known */
};

/*
 * Open the debug file of f, by build id (/usr/lib/debug/.build-id/xx/yyyy.debug) under our own
 * root, else under that of `place`, there also by .gnu_debuglink (next to the file, in .debug/
 * there, under /usr/lib/debug). What is found must have f's build id, or without one the link's
 * CRC-32. -ENOENT if there is none. *theirs: what was found, or that nothing was, is so for the
 * place's root, which is not our own: it says nothing about f in another process, as both are that
 * process's choice.
 */
int debugfile_open(struct elf_file **out, const struct elf_file *f,
		   const struct debugfile_place *place, bool *theirs);

/*
 * Open the ELF file inside .gnu_debugdata; *bytes is its malloc'ed memory, to be freed after
 * elf_file_close(). At most DEBUGDATA_MAX bytes, -E2BIG over that.
 */
#define DEBUGDATA_MAX (64U << 20)
int debugdata_open(struct elf_file **out, void **bytes, const struct elf_file *f);

#endif
