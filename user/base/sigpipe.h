/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who reads what we print may go away (`| head`): that is an error of the write and no signal, or a
 * recording would die of a message and leave a file that nobody finished.
 */
#ifndef GNOMON_BASE_SIGPIPE_H
#define GNOMON_BASE_SIGPIPE_H

/* At the start of the program. */
void sigpipe_ignore(void);

/* In a child, before it becomes another program: as it was before. */
void sigpipe_restore(void);

#endif
