/* SPDX-License-Identifier: Apache-2.0 */
#include "target/attributes.h"

#include <string.h>

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void percent_decode(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '%' && hex(s[1]) >= 0 && hex(s[2]) >= 0) {
			*to++ = (char)(hex(s[1]) << 4 | hex(s[2]));
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static bool part_copy(char *to, size_t cap, const char *from, size_t n)
{
	if (!n || n >= cap || memchr(from, 0, n))
		return false;
	memcpy(to, from, n);
	to[n] = '\0';
	return true;
}

bool attribute_copy(struct attribute *a, const char *key, size_t nkey, const char *value,
		    size_t nvalue)
{
	return part_copy(a->key, sizeof(a->key), key, nkey) &&
	       part_copy(a->value, sizeof(a->value), value, nvalue);
}

static bool pair_take(struct attribute *a, const char *p, size_t n)
{
	const char *eq = memchr(p, '=', n);

	if (!eq || !attribute_copy(a, p, (size_t)(eq - p), eq + 1, n - (size_t)(eq + 1 - p)))
		return false;
	percent_decode(a->value);
	return a->value[0];
}

bool attribute_next(const char **text, struct attribute *a)
{
	while (**text) {
		const char *p = *text + strspn(*text, " ");
		size_t n = strcspn(p, ",");

		*text = p + n + (p[n] == ',');
		if (pair_take(a, p, n))
			return true;
	}
	return false;
}

bool attribute_is_known(const char *key)
{
	static const char *const known[] = {
		"service.name",		  "service.namespace",	  "deployment.environment.name",
		"deployment.environment", "container.id",	  "container.name",
		"k8s.cluster.name",	  "k8s.namespace.name",	  "k8s.node.name",
		"k8s.pod.name",		  "k8s.pod.uid",	  "k8s.container.name",
		"k8s.deployment.name",	  "k8s.statefulset.name", "k8s.daemonset.name",
		"k8s.job.name",		  "k8s.cronjob.name",
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(key, known[i]))
			return true;
	return false;
}
