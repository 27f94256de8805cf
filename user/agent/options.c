/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"
#include "agent/stream.h"
#include "agent/str.h"
#include "agent/sys.h"

static uint64_t hex_parse(const char *s, size_t n)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < n && i < 16; i++) {
		char c = s[i];

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return 0;
	}
	return v;
}

static void option_set(struct agent_options *o, const char *key, size_t klen, const char *val,
		       size_t vlen)
{
	if (str_same(key, klen, "session"))
		o->session = hex_parse(val, vlen);
	else if (str_same(key, klen, "stop"))
		o->stop = hex_parse(val, vlen);
	else if (str_same(key, klen, "ring"))
		o->ring = hex_parse(val, vlen);
	else if (str_same(key, klen, "perfmap"))
		o->perfmap = vlen == 1 && val[0] == '1';
	else if (str_same(key, klen, "path")) {
		o->path = val;
		o->path_len = vlen;
	}
}

void options_parse(struct agent_options *o, const char *s)
{
	memset(o, 0, sizeof(*o));
	o->ring = GNA_RING_DEFAULT;
	while (s && *s) {
		size_t len = 0, k = 0;

		while (s[len] && s[len] != ',')
			len++;
		while (k < len && s[k] != '=')
			k++;
		if (k < len)
			option_set(o, s, k, s + k + 1, len - k - 1);
		s += len;
		if (*s)
			s++;
	}
}
