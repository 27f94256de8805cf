/* SPDX-License-Identifier: Apache-2.0 */
#include "run/fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <uthash.h>

#include "base/log.h"
#include "capture/capture.h"
#include "naming/recorder.h"
#include "run/lookout.h"

/*
 * Open files that each process takes (pidfd, /proc, memory twice, mappings three times, file), and
 * those that are needed once (BPF) or for each CPU (clocks).
 */
#define FILES_EACH 9
/* each part of the programs has a descriptor of each map (capture/programs.h) */
#define FILES_OWN 273
#define FILES_CPU 4

#define ANYBODYS 0 /* a place that any process may take: the key of those that wait for one */

enum member_state {
	ADDING, /* the naming thread is opening its file and making its tables */
	ON,
	ENDED, /* the naming thread is to be told */
};

struct member {
	pid_t pid;
	struct jvm_owner owner;
	int pidfd; /* -1 once it has ended */
	enum member_state state;
	UT_hash_handle hh;
};

/*
 * A process that is not recorded any more and lives on. Should it be wanted again, its threads'
 * stacks are known to the kernel side as sent, and its new file has none of them.
 */
struct let_go {
	pid_t pid;
	UT_hash_handle hh;
};

struct fleet {
	struct fleet_config cfg;
	struct recorder *rec;
	struct capture *cap;	 /* NULL: not yet */
	struct lookout *lookout; /* with follow */
	struct let_go *let_go;
	struct member *members; /* changed with the lock, since another thread asks for them, too */
	pthread_mutex_t lock;
	size_t most; /* members that the limit of open files allows, and the kernel side has room
			for */
	bool told;   /* the user was told that there are more */
	bool owner_told; /* likewise of one owner's */
};

/* How many members the limit of open files allows, after raising it; at least one. */
static size_t members_most(void)
{
	size_t own = FILES_OWN + FILES_CPU * (size_t)sysconf(_SC_NPROCESSORS_CONF);
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl))
		return SIZE_MAX;
	if (rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
		getrlimit(RLIMIT_NOFILE, &rl);
	}
	if (rl.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	return rl.rlim_cur < own + FILES_EACH ? 1 : (rl.rlim_cur - own) / FILES_EACH;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

int fleet_open(struct fleet **out, const struct fleet_config *cfg, struct recorder *rec,
	       struct error *e)
{
	struct fleet *f = calloc(1, sizeof(*f));

	if (!f)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	f->cfg = *cfg;
	pthread_mutex_init(&f->lock, NULL);
	f->rec = rec;
	f->most = least(members_most(), GN_MAX_PROCS);
	*out = f;
	return cfg->follow ? lookout_start(&f->lookout, cfg->follow, cfg->follow_ctx, e) : 0;
}

static void member_free(struct fleet *f, struct member *m)
{
	pthread_mutex_lock(&f->lock);
	HASH_DEL(f->members, m);
	pthread_mutex_unlock(&f->lock);
	if (m->pidfd >= 0)
		close(m->pidfd);
	free(m);
}

/*
 * Its place is free: for another of its owner, for another of anybody, and for what has its number
 * now.
 */
static void member_drop(struct fleet *f, struct member *m)
{
	const uint64_t keys[] = {m->owner.domain, ANYBODYS, (uint64_t)m->pid};

	for (size_t i = 0; f->lookout && i < sizeof(keys) / sizeof(*keys); i++)
		lookout_room(f->lookout, keys[i]);
	member_free(f, m);
}

/* ---- those that were let go ---------------------------------------------------------------- */

static void let_go_note(struct fleet *f, pid_t pid)
{
	struct let_go *l;

	HASH_FIND_INT(f->let_go, &pid, l);
	if (l)
		return;
	l = calloc(1, sizeof(*l));
	if (!l)
		return;
	l->pid = pid;
	HASH_ADD_INT(f->let_go, pid, l);
}

static void let_go_drop(struct fleet *f, struct let_go *l)
{
	HASH_DEL(f->let_go, l);
	free(l);
}

/* It, or another process with its number, is to be recorded again: all of its stacks are new. */
static void let_go_again(struct fleet *f, pid_t pid)
{
	struct let_go *l;

	HASH_FIND_INT(f->let_go, &pid, l);
	if (!l)
		return;
	capture_epoch(f->cap);
	let_go_drop(f, l);
}

/* ---- the end ------------------------------------------------------------------------------- */

void fleet_end(struct fleet *f)
{
	lookout_end(f->lookout);
}

void fleet_close(struct fleet *f)
{
	struct member *m, *tmp;
	struct let_go *l, *next;

	if (!f)
		return;
	lookout_stop(f->lookout);
	HASH_ITER(hh, f->members, m, tmp)
		member_free(f, m);
	HASH_ITER(hh, f->let_go, l, next)
		let_go_drop(f, l);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static struct member *member_find(struct fleet *f, pid_t pid)
{
	struct member *m;

	HASH_FIND_INT(f->members, &pid, m);
	return m;
}

/*
 * Whether another member would take descriptors that those there are need, or find no room in the
 * kernel side: one process too many would end the recording.
 */
static bool is_full(struct fleet *f)
{
	if (HASH_COUNT(f->members) < f->most)
		return false;
	if (!f->told && f->most == GN_MAX_PROCS)
		log_warn("%zu processes are recorded, and no more can be at a time: others are not",
			 f->most);
	else if (!f->told)
		log_warn("the open-files limit is enough for %zu processes at a time: others are "
			 "not recorded (raise it: ulimit -n)",
			 f->most);
	f->told = true;
	return true;
}

/* Anybody can start as many processes as he likes that look like JVMs. */
static bool is_full_of(struct fleet *f, uint64_t domain)
{
	const struct member *m;
	size_t n = 0;

	for (m = f->members; m; m = m->hh.next)
		n += m->owner.domain == domain;
	if (!f->cfg.owner_max || n < f->cfg.owner_max)
		return false;
	if (!f->owner_told)
		log_warn("a user has more than %zu processes to be recorded in one container, or "
			 "outside of any: others of them are not recorded (allow more: "
			 "--max-processes)",
			 f->cfg.owner_max);
	f->owner_told = true;
	return true;
}

/*
 * Adds a process, with the descriptor that tells its end. NULL and errno if that fails; EMFILE:
 * there is no room for it, which is told.
 */
static struct member *member_new(struct fleet *f, pid_t pid, struct jvm_owner owner)
{
	bool full = is_full_of(f, owner.domain) || is_full(f);
	struct member *m = full ? NULL : calloc(1, sizeof(*m));
	struct epoll_event ev = {.events = EPOLLIN};

	if (!m) {
		errno = full ? EMFILE : ENOMEM;
		return NULL;
	}
	m->pid = pid;
	m->owner = owner;
	m->pidfd = ev.data.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (m->pidfd < 0 || epoll_ctl(f->cfg.epoll, EPOLL_CTL_ADD, m->pidfd, &ev)) {
		int err = errno;

		if (m->pidfd >= 0)
			close(m->pidfd);
		free(m);
		errno = err;
		return NULL;
	}
	pthread_mutex_lock(&f->lock);
	HASH_ADD_INT(f->members, pid, m);
	pthread_mutex_unlock(&f->lock);
	return m;
}

/* ---- those it begins with -------------------------------------------------------------------- */

static int member_first(struct fleet *f, pid_t pid, struct jvm_owner owner, const char *path,
			struct error *e)
{
	struct member *m = member_new(f, pid, owner);
	int rc;

	if (!m && errno == EMFILE)
		return error_set(e, -EMFILE, EXIT_INTERNAL, "no open files left to watch it");
	if (!m && errno == ESRCH)
		return error_set(e, -ESRCH, EXIT_TARGET, "process %d is gone", pid);
	if (!m)
		return error_set(e, -errno, EXIT_INTERNAL, "cannot watch process %d: %s", pid,
				 strerror(errno));
	m->state = ON;
	rc = recorder_target(f->rec, pid, owner, path, f->cfg.overwrite, e);
	if (rc)
		member_free(f, m);
	return rc;
}

int fleet_first(struct fleet *f, pid_t pid, struct jvm_owner owner, const char *path,
		struct error *e)
{
	struct error why = {0};
	int rc = member_first(f, pid, owner, path, &why);

	if (rc && f->cfg.follow && why.exit != EXIT_OUTPUT) {
		if (rc != -EMFILE)
			log_warn("process %d is not recorded: %s%s%s", pid, why.msg,
				 why.hint[0] ? "; " : "", why.hint);
		return 0;
	}
	if (rc && e)
		*e = why;
	return rc;
}

int fleet_capture(struct fleet *f, struct capture *c, struct error *e)
{
	struct member *m, *tmp;
	int rc = 0;

	f->cap = c;
	HASH_ITER(hh, f->members, m, tmp)
		rc = rc ? rc : capture_add(c, m->pid, e);
	return rc;
}

/* ---- those that come later ------------------------------------------------------------------- */

static void member_leaves(struct member *m)
{
	close(m->pidfd); /* also takes it out of the epoll set */
	m->pidfd = -1;
	m->state = ENDED;
}

static void member_end(struct fleet *f, struct member *m)
{
	if (m->state == ON)
		capture_remove(f->cap, m->pid);
	member_leaves(m);
}

/* It lives on. */
static void member_let_go(struct fleet *f, struct member *m)
{
	if (m->state == ENDED)
		return;
	if (m->state == ON) {
		capture_let_go(f->cap, m->pid);
		let_go_note(f, m->pid);
	}
	log_info("process %d: not recorded any more", m->pid);
	member_leaves(m);
}

/*
 * One that there is no room for is looked at again when a place is free: who starts so many does
 * not have each of them looked at all the time.
 */
static void jvm_put_off(struct fleet *f, const struct jvm_proc *j)
{
	uint64_t domain = jvm_owner(j).domain;

	lookout_put_off(f->lookout, j->id.pid, is_full_of(f, domain) ? domain : ANYBODYS);
}

static void jvm_take(struct fleet *f, const struct jvm_proc *j)
{
	struct member *m = member_find(f, j->id.pid);
	char path[TARGET_PATH_LEN];
	int rc;

	if (m && m->state == ENDED) /* until its files are finished */
		lookout_put_off(f->lookout, j->id.pid, (uint64_t)j->id.pid);
	if (m)
		return;
	rc = f->cfg.name(f->cfg.name_ctx, j, path, sizeof(path));
	m = rc ? NULL : member_new(f, j->id.pid, jvm_owner(j));
	if (!rc && !m)
		rc = -errno;
	/*
	 * makes sure that the descriptor is of the process we looked at, and not of a later one
	 * with its number
	 */
	if (!rc && !proc_id_alive(&j->id))
		rc = -ESRCH;
	if (!rc)
		rc = recorder_add(f->rec, m->pid, m->owner, path);
	if (rc && m)
		member_free(f, m);
	if (rc == -EMFILE)
		jvm_put_off(f, j);
	else if (rc && rc != -ESRCH)
		log_warn("process %d is not recorded: %s", j->id.pid, strerror(-rc));
}

/*
 * The naming thread has opened its file and made its tables, or failed. If it has not, let the
 * programs see the process.
 */
static void member_on(struct fleet *f, const struct recorder_added *a)
{
	struct member *m = member_find(f, a->tgid);
	struct error why = a->error;
	int rc = a->rc;

	if (!m)
		return;
	if (!rc && m->state == ADDING) {
		let_go_again(f, m->pid);
		rc = capture_add(f->cap, m->pid, &why);
		if (!rc)
			capture_scan(f->cap);
		m->state = ON;
	}
	if (rc) {
		if (rc == -ESRCH)
			log_info("process %d ended before it could be recorded", m->pid);
		else
			log_warn("process %d is not recorded: %s%s%s", m->pid, why.msg,
				 why.hint[0] ? "; " : "", why.hint);
		if (!a->rc)
			recorder_end(f->rec, m->pid);
		member_drop(f, m);
		return;
	}
	log_info("process %d: recording", m->pid);
}

void fleet_poll(struct fleet *f)
{
	struct recorder_added a;
	struct member *m, *tmp;
	struct lookout_found j;

	while (recorder_added(f->rec, &a))
		member_on(f, &a);
	HASH_ITER(hh, f->members, m, tmp)
		if (m->state == ENDED && !recorder_end(f->rec, m->pid))
			member_drop(f, m);
	while (f->lookout && lookout_take(f->lookout, &j)) {
		m = member_find(f, j.jvm.id.pid);
		if (j.wanted)
			jvm_take(f, &j.jvm);
		else if (m)
			member_let_go(f, m);
	}
}

void fleet_choose(struct fleet *f)
{
	if (f->lookout)
		lookout_all(f->lookout);
}

bool fleet_source(struct fleet *f, int fd)
{
	struct member *m, *tmp;

	HASH_ITER(hh, f->members, m, tmp) {
		if (m->pidfd != fd)
			continue;
		member_end(f, m);
		return true;
	}
	return false;
}

bool fleet_has(struct fleet *f, pid_t pid)
{
	bool has;

	pthread_mutex_lock(&f->lock);
	has = member_find(f, pid) != NULL;
	pthread_mutex_unlock(&f->lock);
	return has;
}

size_t fleet_count(const struct fleet *f)
{
	const struct member *m;
	size_t n = 0;

	for (m = f->members; m; m = m->hh.next)
		n += m->state != ENDED;
	return n;
}
