/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sentry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <uthash.h>

#include "base/bucket.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "jfr/stretch.h"
#include "run/runner.h"

#define DUMPS_MAX    10		   /* of a trigger, the oldest go */
#define DUE_MAX	     64		   /* firings that are to be done */
#define DUE_NS	     5000000000ull /* for so long they are done at a time */
#define HOUR	     3600
#define FIRING_WORDS 200

struct watched {
	pid_t pid;
	struct proc_id id;
	uint32_t about;	       /* a bit for each trigger */
	struct control_jvm is; /* as it was seen last; pid 0: not yet */
	bool seen;
	struct trigger_memory m[TRIGGERS_MAX];
	UT_hash_handle hh;
};

struct told {
	uint64_t fired, held_back, failed, last_ns;
	struct bucket hourly;
};

/* What is to be done when nobody has to wait for it: without the lock. */
struct firing {
	size_t trigger;
	struct proc_id id;
	struct control_jvm is;
	char words[FIRING_WORDS];
};

struct sentry {
	struct sentry_config cfg;
	pthread_mutex_t lock;
	struct triggers triggers;
	struct told told[TRIGGERS_MAX];
	struct watch_orders watch; /* what naming has to know for the triggers */
	struct watched *jvms;
	struct proc_id self; /* JVMs that started later are new */
	uint32_t minute;     /* of the day, at the last look; -1: there was none */
	/* of the thread that calls sentry_second() and sentry_orders() alone */
	struct firing due[DUE_MAX];
	size_t ndue;
	struct runner *runner;
};

struct sentry *sentry_new(const struct sentry_config *cfg)
{
	struct sentry *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->cfg = *cfg;
	if (proc_id_read(getpid(), &s->self))
		s->self.start = UINT64_MAX;
	s->minute = (uint32_t)-1;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void watched_drop(struct sentry *s, struct watched *w)
{
	HASH_DEL(s->jvms, w);
	free(w);
}

void sentry_free(struct sentry *s)
{
	struct watched *w, *next;

	if (!s)
		return;
	HASH_ITER(hh, s->jvms, w, next)
		watched_drop(s, w);
	triggers_free(&s->triggers);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Naming hears of it only where it is something else than before: it has all stacks sent again. */
static void watch_renew(struct sentry *s)
{
	struct watch_orders o;

	triggers_watch(&s->triggers, s->watch.number, &o);
	if (!memcmp(&o, &s->watch, sizeof(o)))
		return;
	o.number++;
	s->watch = o;
}

void sentry_orders(struct sentry *s, struct triggers *t)
{
	struct watched *w, *next;

	if (s->ndue)
		log_warn("what triggers of the configuration before were to do is not done, %zu "
			 "times",
			 s->ndue);
	s->ndue = 0;
	pthread_mutex_lock(&s->lock);
	triggers_free(&s->triggers);
	s->triggers = *t;
	*t = (struct triggers){0};
	memset(s->told, 0, sizeof(s->told));
	watch_renew(s);
	HASH_ITER(hh, s->jvms, w, next) {
		w->about = 0;
		memset(w->m, 0, sizeof(w->m));
	}
	pthread_mutex_unlock(&s->lock);
}

void sentry_runner(struct sentry *s, struct runner *r)
{
	s->runner = r;
}

bool sentry_is_idle(struct sentry *s)
{
	bool idle;

	pthread_mutex_lock(&s->lock);
	idle = !s->triggers.n;
	pthread_mutex_unlock(&s->lock);
	return idle;
}

void sentry_jvm(struct sentry *s, const struct cgroup_mounts *mounts, const struct jvm_proc *j)
{
	struct watched *w;
	uint32_t about = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->triggers.n; i++)
		about |= (uint32_t)rule_fits(&s->triggers.v[i].whom, mounts, j) << i;
	HASH_FIND_INT(s->jvms, &j->id.pid, w);
	if (w && w->id.start != j->id.start) {
		watched_drop(s, w);
		w = NULL;
	}
	if (!w && about && (w = calloc(1, sizeof(*w)))) {
		w->pid = j->id.pid;
		w->id = j->id;
		HASH_ADD_INT(s->jvms, pid, w);
	}
	if (w)
		w->about = about;
	pthread_mutex_unlock(&s->lock);
}

/* ---- what is done ---------------------------------------------------------------------------- */

static void rate_wish(struct sentry *s, const struct trigger *t, const struct firing *f)
{
	struct rate_wish wish = t->rate;

	wish.until_ns = now_ns() + t->rate_ns;
	snprintf(wish.reason, sizeof(wish.reason), "trigger '%s'", t->whom.label);
	if (rates_wish(s->cfg.rates, &f->id, RATE_TRIGGER, &wish))
		log_warn("trigger '%s': out of memory", t->whom.label);
}

static bool is_dump_of(const char *name, const char *label)
{
	size_t n = strlen(label);

	return !strncmp(name, label, n) && name[n] == '.' && strstr(name + n, ".jfr");
}

/* Their names are in the order of time. One more is about to come. */
static void dumps_shrink(int dir, const char *label)
{
	for (;;) {
		char oldest[NAME_MAX + 1] = "";
		int fd = dup(dir), n = 0;
		DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
		struct dirent *f;

		if (!d)
			return;
		rewinddir(d);
		while ((f = readdir(d))) {
			if (!is_dump_of(f->d_name, label))
				continue;
			if (!n++ || strcmp(f->d_name, oldest) < 0)
				snprintf(oldest, sizeof(oldest), "%s", f->d_name);
		}
		closedir(d);
		if (n < DUMPS_MAX || unlinkat(dir, oldest, 0))
			return;
	}
}

/* Those who may read the recordings may read what is kept of them. */
static void group_let(int of, int fd, mode_t mode)
{
	struct stat st;

	if (!fstat(of, &st) && st.st_mode & S_ISGID && fchmod(fd, mode))
		log_debug("the group cannot read what triggers keep: %s", strerror(errno));
}

static int stretch_write(const char *from, uint64_t last_ns, int fd, struct error *e)
{
	struct stretch st;
	int rc = stretch_open(&st, from, e);
	FILE *f;

	if (rc) {
		close(fd);
		return rc;
	}
	rc = st.known
		     ? stretch_cut(&st, (int64_t)(clock_ns(CLOCK_REALTIME) - last_ns), INT64_MAX, e)
		     : 0;
	f = rc ? NULL : fdopen(fd, "w");
	if (!rc)
		rc = f ? stretch_copy(&st, f, e) : error_set(e, -ENOMEM, EXIT_INTERNAL, "memory");
	if (f ? fclose(f) : close(fd))
		rc = rc ? rc : error_set(e, -errno, EXIT_OUTPUT, "%s", strerror(errno));
	stretch_free(&st);
	return rc;
}

/* LABEL.TIME-PID.jfr; it takes that name when it is whole. */
static int dump_to(struct sentry *s, const struct trigger *t, const struct firing *f, int dir,
		   char *path, size_t cap, struct error *e)
{
	char name[NAME_MAX], time[32];
	const char *part = ".part";
	time_t now = (time_t)(clock_ns(CLOCK_REALTIME) / 1000000000u);
	struct tm tm;
	int fd, rc;

	strftime(time, sizeof(time), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	snprintf(name, sizeof(name), "%s.%s-%d.jfr", t->whom.label, time, f->is.pid);
	snprintf(path, cap, "%s/triggered/%s", s->cfg.dir, name);
	unlinkat(dir, part, 0);
	fd = openat(dir, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set(e, -errno, EXIT_OUTPUT, "cannot write '%s': %s", path,
				 strerror(errno));
	group_let(dir, fd, 0640);
	rc = stretch_write(f->is.dir, t->dump_ns, fd, e);
	dumps_shrink(dir, t->whom.label);
	if (!rc && renameat(dir, part, dir, name))
		rc = error_set(e, -errno, EXIT_OUTPUT, "cannot write '%s': %s", path,
			       strerror(errno));
	if (rc)
		unlinkat(dir, part, 0);
	return rc;
}

static int dump(struct sentry *s, const struct trigger *t, const struct firing *f, char *path,
		size_t cap)
{
	int root = open(s->cfg.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), dir;
	struct error e = {0};
	int rc;

	if (root >= 0)
		mkdirat(root, "triggered", 0700);
	dir = root < 0 ? -1
		       : openat(root, "triggered", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0)
		group_let(root, dir, S_ISGID | 0750);
	rc = dir < 0 ? error_set(&e, -errno, EXIT_OUTPUT, "cannot make '%s/triggered': %s",
				 s->cfg.dir, strerror(errno))
		     : dump_to(s, t, f, dir, path, cap, &e);
	if (dir >= 0)
		close(dir);
	if (root >= 0)
		close(root);
	if (rc) {
		log_warn("trigger '%s': nothing is kept of process %d: %s", t->whom.label,
			 f->is.pid, e.msg);
		*path = '\0';
	}
	return rc;
}

static int run(struct sentry *s, const struct trigger *t, const struct firing *f, const char *path)
{
	struct runner_order o = {.pid = f->is.pid};
	int rc = -EPIPE;

	snprintf(o.trigger, sizeof(o.trigger), "%s", t->whom.label);
	snprintf(o.name, sizeof(o.name), "%s", f->is.name);
	snprintf(o.container, sizeof(o.container), "%s", f->is.container);
	snprintf(o.dir, sizeof(o.dir), "%s", f->is.dir);
	snprintf(o.words, sizeof(o.words), "%s", f->words);
	snprintf(o.file, sizeof(o.file), "%s", path);
	if (s->runner)
		rc = runner_run(s->runner, &o);
	if (rc)
		log_warn("trigger '%s': '%s' is not run: %s", t->whom.label, t->argv[0],
			 strerror(-rc));
	return rc;
}

/* Whether it may do so now, once more. */
static bool may_fire(struct sentry *s, size_t i, struct trigger_memory *m, uint64_t now)
{
	const struct trigger *t = &s->triggers.v[i];
	const struct bucket_size hourly = {(uint64_t)t->hourly * HOUR, t->hourly};

	if ((m->fired_ns && now - m->fired_ns < t->every_ns) ||
	    !bucket_has(&s->told[i].hourly, &hourly, now))
		return false;
	bucket_take(&s->told[i].hourly, &hourly, now, HOUR);
	m->fired_ns = now;
	return true;
}

static void fire(struct sentry *s, struct watched *w, size_t i, const char *words)
{
	struct told *told = &s->told[i];
	struct firing *f = &s->due[s->ndue];

	if (s->ndue == DUE_MAX || !may_fire(s, i, &w->m[i], now_ns())) {
		told->held_back++;
		return;
	}
	told->fired++;
	told->last_ns = clock_ns(CLOCK_REALTIME);
	s->ndue++;
	*f = (struct firing){.trigger = i, .id = w->id, .is = w->is};
	snprintf(f->words, sizeof(f->words), "%s", words);
}

/* False: not all of it could be done. */
static bool act(struct sentry *s, const struct firing *f)
{
	const struct trigger *t = &s->triggers.v[f->trigger];
	char path[4096] = "", name[128];
	bool done = true;

	utf8_printable(f->is.name, name, sizeof(name));
	log_warn("trigger '%s': process %d, '%s': %s", t->whom.label, f->is.pid, name, f->words);
	if (t->rate_ns)
		rate_wish(s, t, f);
	if (t->dump_ns)
		done &= !dump(s, t, f, path, sizeof(path));
	if (t->argv[0])
		done &= !run(s, t, f, path);
	return done;
}

static void failed_count(struct sentry *s, size_t trigger)
{
	pthread_mutex_lock(&s->lock);
	s->told[trigger].failed++;
	pthread_mutex_unlock(&s->lock);
}

/*
 * What takes long, as copies of gigabytes and commands that do not answer, leaves the rest for the
 * next second: the thread has to keep the directory within its bounds, too.
 */
static void due_do(struct sentry *s)
{
	uint64_t until = now_ns() + DUE_NS;
	size_t n;

	for (n = 0; n < s->ndue && (!n || now_ns() < until); n++)
		if (!act(s, &s->due[n]))
			failed_count(s, s->due[n].trigger);
	s->ndue -= n;
	memmove(s->due, s->due + n, s->ndue * sizeof(*s->due));
}

/* ---- what is looked at ----------------------------------------------------------------------- */

static struct trigger_sum sum_of(const struct trigger *of, const struct control_jvm *j,
				 uint64_t tick_ns, uint64_t now)
{
	const struct totals *t = &j->totals;
	const struct pulse *p = &t->pulse;
	struct trigger_sum s = {.at_ns = now, .whole = now};

	switch (of->what) {
	case TRIGGER_CPU:
		s.part = t->cpu_ns;
		break;
	case TRIGGER_QUEUED:
		s.part = t->wall_queued * tick_ns;
		s.whole = s.part + t->cpu_ns;
		break;
	case TRIGGER_BLOCKED:
		s.part = t->wall_blocked * tick_ns;
		break;
	case TRIGGER_GC:
		for (int c = 0; c < PULSE_COLLECTORS; c++)
			s.part += p->pause_ns[c];
		break;
	case TRIGGER_THROTTLED:
		s.part = p->throttled_slices;
		s.whole = p->slices;
		break;
	case TRIGGER_METHOD:
		s.part = t->watch.v[of->slot].cpu_ns;
		s.whole = t->cpu_ns;
		break;
	default:
		break;
	}
	return s;
}

static void share_look(struct sentry *s, struct watched *w, size_t i, uint64_t tick_ns)
{
	const struct trigger *t = &s->triggers.v[i];
	struct trigger_sum sum = sum_of(t, &w->is, tick_ns, now_ns());
	char words[FIRING_WORDS];
	double share;

	if (t->what == TRIGGER_METHOD && w->is.totals.watch.number != s->watch.number)
		return; /* naming has not heard of it */
	if (!trigger_share(t, &w->m[i], &sum, &share))
		return;
	snprintf(words, sizeof(words), "%s %.1f%% in the last %" PRIu64 "s, above %g%%",
		 t->method ? t->method : trigger_word(t->what), 100 * share,
		 t->for_ns / 1000000000u, 100 * t->above);
	fire(s, w, i, words);
}

/* How high it is; 0: not known. */
static double level_of(const struct trigger *t, const struct totals *is)
{
	const struct pulse *p = &is->pulse;

	switch (t->what) {
	case TRIGGER_LIVE:
		return p->live_max ? (double)p->live / (double)p->live_max : 0;
	case TRIGGER_FROZEN:
		return (double)is->watch.v[t->slot].held_ns / 1e9;
	default:
		return is->watch.locked;
	}
}

static void level_words(const struct trigger *t, const struct totals *is, double level,
			char words[FIRING_WORDS])
{
	const struct watch_method *m = &is->watch.v[t->slot];

	if (t->what == TRIGGER_LIVE)
		snprintf(words, FIRING_WORDS,
			 "the last old collection left %" PRIu64 " of the %" PRIu64
			 " MB that may live, %.1f%%, above %g%%",
			 is->pulse.live / 1000000, is->pulse.live_max / 1000000, 100 * level,
			 100 * t->above);
	else if (t->what == TRIGGER_FROZEN)
		snprintf(words, FIRING_WORDS, "thread %d, '%s', at one stack with %s for %.0fs",
			 m->tid, m->thread, t->method, level);
	else
		snprintf(words, FIRING_WORDS, "%u threads wait for each other's locks: %s",
			 is->watch.locked, is->watch.circle);
}

/* What naming says of a JVM is of these triggers only once it has heard of them. */
static void level_look(struct sentry *s, struct watched *w, size_t i)
{
	const struct trigger *t = &s->triggers.v[i];
	const struct totals *is = &w->is.totals;
	double level = level_of(t, is);
	char words[FIRING_WORDS];

	if (t->what != TRIGGER_LIVE && is->watch.number != s->watch.number)
		return;
	if (!trigger_level(t, &w->m[i], level))
		return;
	level_words(t, is, level, words);
	fire(s, w, i, words);
}

static void jvm_look(struct sentry *s, struct watched *w, bool is_new, uint32_t minute,
		     uint64_t tick_ns)
{
	for (size_t i = 0; i < s->triggers.n; i++) {
		const struct trigger *t = &s->triggers.v[i];

		if (!(w->about >> i & 1))
			continue;
		if (t->what < TRIGGER_SHARES)
			share_look(s, w, i, tick_ns);
		else if (t->what < TRIGGER_LEVELS)
			level_look(s, w, i);
		else if (t->what == TRIGGER_START && is_new && w->id.start > s->self.start)
			fire(s, w, i, "it has started");
		else if (t->what == TRIGGER_AT && s->minute != (uint32_t)-1 &&
			 trigger_at(t, s->minute, minute))
			fire(s, w, i, "it is the time of day");
	}
}

static void ended_look(struct sentry *s, struct watched *w)
{
	for (size_t i = 0; i < s->triggers.n; i++)
		if (w->about >> i & 1 && s->triggers.v[i].what == TRIGGER_EXIT &&
		    !proc_id_alive(&w->id))
			fire(s, w, i, "it has ended");
}

static uint32_t minute_now(void)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	return (uint32_t)(tm.tm_hour * 60 + tm.tm_min);
}

void sentry_second(struct sentry *s, const struct control_answer *a)
{
	uint32_t minute = minute_now();
	struct watched *w, *next;

	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < a->state.njvms; i++) {
		bool is_new;

		HASH_FIND_INT(s->jvms, &a->jvms[i].pid, w);
		if (!w)
			continue;
		is_new = !w->is.pid;
		w->is = a->jvms[i];
		w->seen = true;
		jvm_look(s, w, is_new, minute, a->state.tick_ns);
	}
	HASH_ITER(hh, s->jvms, w, next) {
		if (!w->seen && w->is.pid)
			ended_look(s, w);
		if (!w->seen && (w->is.pid || !proc_id_alive(&w->id)))
			watched_drop(s, w);
		else
			w->seen = false;
	}
	s->minute = minute;
	pthread_mutex_unlock(&s->lock);
	due_do(s);
}

void sentry_watch(struct sentry *s, struct watch_orders *orders)
{
	pthread_mutex_lock(&s->lock);
	if (orders->number != s->watch.number)
		*orders = s->watch;
	pthread_mutex_unlock(&s->lock);
}

void sentry_tell(struct sentry *s, struct control_state *to)
{
	pthread_mutex_lock(&s->lock);
	to->ntriggers = (uint32_t)s->triggers.n;
	for (size_t i = 0; i < s->triggers.n; i++) {
		struct control_trigger *c = &to->triggers[i];

		*c = (struct control_trigger){
			.fired = s->told[i].fired,
			.held_back = s->told[i].held_back,
			.failed = s->told[i].failed,
			.last_ns = s->told[i].last_ns,
		};
		snprintf(c->name, sizeof(c->name), "%s", s->triggers.v[i].whom.label);
		memcpy(c->when, s->triggers.v[i].words, sizeof(c->when));
	}
	pthread_mutex_unlock(&s->lock);
}
