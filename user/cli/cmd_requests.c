// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>

#include "cli/cmds.h"
#include "cli/filter.h"
#include "out/requests.h"

static struct {
	uint64_t slowest, slower_ns;
	struct instant from, to;
	struct opt_list endpoints, rules, traces, spans, threads;
	bool json;
} o = {.slowest = 10};

static const struct opt opts[] = {
	{OPT_COUNT, 'n', "slowest", "N", "how many of the slowest are told (10)", &o.slowest,
	 .max = 100000},
	{OPT_LIST, 'e', "endpoint", "GLOB", "only requests to such an endpoint", &o.endpoints},
	{OPT_LIST, 0, "endpoint-rule", "RULE", "requests are what is done below such a method",
	 &o.rules},
	{OPT_LIST, 0, "trace", "GLOB", "only requests of such a trace id", &o.traces},
	{OPT_LIST, 0, "span", "GLOB", "only requests with such a local root span", &o.spans},
	{OPT_DURATION, 0, "slower-than", "TIME", "only requests that took TIME or longer: 500ms",
	 &o.slower_ns},
	{OPT_LIST, 't', "thread", "GLOB", "only what threads of such a name did for them",
	 &o.threads},
	FILTER_TIME_OPTS(o),
	{OPT_FLAG, 0, "json", NULL, "print JSON, times in nanoseconds", &o.json},
	{OPT_END},
};

static struct pattern_list patterns(const struct opt_list *l)
{
	return (struct pattern_list){.v = l->v, .n = l->n};
}

static int requests(const char *path, struct error *e)
{
	struct requests_options ro = {
		.which = {.filter = {.endpoints = patterns(&o.endpoints),
				     .traces = patterns(&o.traces),
				     .spans = patterns(&o.spans),
				     .slower_ns = o.slower_ns},
			  .threads = patterns(&o.threads),
			  .rules = patterns(&o.rules)},
		.slowest = (unsigned int)o.slowest,
		.json = o.json,
	};
	struct stretch s;
	int rc = filter_stretch(path, &o.from, &o.to, &s, e);

	if (rc)
		return rc;
	rc = requests_print(&s, &ro, stdout, e);
	stretch_free(&s);
	return rc;
}

static int run(int argc, char **argv, struct error *e)
{
	return filter_one(argc, "requests", e) || requests(argv[0], e) ? (int)e->exit : EXIT_OK;
}

const struct command cmd_requests = {
	.name = "requests",
	.summary = "how long requests took, by endpoint, and what they did meanwhile",
	.usage = "requests FILE.jfr|DIR [options]",
	.examples = "  gnomon requests app.jfr\n"
		    "  gnomon requests app.jfr -e 'GET /cart' --slower-than 500ms\n"
		    "  gnomon requests app.jfr --endpoint-rule 'HttpServlet.service > "
		    "com.shop.*.do*'\n"
		    "  gnomon requests app.jfr --json | jq '.endpoints[] | {endpoint, p99_ns}'\n"
		    "  gnomon requests /var/lib/gnomon/shop-host-4711-* --from -5m\n",
	.notes = "Which request each thread worked for the program's tracer says, or "
		 "gnomon-context.jar.\nWithout these RULE tells of requests by the stacks: METHOD, "
		 "or 'METHOD > CALLED', where\nwhat is done below METHOD is a request, and the "
		 "outermost such CALLED below it its endpoint.\n\n" FILTER_TIME_NOTES,
	.opts = opts,
	.takes = TAKES_RECORDINGS,
	.run = run,
};
