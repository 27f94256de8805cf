/* SPDX-License-Identifier: Apache-2.0 */
/* File descriptors that may be there or not: -1 says that there is none. */
#ifndef GNOMON_BASE_FDS_H
#define GNOMON_BASE_FDS_H

#include <unistd.h>

/* Closes it if there is one; there is none after it. */
static inline void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

#endif
