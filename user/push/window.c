/* SPDX-License-Identifier: Apache-2.0 */
#include "push/window.h"

#include <errno.h>
#include <string.h>

#include "push/pods.h"
#include "push/service.h"

static int destination_fill(const struct window_to *to, const struct profile *p,
			    const struct labels *labels, struct window_counts *c, size_t i)
{
	const struct series_form form = {
		.dims = {true, true, true},
		.apart = to->protocol->apart,
		.ticks = to->protocol->ticks,
	};
	struct parts u = {.protocol = to->protocol, .p = p, .labels = labels, .to = to->spool};
	uint64_t before = spool_lost(to->spool).payloads;
	int rc = series_each(p, &form, parts_take, &u);

	c->made[i] += u.payloads;
	c->large[i] += u.too_large;
	c->no_room[i] += spool_lost(to->spool).payloads - before + (rc != 0);
	return rc;
}

static int profile_read(const struct window_form *f, const struct stretch *s, struct profile **p,
			struct error *e)
{
	struct profile_options po = {
		.keep_times = true,
		.keep_links = f->links,
		.keep_files = f->files,
		.no_facts = true,
	};

	return profile_take(p, &po, s, NULL, e);
}

int window_push(const struct window_form *f, const struct stretch *s, struct window_counts *c,
		struct error *e)
{
	char service[SERVICE_LEN];
	struct labels labels = {0};
	struct profile *p = NULL;
	int rc = service_of_recording(s, service, &labels, e);

	if (!rc && (pods_label(f->pods, &labels) || f->label(f->ctx, service, &labels)))
		rc = error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	if (!rc)
		rc = profile_read(f, s, &p, e);
	for (size_t i = 0; i < f->n && !rc; i++) {
		int why = destination_fill(&f->to[i], p, &labels, c, i);

		if (why)
			error_set(e, why, EXIT_OUTPUT, "cannot keep what is to be sent: %s",
				  strerror(-why));
	}
	profile_free(p);
	labels_free(&labels);
	return rc;
}
