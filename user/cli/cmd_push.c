/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/cmds.h"
#include "cli/filter.h"
#include "cli/podding.h"
#include "cli/pushing.h"
#include "out/format.h"
#include "push/limits.h"
#include "push/otlp.h"
#include "push/pods.h"
#include "push/service.h"

static struct {
	struct pushing to;
	struct podding pods;
	struct filter filter;
	struct opt_list dims;
	uint64_t window_ns;
	bool by_thread;
	int protocol;
} o = {.to = PUSHING_INIT, .window_ns = 15000000000};

enum { PROTOCOL_PYROSCOPE, PROTOCOL_OTLP };

static const struct opt opts[] = {
	{OPT_STRING, 0, "to", "URL", "the server, such as http://pyroscope:4040", &o.to.url},
	{OPT_ENUM, 0, "protocol", "NAME", "pyroscope, or otlp for an OpenTelemetry collector",
	 &o.protocol, .choices = {"pyroscope", "otlp"}},
	{OPT_LIST, 'D', "dim", "DIM", "cpu, wall or off alone; may be repeated (all three)",
	 &o.dims},
	{OPT_DURATION, 0, "window", "TIME", "the time that one profile covers (15s)", &o.window_ns,
	 .min = 1000000000, .max = 3600000000000, .bare = true},
	{OPT_FLAG, 0, "by-thread", NULL, "a label for each thread, not only for its group",
	 &o.by_thread},
	{OPT_DURATION, 0, "max-age", "TIME", "do not send what is older; 0 sends all (1h)",
	 &o.to.max_age_ns, .bare = true},
	PODDING_OPTS(o.pods),
	PUSHING_OPTS(o.to),
	{OPT_STRING, 0, "spool", "DIR", "keep there what could not be sent, and send it next time",
	 &o.to.spool},
	{OPT_SIZE, 0, "spool-size", "SIZE", "at most SIZE of it, the oldest goes first (256m)",
	 &o.to.spool_cap, .min = 1 << 20},
	FILTER_SAMPLE_OPTS(o.filter),
	{OPT_END},
};

struct push {
	struct destination to;
	struct pushing_spool spool;
	struct sender sender;
	struct parts made; /* of the recording at hand; counts are of all */
	struct pods_source from;
	struct podwatch pods; /* of the answer; nobody is asked again */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

static void signals_take(void)
{
	struct sigaction sa = {.sa_handler = on_signal}; /* no SA_RESTART: what waits is to end */

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
}

static int dims_take(struct series_form *f, struct error *e)
{
	for (int d = 0; d < DIMS; d++)
		f->dims[d] = !o.dims.n;
	for (size_t i = 0; i < o.dims.n; i++) {
		int d = 0;

		while (dim_names[d] && strcmp(dim_names[d], o.dims.v[i]) != 0)
			d++;
		if (d == DIMS)
			return error_set(e, -EINVAL, EXIT_USAGE,
					 "'%s' is none of cpu, wall and off", o.dims.v[i]);
		f->dims[d] = true;
	}
	return 0;
}

static int series_take(void *ctx, const struct series *s)
{
	struct push *u = ctx;
	int rc = interrupted ? -EINTR : parts_take(&u->made, s);

	sender_wake(&u->sender);
	sender_listen(&u->sender, false);
	return rc;
}

static int profile_push(struct push *u, const struct profile *p, const char *path, struct error *e)
{
	struct series_form form = {
		.window_ns = o.window_ns,
		.apart = u->made.protocol->apart,
		.ticks = u->made.protocol->ticks,
	};
	int rc = dims_take(&form, e);

	if (rc)
		return rc;
	u->made.p = p;
	rc = series_each(p, &form, series_take, u);
	if (rc == -E2BIG) {
		error_set(e, rc, EXIT_INPUT, "'%s' is longer than %d windows", path,
			  SERIES_WINDOWS_MOST);
		return error_hint(e, "a longer --window makes fewer");
	}
	return rc && rc != -EINTR ? error_set(e, rc, EXIT_OUTPUT,
					      "cannot keep what is to be sent: %s", strerror(-rc))
				  : rc;
}

static int recording_push(struct push *u, const char *path, struct error *e)
{
	struct profile_options po = {
		.keep_times = true,
		.keep_links = !o.to.no_spans,
		.keep_files = u->made.protocol->files,
	};
	struct labels labels = {0};
	struct profile *p = NULL;
	struct jfr_report r;
	struct stretch s;
	char service[SERVICE_LEN];
	int rc = stretch_open(&s, path, e);

	filter_apply(&o.filter, &po);
	if (!rc)
		rc = service_of_recording(&s, service, &labels, e);
	if (!rc && pods_label(&u->pods.table, &labels))
		rc = error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	if (!rc)
		rc = pushing_labels(&o.to, service, &labels, e);
	if (!rc)
		rc = profile_take(&p, &po, &s, &r, e);
	if (!rc) {
		report_warn(path, &r);
		filter_nothing_warn(&o.filter, p);
		filter_idle_note(p);
		u->made.labels = &labels;
		rc = profile_push(u, p, path, e);
	}
	profile_free(p);
	labels_free(&labels);
	stretch_free(&s);
	return rc;
}

/* What is left in the end, and why. */
static int unsent(const struct push *u, struct error *e)
{
	const struct sender_counts *c = &u->sender.counts;
	uint64_t n = c->refused + c->old + c->left;

	if (!c->complete)
		return interrupted
			       ? error_set(e, -EINTR, EXIT_OUTPUT, "interrupted")
			       : error_set(e, -EIO, EXIT_INTERNAL, "gnomon-send has ended early");
	if (!n)
		return 0;
	error_set(e, -EIO, EXIT_OUTPUT,
		  "%s of %s profiles not taken: %s refused, %s too old, %s %s", format_count(n).s,
		  format_count(n + c->sent).s, format_count(c->refused).s, format_count(c->old).s,
		  format_count(c->left).s, u->spool.own[0] ? "given up" : "kept in the spool");
	if ((c->left || c->refused) && u->sender.last[0])
		return error_hint(e, "%s", pushing_remedy(&u->sender)); /* why was told before */
	if (c->old)
		return error_hint(e,
				  "Pyroscope takes what is at most an hour old; --max-age 0 sends "
				  "all the same");
	return -EIO;
}

static int finish(struct push *u, int rc, struct error *e)
{
	struct sender_counts *c = &u->sender.counts;
	struct spool_lost lost = spool_lost(u->spool.s);

	sender_finish(&u->sender);
	while (!rc && !interrupted && sender_listen(&u->sender, true))
		;
	if (!rc || interrupted)
		rc = unsent(u, e);
	if (!rc || c->sent)
		fprintf(stderr, "sent %s profiles, %s samples, %s\n", format_count(c->sent).s,
			format_count(c->sent_samples).s, format_bytes(c->sent_bytes).s);
	if (u->made.too_large)
		log_warn("%s samples were larger than any profile may be",
			 format_count(u->made.too_large).s);
	if (lost.payloads)
		log_warn("the spool was full: %s profiles with %s samples were lost",
			 format_count(lost.payloads).s, format_count(lost.samples).s);
	return rc;
}

static int pods_ask(struct push *u, struct error *e)
{
	bool wanted = false;
	int rc = podding_source(&o.pods, o.to.timeout_ns, &u->from, &wanted, e);

	podwatch_init(&u->pods, !rc && wanted ? &u->from : NULL);
	if (!rc)
		podwatch_await(&u->pods);
	return rc;
}

static int push(struct push *u, char **files, int n, struct error *e)
{
	const struct protocol *protocol = pushing_protocol(&o.to.url, o.by_thread);
	int rc = pushing_destination(&o.to, &u->to, e);

	if (!rc)
		rc = pods_ask(u, e);
	if (!rc)
		rc = pushing_spool_open(&o.to, &u->spool, e);
	if (!rc)
		rc = sender_start(&u->sender, u->spool.s, &u->to, e);
	if (rc)
		return rc;
	u->made.to = u->spool.s;
	u->made.protocol = o.protocol == PROTOCOL_OTLP ? &otlp : protocol;
	signals_take();
	for (int i = 0; i < n && !rc; i++)
		rc = recording_push(u, files[i], e);
	return finish(u, rc, e);
}

static int run(int argc, char **argv, struct error *e)
{
	struct push u = {.sender = {.in = -1, .out = -1}, .pods = {.out = -1}};
	int rc;

	if (!argc && !o.to.spool) {
		error_set(e, -EINVAL, EXIT_USAGE, "no recording given");
		error_hint(e, "usage: gnomon push FILE.jfr ... --to URL");
		return EXIT_USAGE;
	}
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "-")) {
			error_set(e, -EINVAL, EXIT_USAGE, "push reads the recording twice");
			error_hint(e, "name a file instead of '-'");
			return EXIT_USAGE;
		}
	rc = push(&u, argv, argc, e);
	sender_end(&u.sender);
	pushing_spool_close(&u.spool);
	destination_free(&u.to);
	podwatch_free(&u.pods);
	podding_end(&u.from);
	return rc ? (int)e->exit : EXIT_OK;
}

const struct command cmd_push = {
	.name = "push",
	.summary = "send recordings to Grafana Pyroscope or an OpenTelemetry collector",
	.usage = "push FILE.jfr ... --to URL [options]",
	.examples = "  gnomon push app.jfr --to http://localhost:4040\n"
		    "  gnomon push app.jfr --to http://pyroscope:4040 --service shop -l env=test\n"
		    "  gnomon push app.jfr --to https://profiles.example.com --basic "
		    "/etc/gnomon/login\n"
		    "  gnomon push app.jfr --to http://collector:4318 --protocol otlp\n"
		    "  gnomon push --spool /var/spool/gnomon --to http://pyroscope:4040 # what was "
		    "left\n",
	.notes = "CPU time becomes process_cpu, wall time wall, and time off the CPU off_cpu; "
		 "thread "
		 "groups\nand states are labels. Reads recordings of any producer. Nothing needs "
		 "root.\n\n" FILTER_NOTES,
	.opts = opts,
	.takes = TAKES_RECORDINGS,
	.run = run,
};
