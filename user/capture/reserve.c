/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define RESERVED 2 /* a link and its iterator */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int reserved[RESERVED] = {-1, -1};

int reserve_fill(void)
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < RESERVED && !rc; i++) {
		if (reserved[i] < 0)
			reserved[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		rc = reserved[i] < 0 ? -errno : 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

void reserve_spend(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < RESERVED; i++) {
		if (reserved[i] >= 0)
			close(reserved[i]);
		reserved[i] = -1;
	}
	pthread_mutex_unlock(&lock);
}
