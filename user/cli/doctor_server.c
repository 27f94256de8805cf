/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a server takes profiles: an empty one is sent, as others would be. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor.h"
#include "cli/pushing.h"
#include "out/format.h"
#include "push/parts.h"

static int empty_put(const struct pushing *p, const struct protocol *protocol, struct spool *to,
		     struct error *e)
{
	struct labels labels = {0};
	struct parts u = {.protocol = protocol, .labels = &labels, .to = to};
	int rc = pushing_labels(p, "gnomon", &labels, e);

	if (!rc && parts_probe(&u))
		rc = error_set(e, -EIO, EXIT_OUTPUT, "cannot make a profile to try with");
	labels_free(&labels);
	return rc;
}

/* Until there is an answer, or none. */
static void answer_await(struct sender *s)
{
	sender_finish(s);
	while (!s->last[0] && sender_listen(s, true))
		;
}

static void answer_tell(struct doctor *d, const struct sender *s, const char *what)
{
	const struct sender_counts *c = &s->counts;
	struct check *made;

	if (c->sent) {
		doctor_add(d, CHECK_OK, EXIT_OK, "takes profiles", "an empty one by %s, %s in %s",
			   what, format_bytes(c->sent_bytes).s, format_ns(c->sent_ns).s);
		return;
	}
	made = doctor_add(d, CHECK_MISSING, EXIT_OUTPUT, "takes profiles", "%s",
			  s->last[0] ? s->last : "no answer");
	doctor_remedy(made, "%s", pushing_remedy(s));
}

int doctor_server(struct doctor *d, const struct pushing *options, struct error *e)
{
	struct pushing p = *options;
	const struct protocol *protocol = pushing_protocol(&p.url, false);
	struct sender s = {.in = -1, .out = -1};
	struct destination to = {0};
	struct pushing_spool spool = {0};
	int rc;

	p.finish_ns = p.timeout_ns;
	p.spool = NULL;
	rc = pushing_destination(&p, &to, e);
	if (!rc)
		rc = pushing_spool_open(&p, &spool, e);
	if (!rc)
		rc = empty_put(&p, protocol, spool.s, e);
	if (!rc)
		rc = sender_start(&s, spool.s, &to, e);
	if (!rc) {
		s.quiet = true;
		answer_await(&s);
		doctor_group(d, "%s", p.url);
		answer_tell(d, &s, protocol->path);
	}
	sender_end(&s);
	pushing_spool_close(&spool);
	destination_free(&to);
	return rc;
}
