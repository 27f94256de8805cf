/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/filter.h"

#include <errno.h>

#include "base/log.h"
#include "out/format.h"

static struct pattern_list patterns(const struct opt_list *l)
{
	return (struct pattern_list){.v = l->v, .n = l->n};
}

int filter_apply(const struct filter *f, struct profile_options *o, struct error *e)
{
	if (f->to_ns && f->to_ns <= f->from_ns)
		return error_set(e, -EINVAL, EXIT_USAGE, "--to is not after --from");
	o->from_ns = f->from_ns;
	o->to_ns = f->to_ns;
	o->threads = patterns(&f->threads);
	o->states = patterns(&f->states);
	o->include = patterns(&f->include);
	o->exclude = patterns(&f->exclude);
	o->focus = patterns(&f->focus);
	o->hide = patterns(&f->hide);
	return 0;
}

void report_warn(const char *path, const struct jfr_report *r)
{
	uint64_t shown = sizeof(r->problem) / sizeof(r->problem[0]);

	if (r->chunks_unfinished)
		log_info("'%s': %llu of %llu chunks unfinished", path,
			 (unsigned long long)r->chunks_unfinished, (unsigned long long)r->chunks);
	if (r->events_unknown)
		log_info("'%s': %llu events of undeclared types skipped", path,
			 (unsigned long long)r->events_unknown);
	if (!r->problems)
		return;
	if (r->bytes_lost)
		log_warn("'%s' is damaged: %s of %s could not be read", path,
			 format_bytes(r->bytes_lost).s, format_bytes(r->file_size).s);
	for (uint64_t i = 0; i < r->problems && i < shown; i++)
		log_warn("'%s': %s", path, r->problem[i]);
	if (r->problems > shown)
		log_warn("'%s': and %llu more", path, (unsigned long long)(r->problems - shown));
}
