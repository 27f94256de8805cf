/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/memguard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "broker/broker.h"
#include "target/mapquery.h"
#include "target/procfs.h"

#define DEVICES 32 /* that are remembered */
/*
 * Before Linux 6.11 the text of all mappings is read so often, and earlier for what is not in it;
 * but always at most a 100th of the time is for that.
 */
#define READ_NS	     1000000000ull
#define READ_DUTY    100
#define MAPPINGS_MAX 64 /* that one read may touch */

struct device {
	uint32_t major, minor;
	int rc; /* 0 or -EREMOTE */
};

struct memguard {
	pid_t pid;
	int maps_fd;
	struct maps *text;     /* before Linux 6.11 */
	uint64_t next_ns;      /* when it is read again, */
	uint64_t next_miss_ns; /* and when it may be for what is not in it */
	struct device devices[DEVICES];
	size_t ndevices; /* ever */
};

struct memguard *memguard_open(pid_t pid)
{
	struct memguard *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return NULL;
	g->pid = pid;
	g->maps_fd = proc_file_open(pid, "maps");
	if (g->maps_fd >= 0)
		return g;
	rc = g->maps_fd == -ESRCH ? ENOENT : -g->maps_fd;
	free(g);
	errno = rc;
	return NULL;
}

void memguard_close(struct memguard *g)
{
	if (!g)
		return;
	close(g->maps_fd);
	maps_free(g->text);
	free(g);
}

/* ---- where it lies ---- */

void memguard_by_text(struct memguard *g)
{
	g->text = g->text ? g->text : maps_new();
}

static int text_read(struct memguard *g)
{
	int dir = proc_dir_open(g->pid), rc;

	if (dir < 0)
		return dir;
	rc = maps_read(g->text, dir);
	close(dir);
	return rc;
}

/* A failure may have taken as long, and is repeated no sooner. */
static int text_renew(struct memguard *g, uint64_t now)
{
	int rc = text_read(g);
	uint64_t pause = (now_ns() - now) * READ_DUTY;

	g->next_miss_ns = now + pause;
	g->next_ns = now + (pause > READ_NS ? pause : READ_NS);
	return rc;
}

static int text_find(struct memguard *g, uint64_t addr, struct mapping *out)
{
	uint64_t now = now_ns();
	const struct mapping *m;
	int rc;

	memguard_by_text(g);
	if (!g->text)
		return -ENOMEM;
	m = maps_find(g->text, addr);
	if (now >= (m ? g->next_ns : g->next_miss_ns)) {
		rc = text_renew(g, now);
		if (rc)
			return rc;
		m = maps_find(g->text, addr);
	}
	if (m)
		*out = *m;
	return m ? 0 : -ENOENT;
}

static int mapping_find(struct memguard *g, uint64_t addr, struct mapping *out)
{
	int rc = g->text ? -ENOTTY : mapquery(g->maps_fd, MAPQUERY_AT, addr, out);

	return rc == -ENOTTY || rc == -EINVAL ? text_find(g, addr, out) : rc;
}

/* ---- what that is ---- */

static int device_ask(struct memguard *g, const struct mapping *m)
{
	const struct broker_mapping b = {
		.start = m->start,
		.end = m->end,
		.inode = m->inode,
		.major = m->major,
		.minor = m->minor,
	};

	int dir = proc_dir_open(g->pid), rc;

	if (dir < 0)
		return dir;
	rc = broker_answers(g->pid, dir, &b);
	close(dir);
	return rc;
}

/* What cannot be told now may be told at the next look. */
static bool is_settled(int rc)
{
	return !rc || rc == -EREMOTE || rc == -EPERM || rc == -EACCES;
}

static int device_look(struct memguard *g, const struct mapping *m)
{
	struct device *d;
	int rc;

	if (!m->major && !m->minor)
		return 0; /* anonymous */
	for (size_t i = 0; i < g->ndevices && i < DEVICES; i++) {
		d = &g->devices[i];
		if (d->major == m->major && d->minor == m->minor)
			return d->rc;
	}
	rc = device_ask(g, m);
	if (is_settled(rc))
		g->devices[g->ndevices++ % DEVICES] =
			(struct device){m->major, m->minor, rc ? -EREMOTE : 0};
	return rc ? -EREMOTE : 0;
}

int memguard_look(struct memguard *g, uint64_t addr, size_t len)
{
	uint64_t at = addr;
	struct mapping m;
	int rc = 0;

	for (int i = 0; !rc && at - addr < len; i++) {
		if (i == MAPPINGS_MAX || mapping_find(g, at, &m))
			return -EFAULT;
		rc = device_look(g, &m);
		at = m.end;
	}
	return rc;
}
