/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/desk.h"

#include <pthread.h>
#include <stdlib.h>

struct desk {
	pthread_mutex_t lock;
	pthread_cond_t turn;
	uint64_t next, served; /* numbers that were drawn; whose turn it is */
	uint64_t freed;
};

struct desk *desk_new(void)
{
	struct desk *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->turn, NULL);
	return d;
}

void desk_free(struct desk *d)
{
	if (!d)
		return;
	pthread_cond_destroy(&d->turn);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

void desk_enter(struct desk *d)
{
	uint64_t own;

	pthread_mutex_lock(&d->lock);
	own = d->next++;
	while (d->served != own)
		pthread_cond_wait(&d->turn, &d->lock);
	pthread_mutex_unlock(&d->lock);
}

void desk_leave(struct desk *d)
{
	pthread_mutex_lock(&d->lock);
	d->served++;
	pthread_cond_broadcast(&d->turn);
	pthread_mutex_unlock(&d->lock);
}

bool desk_freed(struct desk *d, bool freed, uint64_t *seen)
{
	bool news;

	d->freed += freed;
	news = *seen != d->freed;
	*seen = d->freed;
	return news;
}
