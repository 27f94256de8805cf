/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#define RESERVED 2 /* a link and its iterator */

static atomic_int reserved[RESERVED] = {-1, -1};

static int one_fill(atomic_int *place)
{
	int none = -1, fd;

	if (atomic_load(place) >= 0)
		return 0;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!atomic_compare_exchange_strong(place, &none, fd))
		close(fd); /* another thread was faster */
	return 0;
}

int reserve_fill(void)
{
	int rc = 0;

	for (int i = 0; i < RESERVED && !rc; i++)
		rc = one_fill(&reserved[i]);
	return rc;
}

void reserve_spend(void)
{
	for (int i = 0; i < RESERVED; i++) {
		int fd = atomic_exchange(&reserved[i], -1);

		if (fd >= 0)
			close(fd);
	}
}
