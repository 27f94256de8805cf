/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that run, sleep, wait and read, each some calls deep, without frame pointers: after some
 * seconds, so that there are tables for it when they go to sleep for good.
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define DEEP __attribute__((noinline, noclone, optimize("omit-frame-pointer")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static volatile unsigned long sum;

DEEP static void leaf(int what)
{
	char c;

	if (what == 0)
		for (int i = 0; i < 100000; i++)
			sum += (unsigned long)i;
	else if (what == 1)
		nanosleep(&(struct timespec){0, 30000000}, NULL);
	else if (what == 2)
		pthread_mutex_lock(&lock);
	else if (read(ends[0], &c, 1) < 0)
		sum++;
}

DEEP static void down(int what, int depth)
{
	if (depth)
		down(what, depth - 1);
	else
		leaf(what);
	sum++; /* no tail call */
}

static void *work(void *arg)
{
	for (;;)
		down((int)(long)arg, 10);
	return NULL;
}

int main(void)
{
	pthread_t t;

	sleep(5);
	if (pipe(ends) || pthread_mutex_lock(&lock))
		return 1;
	for (long i = 0; i < 4; i++)
		if (pthread_create(&t, NULL, work, (void *)i))
			return 1;
	pause();
	return 0;
}
