/* SPDX-License-Identifier: Apache-2.0 */
#include "out/stackrule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"

static char *trimmed(char *s)
{
	size_t n;

	while (*s == ' ')
		s++;
	n = strlen(s);
	while (n && s[n - 1] == ' ')
		s[--n] = 0;
	return s;
}

/* Names have no '>' in Java but that of "<init>", which no blank precedes. */
int stackrule_parse(struct stackrule *r, const char *text, const char *what, struct error *e)
{
	char *mark;

	r->text = strdup(text);
	if (!r->text)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	mark = strstr(r->text, " > ");
	if (mark) {
		*mark = 0;
		r->callee = trimmed(mark + 3);
	}
	r->frame = trimmed(r->text);
	if (*r->frame && (!mark || *r->callee))
		return 0;
	error_set(e, -EINVAL, EXIT_USAGE, "'%s' is not a rule for %s", text, what);
	return error_hint(e, "give a method's name, or 'METHOD > CALLED'; both may have * and ?");
}

void stackrule_free(struct stackrule *r)
{
	free(r->text);
}

bool stackrule_fits(const char *pattern, const char *method)
{
	return pattern_match(&(struct pattern_list){.v = &pattern, .n = 1}, method);
}
