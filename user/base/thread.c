/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <signal.h>

int thread_start(pthread_t *out, size_t stack, void *(*run)(void *arg), void *arg)
{
	pthread_attr_t how;
	sigset_t all, old;
	int rc;

	pthread_attr_init(&how);
	if (stack)
		pthread_attr_setstacksize(&how, stack);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* which it inherits */
	rc = pthread_create(out, &how, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&how);
	return -rc;
}
