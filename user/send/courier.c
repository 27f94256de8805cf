/* SPDX-License-Identifier: Apache-2.0 */
#include "send/courier.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"

#define LOOK_NS 1000000000ull /* the spool is looked at so often in any case */

/* A payload that was not taken at once. */
struct trouble {
	char name[SPOOL_NAME_LEN];
	uint64_t due_ns; /* not before this, CLOCK_MONOTONIC */
	uint64_t sent;	 /* how many had been sent when it failed last */
	unsigned int tries, failures;
};

struct courier {
	struct spool *spool;
	const struct destination *to;
	struct http *http;
	FILE *told;
	int in;
	bool ending;
	uint64_t end_ns;	     /* when `ending`: not after this */
	uint64_t wait_ns, pace_ns;   /* nothing is sent before: the server's sake, the rate's */
	unsigned int failures;	     /* in a row, of other payloads than the one before */
	char failed[SPOOL_NAME_LEN]; /* the last one that did */
	uint64_t sent;
	int last_status; /* that was told as "later"; -1 none */
	struct trouble *troubles;
	size_t ntroubles;
};

static uint64_t chance(void)
{
	uint64_t v = now_ns();

	return getrandom(&v, sizeof(v), GRND_NONBLOCK) == sizeof(v) ? v : now_ns();
}

/* ---- troubles ---- */

static struct trouble *trouble_of(struct courier *c, const char *name)
{
	for (size_t i = 0; i < c->ntroubles; i++)
		if (!strcmp(c->troubles[i].name, name))
			return &c->troubles[i];
	return NULL;
}

static struct trouble *trouble_add(struct courier *c, const char *name)
{
	struct trouble *t = trouble_of(c, name), *more;

	if (t)
		return t;
	more = reallocarray(c->troubles, c->ntroubles + 1, sizeof(*more));
	if (!more)
		return NULL;
	c->troubles = more;
	t = &more[c->ntroubles++];
	*t = (struct trouble){0};
	strcpy(t->name, name);
	return t;
}

static void trouble_end(struct courier *c, const char *name)
{
	struct trouble *t = trouble_of(c, name);

	if (t)
		*t = c->troubles[--c->ntroubles];
}

/* ---- what becomes of one ---- */

static void done(struct courier *c, const char *name)
{
	spool_remove(c->spool, name);
	trouble_end(c, name);
}

static void refused(struct courier *c, const char *name, const struct payload *p,
		    const struct answer *a)
{
	fprintf(c->told, "refused %d %llu %s: %s\n", a->status, (unsigned long long)p->samples,
		p->about, a->words);
	done(c, name);
}

/* The server took others since: it is this one that it will not take. */
static bool hopeless(struct courier *c, struct trouble *t)
{
	if (c->sent > t->sent)
		t->tries++;
	t->sent = c->sent;
	return t->tries >= RETRY_MOST;
}

static void later(struct courier *c, const char *name, const struct payload *p,
		  const struct answer *a)
{
	struct trouble *t = trouble_add(c, name);
	uint64_t now = now_ns();

	if (t && t->failures && hopeless(c, t)) {
		refused(c, name, p, a);
		return;
	}
	if (a->status != c->last_status)
		fprintf(c->told, "later %d %s\n", a->status, a->words);
	c->last_status = a->status;
	c->failures += strcmp(c->failed, name) != 0;
	strcpy(c->failed, name);
	if (t) {
		t->sent = t->failures ? t->sent : c->sent;
		t->failures++;
		t->due_ns = now + retry_wait_ns(t->failures, a->retry_after_ns, chance());
	}
	/* one failure among what is taken is the payload's; more are the server's */
	if (c->failures > 1 || a->retry_after_ns)
		c->wait_ns = now + retry_wait_ns(c->failures - 1, a->retry_after_ns, chance());
}

static void sent(struct courier *c, const char *name, const struct payload *p, size_t bytes,
		 uint64_t took_ns)
{
	fprintf(c->told, "sent %zu %llu %llu\n", bytes, (unsigned long long)took_ns,
		(unsigned long long)p->samples);
	c->sent++;
	c->end_ns = now_ns() + c->to->finish_ns;
	c->failures = 0;
	c->failed[0] = '\0';
	c->last_status = -1;
	done(c, name);
}

static void pace(struct courier *c, const struct payload *p)
{
	if (c->to->bytes_second)
		c->pace_ns =
			now_ns() + (uint64_t)((double)p->raw * 1e9 / (double)c->to->bytes_second);
}

static bool too_old(const struct courier *c, const struct payload *p)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);

	return c->to->max_age_ns && p->time_ns > 0 && (uint64_t)p->time_ns < now &&
	       now - (uint64_t)p->time_ns > c->to->max_age_ns;
}

static uint64_t limit_ns(const struct courier *c)
{
	uint64_t now = now_ns(), left = c->end_ns > now ? c->end_ns - now : 1;

	return c->ending && left < c->to->timeout_ns ? left : c->to->timeout_ns;
}

static void try(struct courier *c, const char *name)
{
	struct buffer body = BUFFER_INIT;
	struct answer a = {0};
	struct payload p;
	uint64_t began = now_ns();
	int rc = spool_get(c->spool, name, &p, &body);

	if (rc == -EBADMSG) {
		fprintf(c->told, "refused 0 0 %s: it is no payload\n", name);
		done(c, name);
	} else if (rc) {
		trouble_end(c, name);
	} else if (too_old(c, &p)) {
		fprintf(c->told, "old %llu %s\n", (unsigned long long)p.samples, p.about);
		done(c, name);
	} else {
		http_post(c->http, &p, &body, limit_ns(c), &a);
		pace(c, &p);
		switch (answer_verdict(&a)) {
		case VERDICT_SENT:
			sent(c, name, &p, body.len, now_ns() - began);
			break;
		case VERDICT_LATER:
			later(c, name, &p, &a);
			break;
		case VERDICT_REFUSED:
			refused(c, name, &p, &a);
			break;
		}
	}
	buffer_free(&body);
	fflush(c->told);
}

/* ---- the round ---- */

/*
 * The oldest that was not tried yet, else of those that are due the one that failed least. NULL,
 * and when there will be one.
 */
static const char *next_due(struct courier *c, const struct spool_entry *v, size_t n,
			    uint64_t *when)
{
	uint64_t now = now_ns();
	const char *name = NULL;
	unsigned int least = UINT_MAX;

	*when = now + LOOK_NS;
	for (size_t i = 0; i < n; i++) {
		const struct trouble *t = trouble_of(c, v[i].name);

		if (!t)
			return v[i].name;
		if (t->due_ns <= now && t->failures < least) {
			least = t->failures;
			name = v[i].name;
		}
		if (t->due_ns < *when)
			*when = t->due_ns;
	}
	return name;
}

static int name_order(const void *name, const void *entry)
{
	return strcmp(name, ((const struct spool_entry *)entry)->name);
}

/* Of those that made room for others nothing is kept in mind. */
static void troubles_forget(struct courier *c, const struct spool_entry *v, size_t n)
{
	for (size_t i = 0; i < c->ntroubles;) {
		if (n && bsearch(c->troubles[i].name, v, n, sizeof(*v), name_order))
			i++;
		else
			c->troubles[i] = c->troubles[--c->ntroubles];
	}
}

static void input_take(struct courier *c)
{
	char bytes[256];
	ssize_t n = read(c->in, bytes, sizeof(bytes));

	if (n > 0 || (n < 0 && errno == EINTR))
		return;
	c->ending = true;
	c->end_ns = now_ns() + c->to->finish_ns;
}

static void wait_until(struct courier *c, uint64_t when)
{
	struct pollfd in = {.fd = c->ending ? -1 : c->in, .events = POLLIN};
	uint64_t now = now_ns();

	if (when <= now && c->ending)
		return;
	if (poll(&in, 1, when > now ? (int)((when - now) / 1000000) + 1 : 0) > 0)
		input_take(c);
}

/* Also looks whether the end has come, which must not wait for a spool to be empty. */
static void rest(struct courier *c, uint64_t when)
{
	uint64_t now = now_ns();

	if (when < c->wait_ns)
		when = c->wait_ns;
	if (when < c->pace_ns)
		when = c->pace_ns;
	if (when > now + LOOK_NS)
		when = now + LOOK_NS;
	if (c->ending && when > c->end_ns)
		when = c->end_ns;
	wait_until(c, when);
}

static void left(struct courier *c, const struct spool_entry *v, size_t n)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < n; i++) {
		struct buffer body = BUFFER_INIT;
		struct payload p;

		if (!spool_get(c->spool, v[i].name, &p, &body))
			samples += p.samples;
		buffer_free(&body);
	}
	fprintf(c->told, "left %zu %llu\n", n, (unsigned long long)samples);
}

/* One look at the spool, and one payload at most. True: it goes on. */
static bool turn(struct courier *c, const struct spool_entry *v, size_t n)
{
	uint64_t now = now_ns(), when = 0;
	const char *name = NULL;

	if (c->ending && (!n || now >= c->end_ns))
		return false;
	troubles_forget(c, v, n);
	if (now >= c->wait_ns && now >= c->pace_ns)
		name = next_due(c, v, n, &when);
	if (name)
		try(c, name);
	rest(c, name ? 0 : when);
	return true;
}

int courier_run(struct spool *s, const struct destination *d, struct http *h, int in, FILE *told)
{
	struct courier c = {
		.spool = s, .to = d, .http = h, .in = in, .told = told, .last_status = -1};
	struct spool_entry *v = NULL;
	size_t n = 0;
	int rc;

	do {
		free(v);
		rc = spool_list(s, &v, &n);
	} while (!rc && turn(&c, v, n));
	if (!rc)
		left(&c, v, n);
	fflush(told);
	free(v);
	free(c.troubles);
	return rc;
}
