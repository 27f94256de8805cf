/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sigpipe.h"

#include <signal.h>
#include <stddef.h>

static struct sigaction before;

void sigpipe_ignore(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGPIPE, &ignore, &before);
}

void sigpipe_restore(void)
{
	sigaction(SIGPIPE, &before, NULL);
}
