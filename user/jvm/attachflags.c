/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/attachflags.h"

#include <stdint.h>
#include <string.h>

static void option_apply(struct attach_flags *f, const char *s, size_t n)
{
#define IS(text) (n == sizeof(text) - 1 && !memcmp(s, text, n))
	if (IS("-XX:+DisableAttachMechanism"))
		f->disabled = true;
	else if (IS("-XX:-DisableAttachMechanism"))
		f->disabled = false;
	else if (IS("-XX:+EnableDynamicAgentLoading"))
		f->agents = AGENTS_ALLOWED;
	else if (IS("-XX:-EnableDynamicAgentLoading"))
		f->agents = AGENTS_FORBIDDEN;
#undef IS
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Options in an environment variable: separated by white space, quotes kept together. */
static void words_apply(struct attach_flags *f, const char *s, size_t n)
{
	size_t i = 0;

	while (i < n) {
		size_t start;

		while (i < n && (is_space(s[i]) || s[i] == '"' || s[i] == '\''))
			i++;
		start = i;
		while (i < n && !is_space(s[i]) && s[i] != '"' && s[i] != '\'')
			i++;
		option_apply(f, s + start, i - start);
	}
}

static void environ_apply(struct attach_flags *f, const char *env, size_t len, const char *name)
{
	size_t i = 0, n = strlen(name);

	while (i < len) {
		size_t e = strnlen(env + i, len - i);

		if (e > n && !memcmp(env + i, name, n) && env[i + n] == '=')
			words_apply(f, env + i + n + 1, e - n - 1);
		i += e + 1;
	}
}

static bool word_in(const char *s, size_t n, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == n && !memcmp(s, *list, n))
			return true;
	return false;
}

/* Does the launcher take the next argument as this one's value? */
static bool takes_value(const char *s, size_t n)
{
	static const char *const with[] = {"-cp",
					   "-classpath",
					   "--class-path",
					   "-p",
					   "--module-path",
					   "--upgrade-module-path",
					   "--add-modules",
					   "--add-reads",
					   "--add-exports",
					   "--add-opens",
					   "--limit-modules",
					   "--patch-module",
					   "--enable-native-access",
					   "--source",
					   "-d",
					   "--describe-module",
					   NULL};

	return word_in(s, n, with);
}

/* What comes behind is for the program. */
static bool ends_options(const char *s, size_t n)
{
	static const char *const last[] = {"-jar", "-m", "--module", NULL};

	return !n || (s[0] != '-' && s[0] != '@') || word_in(s, n, last);
}

static void cmdline_apply(struct attach_flags *f, const char *s, size_t len)
{
	size_t i = strnlen(s, len) + 1; /* the program's name */

	while (i < len) {
		size_t n = strnlen(s + i, len - i);

		if (ends_options(s + i, n))
			return;
		option_apply(f, s + i, n);
		if (takes_value(s + i, n)) {
			i += n + 1;
			n = i < len ? strnlen(s + i, len - i) : 0;
		}
		i += n + 1;
	}
}

void attachflags_parse(struct attach_flags *f, const char *cmdline, size_t cmdline_len,
		       const char *environ, size_t environ_len)
{
	*f = (struct attach_flags){0};
	environ_apply(f, environ, environ_len, "JAVA_TOOL_OPTIONS");
	environ_apply(f, environ, environ_len, "JDK_JAVA_OPTIONS"); /* the launcher puts it first */
	cmdline_apply(f, cmdline, cmdline_len);
	environ_apply(f, environ, environ_len, "_JAVA_OPTIONS");
}

struct perf_prologue {
	unsigned char magic[4];
	uint8_t byte_order, major, minor, accessible;
	int32_t used, overflow;
	int64_t modified;
	int32_t entry_offset, entries;
};

struct perf_entry {
	int32_t length, name_offset, vector_length;
	uint8_t type, flags, units, variability;
	int32_t data_offset;
};

static bool entry_ok(const struct perf_entry *e, size_t room)
{
	return e->length >= (int32_t)sizeof(*e) && (size_t)e->length <= room &&
	       e->name_offset >= 0 && e->name_offset < e->length && e->data_offset >= 0 &&
	       e->data_offset < e->length;
}

int attachflags_perfdata(const unsigned char *p, size_t len)
{
	static const char name[] = "sun.rt.jvmCapabilities";
	static const unsigned char magic[4] = {0xca, 0xfe, 0xc0, 0xc0};
	struct perf_prologue h;
	size_t at;
	int32_t i;

	if (len < sizeof(h))
		return -1;
	memcpy(&h, p, sizeof(h));
	if (memcmp(h.magic, magic, 4) ||
	    h.byte_order != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))
		return -1;
	at = (size_t)(uint32_t)h.entry_offset;
	for (i = 0; i < h.entries && i < 65536; i++) {
		struct perf_entry e;

		if (at >= len || len - at < sizeof(e))
			return -1;
		memcpy(&e, p + at, sizeof(e));
		if (!entry_ok(&e, len - at))
			return -1;
		if ((size_t)(e.length - e.name_offset) >= sizeof(name) &&
		    !memcmp(p + at + e.name_offset, name, sizeof(name)))
			return p[at + (size_t)e.data_offset] == '1';
		at += (size_t)e.length;
	}
	return -1;
}
