/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void doctor_group(struct doctor *d, const char *fmt, ...)
{
	char **p = realloc(d->groups, (d->groups_n + 1) * sizeof(*p));
	va_list ap;
	int n;

	if (p)
		d->groups = p;
	va_start(ap, fmt);
	n = p ? vasprintf(&p[d->groups_n], fmt, ap) : -1;
	va_end(ap);
	if (n < 0)
		d->failed = true;
	else
		d->groups_n++;
}

struct check *doctor_add(struct doctor *d, enum check_status status, enum exit_code fatal,
			 const char *name, const char *fmt, ...)
{
	static struct check spare;
	struct check *v = realloc(d->v, (d->n + 1) * sizeof(*v)), *c;
	va_list ap;

	if (!v) {
		d->failed = true;
		return &spare;
	}
	d->v = v;
	c = &v[d->n++];
	*c = (struct check){
		.group = d->groups_n ? d->groups[d->groups_n - 1] : "",
		.status = status,
		.fatal = fatal,
	};
	snprintf(c->name, sizeof(c->name), "%s", name);
	va_start(ap, fmt);
	vsnprintf(c->value, sizeof(c->value), fmt, ap);
	va_end(ap);
	return c;
}

void doctor_remedy(struct check *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->remedy, sizeof(c->remedy), fmt, ap);
	va_end(ap);
}

void doctor_free(struct doctor *d)
{
	for (size_t i = 0; i < d->groups_n; i++)
		free(d->groups[i]);
	free(d->groups);
	free(d->v);
	*d = (struct doctor){0};
}
