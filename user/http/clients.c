/* SPDX-License-Identifier: Apache-2.0 */
#include "http/clients.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"

#define SECOND_NS 1000000000ull

struct client {
	int fd; /* -1: free */
	uint64_t until_ns;
};

struct clients {
	pthread_mutex_t lock;
	pthread_cond_t ends;
	bool ended;
	pthread_t thread;
	struct client v[CLIENTS_MAX];
};

/* Who closes a connection removes it first, under the lock: no other has its number yet. */
static void late_cut(struct clients *all)
{
	uint64_t now = now_ns();

	for (int i = 0; i < CLIENTS_MAX; i++)
		if (all->v[i].fd >= 0 && now >= all->v[i].until_ns)
			shutdown(all->v[i].fd, SHUT_RDWR);
}

static void *clients_main(void *arg)
{
	struct clients *all = arg;

	pthread_mutex_lock(&all->lock);
	while (!all->ended) {
		struct timespec at;

		clock_gettime(CLOCK_MONOTONIC, &at);
		at.tv_sec++;
		pthread_cond_timedwait(&all->ends, &all->lock, &at);
		late_cut(all);
	}
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

struct clients *clients_new(void)
{
	struct clients *all = calloc(1, sizeof(*all));
	pthread_condattr_t how;

	if (!all)
		return NULL;
	for (int i = 0; i < CLIENTS_MAX; i++)
		all->v[i].fd = -1;
	pthread_mutex_init(&all->lock, NULL);
	pthread_condattr_init(&how);
	pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
	pthread_cond_init(&all->ends, &how);
	pthread_condattr_destroy(&how);
	if (!pthread_create(&all->thread, NULL, clients_main, all))
		return all;
	free(all);
	return NULL;
}

void clients_free(struct clients *all)
{
	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	all->ended = true;
	pthread_cond_signal(&all->ends);
	pthread_mutex_unlock(&all->lock);
	pthread_join(all->thread, NULL);
	pthread_cond_destroy(&all->ends);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

struct client *clients_add(struct clients *all, int fd)
{
	struct client *c = NULL;

	pthread_mutex_lock(&all->lock);
	for (int i = 0; i < CLIENTS_MAX && !c; i++)
		if (all->v[i].fd < 0)
			c = &all->v[i];
	if (c)
		*c = (struct client){fd, now_ns() + CLIENTS_ASK_S * SECOND_NS};
	pthread_mutex_unlock(&all->lock);
	return c;
}

void clients_asked(struct clients *all, struct client *c)
{
	pthread_mutex_lock(&all->lock);
	c->until_ns = now_ns() + CLIENTS_ANSWER_S * SECOND_NS;
	pthread_mutex_unlock(&all->lock);
}

void clients_remove(struct clients *all, struct client *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&all->lock);
	c->fd = -1;
	pthread_mutex_unlock(&all->lock);
}
