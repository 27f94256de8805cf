/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/features.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "capture/refusal.h"

#define UNTRIED 1

static struct {
	pthread_mutex_t lock;
	bool begun;
	int permitted, rc[TRIALS_MAX];
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_taken(const char *name)
{
	const char *list = getenv("GNOMON_WITHOUT");
	size_t len = strlen(name);

	for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == len && !memcmp(p, name, len))
			return true;
	return false;
}

static bool is_passing(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM;
}

static void known_begin(void)
{
	if (known.begun)
		return;
	known.begun = true;
	refusal_listen(); /* keeps libbpf's complaint about missing types from the terminal */
	known.permitted = UNTRIED;
	for (int f = 0; feature_info(f); f++)
		known.rc[f] = UNTRIED;
}

static int permitted_locked(void)
{
	int rc = known.permitted;

	if (rc != UNTRIED)
		return rc;
	rc = trial_permitted();
	if (!is_passing(rc))
		known.permitted = rc;
	return rc;
}

/* -EACCES and -EPERM may mean that the verifier refuses the program or that we may not load any. */
static int result_of(const struct feature_info *f, int rc)
{
	if (!rc || is_passing(rc))
		return rc;
	if ((rc == -EPERM || rc == -EACCES) && (f->kind == FEATURE_OF_CLOCKS || permitted_locked()))
		return -EPERM;
	return -EOPNOTSUPP;
}

static int try_locked(struct trials *t, int f)
{
	int rc = known.rc[f];

	if (rc != UNTRIED)
		return rc;
	rc = is_taken(feature_info(f)->name) ? -EOPNOTSUPP
					     : result_of(feature_info(f), trial_run(f, t));
	if (!is_passing(rc))
		known.rc[f] = rc;
	return rc;
}

static void row_begin(void)
{
	pthread_mutex_lock(&known.lock);
	known_begin();
}

static void row_end(struct trials *t)
{
	pthread_mutex_unlock(&known.lock);
	trials_end(t);
}

int feature_try(int f)
{
	struct trials t = {0};
	int rc;

	row_begin();
	rc = try_locked(&t, f);
	row_end(&t);
	return rc;
}

bool feature_has(enum feature f)
{
	return !feature_try(f);
}

void features_try(int n)
{
	struct trials t = {0};

	row_begin();
	for (int f = 0; feature_info(f) && f < n; f++)
		try_locked(&t, f);
	row_end(&t);
}

int features_permitted(void)
{
	int rc;

	row_begin();
	rc = permitted_locked();
	row_end(&(struct trials){0});
	return rc;
}

bool features_can_switch(void)
{
	return feature_has(FEATURE_SWITCHES) && feature_has(FEATURE_RUN_QUEUE) &&
	       feature_has(FEATURE_SCHED_INFO) && feature_has(FEATURE_CLOCKS_IN_STEP);
}

static bool is_needed(int f, bool wall)
{
	return feature_info(f)->need == FEATURE_FOR_ALL ||
	       (wall && feature_info(f)->need == FEATURE_FOR_WALL);
}

int features_missing(bool wall)
{
	struct trials t = {0};
	int found = -1;

	row_begin();
	for (int f = 0; feature_info(f) && found < 0; f++)
		if (is_needed(f, wall) && try_locked(&t, f) == -EOPNOTSUPP)
			found = f;
	row_end(&t);
	return found;
}

/* ---- for tests ---- */

bool feature_is_taken(int f)
{
	return is_taken(feature_info(f)->name);
}

bool features_taken(bool wall)
{
	for (int f = 0; feature_info(f); f++)
		if (is_needed(f, wall) && is_taken(feature_info(f)->name))
			return true;
	return false;
}

static bool is_name(const char *name, size_t len)
{
	for (int f = 0; feature_info(f); f++)
		if (strlen(feature_info(f)->name) == len &&
		    !memcmp(feature_info(f)->name, name, len))
			return true;
	return false;
}

int features_check(struct error *e)
{
	const char *p = getenv("GNOMON_WITHOUT");

	for (; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (!is_name(p, strcspn(p, ",")))
			return error_set(e, -EINVAL, EXIT_USAGE,
					 "GNOMON_WITHOUT: no feature '%.*s'", (int)strcspn(p, ","),
					 p);
	return 0;
}

void features_forget(void)
{
	pthread_mutex_lock(&known.lock);
	known.begun = false;
	pthread_mutex_unlock(&known.lock);
}
