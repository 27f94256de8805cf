/* SPDX-License-Identifier: Apache-2.0 */
/* "START SIZE name\n" in hexadecimal: linux/tools/perf/Documentation/jit-interface.txt. */
#include "agent/agent.h"
#include "agent/str.h"
#include "agent/sys.h"

#define LINE_MAX  768
#define BYTES_MAX (256u << 20) /* of the file: recompilation must not fill a disk */

static int fd = -1;
static uint32_t written;

struct line {
	char text[LINE_MAX];
	size_t len;
};

static void line_char(struct line *l, char c)
{
	if (l->len < LINE_MAX - 1) /* the last place is for the newline */
		l->text[l->len++] = (unsigned char)c < ' ' ? '?' : c;
}

static void line_hex(struct line *l, uint64_t v)
{
	int shift = 60;

	while (shift && !(v >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		line_char(l, "0123456789abcdef"[v >> shift & 15]);
}

/* "Ljava/lang/String;" -> "java.lang.String." */
static void line_class(struct line *l, const char *sig)
{
	size_t n = str_len(sig, LINE_MAX), i;

	if (n < 2)
		return;
	for (i = 1; i + 1 < n; i++)
		line_char(l, sig[i] == '/' ? '.' : sig[i]);
	line_char(l, '.');
}

static void line_decimal(struct line *l, uint32_t v)
{
	char digits[10];
	int n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		line_char(l, digits[--n]);
}

static void line_string(struct line *l, const char *s)
{
	size_t n = str_len(s, LINE_MAX), i;

	for (i = 0; i < n; i++)
		line_char(l, s[i]);
}

int perfmap_open(void)
{
	struct line path = {.len = 0};
	int f;

	if (fd >= 0)
		return 0;
	line_string(&path, "/tmp/perf-");
	line_decimal(&path, sys_getpid());
	line_string(&path, ".map");
	path.text[path.len] = '\0';
	f = sys_open_new(path.text);
	if (f < 0)
		return f;
	if (!sys_is_own_file(f) || sys_truncate(f, 0)) {
		sys_close(f);
		return -1;
	}
	written = 0;
	__atomic_store_n(&fd, f, __ATOMIC_RELEASE);
	return 0;
}

void perfmap_close(void)
{
	int f = __atomic_exchange_n(&fd, -1, __ATOMIC_ACQ_REL);

	if (f >= 0)
		sys_close(f);
}

bool perfmap_wanted(void)
{
	return __atomic_load_n(&fd, __ATOMIC_ACQUIRE) >= 0;
}

void perfmap_add(const void *addr, uint32_t size, const char *klass, const char *name)
{
	struct line l = {.len = 0};
	int f = __atomic_load_n(&fd, __ATOMIC_ACQUIRE);

	line_hex(&l, (uintptr_t)addr);
	line_char(&l, ' ');
	line_hex(&l, size);
	line_char(&l, ' ');
	line_class(&l, klass);
	line_string(&l, name);
	l.text[l.len++] = '\n';
	if (f < 0 || __atomic_add_fetch(&written, l.len, __ATOMIC_RELAXED) > BYTES_MAX)
		return;
	sys_write(f, l.text, l.len);
}
