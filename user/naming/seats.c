/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/seats.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <uthash.h>

struct seat {
	pid_t tgid;
	uint32_t crew;
	UT_hash_handle hh;
};

struct seats {
	struct seat *v;
	pthread_mutex_t lock;
};

struct seats *seats_new(void)
{
	struct seats *s = calloc(1, sizeof(*s));

	if (s)
		pthread_mutex_init(&s->lock, NULL);
	return s;
}

void seats_free(struct seats *s)
{
	struct seat *at, *tmp;

	if (!s)
		return;
	HASH_ITER(hh, s->v, at, tmp) {
		HASH_DEL(s->v, at);
		free(at);
	}
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int seats_put(struct seats *s, pid_t tgid, uint32_t crew)
{
	struct seat *at, *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	pthread_mutex_lock(&s->lock);
	HASH_FIND_INT(s->v, &tgid, at);
	if (!at) {
		at = fresh;
		fresh = NULL;
		at->tgid = tgid;
		HASH_ADD_INT(s->v, tgid, at);
	}
	at->crew = crew;
	pthread_mutex_unlock(&s->lock);
	free(fresh);
	return 0;
}

uint32_t seats_of(struct seats *s, pid_t tgid)
{
	struct seat *at;
	uint32_t crew;

	pthread_mutex_lock(&s->lock);
	HASH_FIND_INT(s->v, &tgid, at);
	crew = at ? at->crew : 0;
	pthread_mutex_unlock(&s->lock);
	return crew;
}

void seats_clear(struct seats *s, uint32_t crew)
{
	struct seat *at, *tmp;

	pthread_mutex_lock(&s->lock);
	HASH_ITER(hh, s->v, at, tmp) {
		if (at->crew != crew)
			continue;
		HASH_DEL(s->v, at);
		free(at);
	}
	pthread_mutex_unlock(&s->lock);
}
