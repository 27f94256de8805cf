/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "broker/grants.h"
#include "cli/outname.h"
#include "cli/units.h"
#include "out/format.h"
#include "target/pidns.h"

#define AGAIN_MAX 1000 /* names tried for one file */

/* ---- what is recorded ---- */

int recording_target(struct recording *r, const char *arg, struct error *e)
{
	pid_t pid;
	int rc;

	if (select_given(&r->select)) {
		error_set(e, -EINVAL, EXIT_USAGE, "'%s' and an option both say which JVM", arg);
		return error_hint(e, "give one of them");
	}
	if (!*arg)
		return error_set(e, -EINVAL, EXIT_USAGE, "an empty name of a JVM");
	rc = pid_parse(arg, &pid);
	if (rc == -EINVAL)
		return error_set(e, rc, EXIT_USAGE, "'%s' is no process id", arg);
	if (rc)
		r->select.name = arg;
	else
		r->select.pid = pid;
	return 0;
}

/* ---- the targets and their files ---- */

struct files {
	struct recording *r;
	struct outname names;
	char now[OUTNAME_TIME_LEN];
	bool rendered;	/* the output is rendered from a recording */
	char jfr[1024]; /* with `rendered`: the path of the recording */
	struct session_target *targets;
	size_t n;
};

/* One file for one JVM; a directory or a pattern for all that match, now and later. */
static bool following(const struct files *f)
{
	const struct recording *r = f->r;

	return r->select.all || (r->output && !f->names.fixed && !r->select.pid && !r->argv);
}

static int format_choose(struct files *f, struct error *e)
{
	struct recording *r = f->r;

	if (r->format < 0 && r->output)
		r->format = format_by_name(r->output);
	if (r->format < 0)
		r->format = FMT_JFR;
	f->rendered = r->format != FMT_JFR;
	if (r->keep && !f->rendered) {
		error_set(e, -EINVAL, EXIT_USAGE, "--keep is about an output that is rendered");
		return error_hint(e, "leave it out: JFR is what is recorded");
	}
	return 0;
}

static int names_read(struct files *f, struct error *e)
{
	struct recording *r = f->r;
	char own[64];

	snprintf(own, sizeof(own), "%s%s", r->argv ? "%n-%t" : "%n-%p-%t",
		 format_suffix((enum format)r->format));
	if (outname_read(&f->names, r->output ? r->output : own, e))
		return -EINVAL;
	outname_time(f->now);
	if (following(f) && f->rendered) {
		error_set(e, -EINVAL, EXIT_USAGE, "several JVMs are recorded into JFR files only");
		return error_hint(e, "record, then: gnomon render FILE.jfr -o FILE.html");
	}
	if (!following(f) || (!f->names.fixed && f->names.unique))
		return 0;
	error_set(e, -EINVAL, EXIT_USAGE, "several JVMs would be recorded into the same '%s'",
		  r->output);
	return error_hint(e, "give a directory, or a pattern with %%p, such as -o '%%n-%%p.jfr'");
}

/* Where the recording lies that is rendered into `made`. */
static int jfr_name(struct files *f, const char *made, struct error *e)
{
	const char *suffix = format_suffix((enum format)f->r->format);
	size_t n = strlen(made), k = strlen(suffix);
	int len;

	if (n > k && !strcmp(made + n - k, suffix))
		n -= k;
	if (f->r->keep)
		len = snprintf(f->jfr, sizeof(f->jfr), "%.*s.jfr", (int)n, made);
	else
		len = snprintf(f->jfr, sizeof(f->jfr), "%s.recording.jfr", made);
	if (len >= (int)sizeof(f->jfr))
		return error_set(e, -ENAMETOOLONG, EXIT_USAGE, "output name too long: '%.100s...'",
				 made);
	if (!f->r->cfg.overwrite && !faccessat(AT_FDCWD, made, F_OK, AT_SYMLINK_NOFOLLOW)) {
		error_set(e, -EEXIST, EXIT_OUTPUT, "'%s' exists", made);
		return error_hint(e, "--force replaces it");
	}
	return 0;
}

static int target_name(struct files *f, struct outname_facts *facts, struct session_target *t,
		       struct error *e)
{
	char *made = f->r->made;
	int rc = 0;

	facts->time = f->now;
	if (outname_make(&f->names, facts, 0, made, sizeof(f->r->made)))
		return error_set(e, -ENAMETOOLONG, EXIT_USAGE, "output name too long: '%.100s...'",
				 f->r->output);
	if (f->rendered)
		rc = jfr_name(f, made, e);
	if (rc)
		return rc;
	t->pid = facts->pid;
	t->path = strdup(f->rendered ? f->jfr : made);
	return t->path ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

struct outname_facts recording_facts(const struct jvm_proc *j, char label[CONTAINER_NAME_LEN])
{
	label[0] = '\0';
	if (j->container.kind != CONTAINER_NONE)
		container_label(&j->container, label, CONTAINER_NAME_LEN);
	return (struct outname_facts){.pid = j->id.pid, .main = j->cmd.main, .container = label};
}

static int target_jvm(struct files *f, const struct jvm_proc *j, struct session_target *t,
		      struct error *e)
{
	char label[CONTAINER_NAME_LEN];
	struct outname_facts facts = recording_facts(j, label);

	t->owner = jvm_owner(j);
	return target_name(f, &facts, t, e);
}

/*
 * Names the file of a JVM that starts later. An earlier recording, perhaps of this session, is
 * never replaced.
 */
static int later_name(void *ctx, const struct jvm_proc *j, char *path, size_t cap)
{
	char label[CONTAINER_NAME_LEN], now[OUTNAME_TIME_LEN];
	struct outname_facts facts = recording_facts(j, label);
	const struct files *f = ctx;

	outname_time(now);
	facts.time = now;
	for (unsigned int again = 0; again < AGAIN_MAX; again++) {
		int rc = outname_make(&f->names, &facts, again ? again + 1 : 0, path, cap);

		if (rc || (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT))
			return rc;
	}
	return -EEXIST;
}

static bool is_meant(void *ctx, const struct cgroup_mounts *mounts, const struct jvm_proc *j)
{
	return select_match(ctx, mounts, j);
}

static int targets_find(struct files *f, struct error *e)
{
	struct select_list l;
	int rc = select_all(&f->r->select, &l, e);

	if (rc == -ESRCH && f->r->select.all) {
		log_warn("no JVM yet: waiting for one");
		*e = (struct error){0};
		rc = 0;
	}
	if (!rc && l.n > 1 && !following(f))
		rc = select_several(&l, "choose one with -p, or record all with -o DIRECTORY", e);
	if (!rc && l.n) {
		f->targets = calloc(l.n, sizeof(*f->targets));
		rc = f->targets ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	for (size_t i = 0; i < l.n && !rc; i++)
		rc = target_jvm(f, &l.v[i], &f->targets[i], e);
	f->n = l.n;
	select_free(&l);
	return rc;
}

/* Its pid is not known yet, and may be in no name. */
static int target_launched(struct files *f, struct error *e)
{
	struct outname_facts facts = {.main = f->r->argv[0], .container = ""};

	if (f->names.unique) {
		error_set(e, -EINVAL, EXIT_USAGE, "no %%p in the output of a command: '%s'",
			  f->r->output);
		return error_hint(e, "name a file: -o FILE.jfr");
	}
	f->targets = calloc(1, sizeof(*f->targets));
	f->n = 1;
	if (!f->targets)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	f->targets->owner.uid = GRANTS_ANY;
	return target_name(f, &facts, f->targets, e);
}

static void files_free(struct files *f)
{
	for (size_t i = 0; f->targets && i < f->n; i++)
		free((char *)f->targets[i].path);
	free(f->targets);
}

/* ---- the whole ---- */

/* Where nothing was recorded there is no file. */
static int rendered(struct files *f, struct error *e)
{
	struct recording *r = f->r;
	char *jfr = f->jfr;
	int rc;

	if (access(jfr, F_OK))
		return 0;
	r->render.out = r->made;
	r->render.format = r->format;
	r->render.force = r->cfg.overwrite;
	rc = rendering_run(&r->render, &jfr, 1, basename(r->made), e);
	if (rc)
		log_warn("the recording is kept in '%s'", jfr);
	else if (!r->keep)
		unlink(jfr);
	else if (!r->cfg.quiet)
		fprintf(stderr, "  kept          '%s'\n", jfr);
	return rc;
}

/* What is sent ends behind the session. The first error counts. */
static int session(struct recording *r, int *status, struct error *e)
{
	struct error late = {0};
	struct shipping *ship;
	int rc = shipping_start(&ship, &r->ship, &r->cfg, e), unsent;

	if (rc)
		return rc;
	rc = session_run(&r->cfg, status, e);
	unsent = shipping_finish(ship, r->cfg.quiet, &late);
	if (rc || !unsent)
		return rc;
	if (r->argv) { /* the exit code is the program's */
		log_warn("%s", late.msg);
		return 0;
	}
	*e = late;
	return unsent;
}

static int recorded(struct files *f, int *status, struct error *e)
{
	struct recording *r = f->r;
	struct session_config *cfg = &r->cfg;
	int rc;

	if (!cfg->form.file_max_bytes)
		cfg->form.file_max_bytes = RECORDING_FILE_MAX;
	cfg->threads = r->threads.v;
	cfg->nthreads = r->threads.n;
	if (select_given(&r->select) && following(f)) {
		cfg->follow = is_meant;
		cfg->follow_ctx = &r->select;
		cfg->name = later_name;
		cfg->name_ctx = f;
		r->made[0] = 0;
	}
	if (cfg->follow && cfg->clock == CPU_ENGINE_THREAD) {
		error_set(e, -EINVAL, EXIT_USAGE, "--cpu-engine=thread is for one JVM");
		return error_hint(e, "leave it out: several JVMs are sampled by per-CPU clocks");
	}
	rc = r->argv ? target_launched(f, e) : targets_find(f, e);
	cfg->argv = r->argv;
	cfg->targets = f->targets;
	cfg->ntargets = f->n;
	cfg->becomes = f->rendered ? r->made : NULL;
	return rc ? rc : session(r, status, e);
}

int recording_run(struct recording *r, struct error *e)
{
	struct files f = {.r = r};
	int status = EXIT_OK, rc = format_choose(&f, e);

	if (!rc)
		rc = names_read(&f, e);
	if (!rc)
		rc = pidns_check(e); /* this comes before anything is looked up by a pid */
	if (!rc)
		rc = recorded(&f, &status, e);
	if (!rc && f.rendered)
		rc = rendered(&f, e);
	files_free(&f);
	return rc ? (int)e->exit : status;
}
