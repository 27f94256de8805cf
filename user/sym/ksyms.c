/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/ksyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"

#define CHUNK	   (256U << 10)
#define NAMES_MAX  (256U << 20)
#define MODULE_MAX 64 /* MODULE_NAME_LEN of the kernel and brackets */

struct ksym {
	uint64_t addr;
	uint32_t name;	 /* offset in names */
	uint32_t module; /* the same, of "(module)"; 0: the kernel */
};

struct ksyms {
	struct ksym *v;
	size_t n, cap;
	struct buffer names; /* begins with "(kernel)" */
	uint32_t last_module;
	bool seen, shown;	   /* some symbol was seen; some address was not 0 */
	uint32_t prog_id, link_id; /* the newest ids when kallsyms was read; 0: not known */
};

static const char kernel_name[] = KLASS_KERNEL;

/* ---- parsing --------------------------------------------------------------------------------- */

static const char *name_at(const struct ksyms *k, uint32_t at)
{
	return (const char *)k->names.data + at;
}

static int name_add(struct ksyms *k, const char *s, size_t len, uint32_t *at)
{
	if (k->names.len + len + 1 > NAMES_MAX)
		return -E2BIG;
	len = strnlen(s, len); /* no NUL within */
	*at = k->names.len;
	buffer_add(&k->names, s, len);
	buffer_byte(&k->names, 0);
	return k->names.failed ? -ENOMEM : 0;
}

/* Symbols of a module come one after another, so only the last name is compared. */
static int module_add(struct ksyms *k, const char *s, size_t len, uint32_t *at)
{
	char module[MODULE_MAX + 1] = "";
	int rc;

	len = strnlen(s, len < MODULE_MAX ? len : MODULE_MAX);
	memcpy(module, s, len);
	frame_klass_round(module, len);
	*at = k->last_module;
	if (!strcmp(name_at(k, k->last_module), module))
		return 0;
	rc = name_add(k, module, len, at);
	if (!rc)
		k->last_module = *at;
	return rc;
}

static int sym_add(struct ksyms *k, const struct ksym *sym)
{
	if (k->n == KSYMS_MAX)
		return -E2BIG;
	if (k->n == k->cap) {
		size_t cap = k->cap ? k->cap * 2 : 4096;
		struct ksym *v = realloc(k->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		k->v = v;
		k->cap = cap;
	}
	k->v[k->n++] = *sym;
	return 0;
}

static const char *scan_addr(const char *p, const char *end, uint64_t *addr)
{
	const char *start = p;
	uint64_t v = 0;

	for (; p < end && p - start < 16; p++) {
		unsigned int c = (unsigned char)*p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (c - 'a' + 10);
		else
			break;
	}
	*addr = v;
	return p > start && p < end && *p == ' ' ? p + 1 : NULL;
}

/* "ADDRESS TYPE NAME[\t[MODULE]]"; what is not code or makes no sense is skipped. */
static int add_line(struct ksyms *k, const char *p, const char *end)
{
	struct ksym sym = {0};
	const char *tab;
	char type;
	int rc;

	p = scan_addr(p, end, &sym.addr);
	if (!p || end - p < 3 || p[1] != ' ')
		return 0;
	type = p[0] & ~0x20;
	p += 2;
	k->seen = true;
	k->shown |= sym.addr != 0;
	if ((type != 'T' && type != 'W') || !sym.addr)
		return 0;
	tab = memchr(p, '\t', end - p);
	rc = name_add(k, p, (tab ? tab : end) - p, &sym.name);
	if (!rc && tab && end - tab > 3)
		rc = module_add(k, tab + 1, end - tab - 1, &sym.module);
	return rc ? rc : sym_add(k, &sym);
}

/* Add the complete lines of a text; *used says how far they reach. */
static int add_text(struct ksyms *k, const char *text, size_t len, size_t *used)
{
	const char *p = text, *nl;
	int rc = 0;

	while (!rc && (nl = memchr(p, '\n', text + len - p))) {
		rc = add_line(k, p, nl);
		p = nl + 1;
	}
	*used = p - text;
	return rc;
}

/* ---- open and free --------------------------------------------------------------------------- */

static int order(const void *a, const void *b, void *arg)
{
	const struct ksym *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* aliases: fewest underscores in front, then the first of the file */
	size_t ux = strspn(name_at(arg, x->name), "_"), uy = strspn(name_at(arg, y->name), "_");

	if (ux != uy)
		return ux < uy ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static struct ksyms *ksyms_new(void)
{
	struct ksyms *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	buffer_add(&k->names, kernel_name, sizeof(kernel_name));
	if (k->names.failed) {
		ksyms_free(k);
		return NULL;
	}
	return k;
}

static int finish(struct ksyms *k)
{
	size_t kept = 0;
	void *p;

	if (k->seen && !k->shown)
		return -EPERM;
	if (!k->n)
		return -ENODATA;
	qsort_r(k->v, k->n, sizeof(*k->v), order, k);
	for (size_t i = 0; i < k->n; i++)
		if (!kept || k->v[kept - 1].addr != k->v[i].addr)
			k->v[kept++] = k->v[i];
	k->n = kept;
	p = realloc(k->v, kept * sizeof(*k->v));
	if (p) {
		k->v = p;
		k->cap = kept;
	}
	p = realloc(k->names.data, k->names.len);
	if (p) {
		k->names.data = p;
		k->names.cap = k->names.len;
	}
	return 0;
}

static int read_all(struct ksyms *k, int fd)
{
	char *buf = malloc(CHUNK);
	size_t have = 0, used;
	ssize_t n = 0;
	int rc = buf ? 0 : -ENOMEM;

	while (!rc && (n = read(fd, buf + have, CHUNK - have)) > 0) {
		have += n;
		rc = add_text(k, buf, have, &used);
		if (!used && have == CHUNK)
			used = have; /* no line is that long */
		memmove(buf, buf + used, have - used);
		have -= used;
	}
	if (!rc && n < 0)
		rc = -errno;
	free(buf);
	return rc;
}

static int open_error(int rc, struct error *e)
{
	if (rc != -EPERM && rc != -EACCES)
		return error_set(e, rc, EXIT_KERNEL, "cannot read '/proc/kallsyms': %s",
				 strerror(-rc));
	error_set(e, rc, EXIT_PERMISSION, "the kernel hides its addresses in '/proc/kallsyms'");
	if (e)
		error_hint(e, "run as root with CAP_SYSLOG, and with kernel.kptr_restrict below 2");
	return rc;
}

/* ---- BPF programs that come later ---- */

static ksyms_programs_fn programs;
static void *programs_ctx;

void ksyms_programs_by(ksyms_programs_fn fn, void *ctx)
{
	programs = fn;
	programs_ctx = ctx;
}

bool ksyms_bpf_changed(const struct ksyms *k)
{
	uint32_t program = k->prog_id, link = k->link_id;

	return !programs || programs(programs_ctx, &program, &link) || program != k->prog_id ||
	       link != k->link_id;
}

static int source = -1;

int ksyms_source(void)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void ksyms_from(int fd)
{
	source = fd;
}

/* Whoever opens it has to be allowed to see addresses, not who reads it. */
static int kallsyms_open(void)
{
	if (source < 0)
		return open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	return lseek(source, 0, SEEK_SET) ? -1 : dup(source);
}

int ksyms_open(struct ksyms **out, struct error *e)
{
	struct ksyms *k = ksyms_new();
	int fd = kallsyms_open(), rc = 0;

	if (!k)
		rc = -ENOMEM;
	else if (fd < 0)
		rc = -errno;
	if (!rc && programs)
		programs(programs_ctx, &k->prog_id, &k->link_id);
	if (!rc)
		rc = read_all(k, fd);
	if (fd >= 0)
		close(fd);
	if (!rc)
		rc = finish(k);
	if (rc) {
		ksyms_free(k);
		return open_error(rc, e);
	}
	*out = k;
	return 0;
}

int ksyms_parse(struct ksyms **out, const char *text, size_t len)
{
	struct ksyms *k = ksyms_new();
	size_t used;
	int rc = k ? add_text(k, text, len, &used) : -ENOMEM;

	if (!rc)
		rc = finish(k);
	if (rc) {
		ksyms_free(k);
		return rc;
	}
	*out = k;
	return 0;
}

void ksyms_free(struct ksyms *k)
{
	if (!k)
		return;
	free(k->v);
	buffer_free(&k->names);
	free(k);
}

/* ---- queries --------------------------------------------------------------------------------- */

int ksyms_lookup(const struct ksyms *k, uint64_t addr, struct frame_name *out)
{
	size_t lo = 0, hi = k->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*out = (struct frame_name){
		.klass = kernel_name,
		.method = "[unknown]",
		.sig = "",
		.line = -1,
		.bci = -1,
		.type = FRAME_KERNEL,
	};
	if (!lo || addr - k->v[lo - 1].addr >= KSYMS_REACH)
		return -ENOENT;
	out->klass = name_at(k, k->v[lo - 1].module);
	out->method = name_at(k, k->v[lo - 1].name);
	return 0;
}

int ksyms_find(const struct ksyms *k, const char *name, uint64_t *addr)
{
	for (size_t i = 0; i < k->n; i++) {
		if (!strcmp(name_at(k, k->v[i].name), name)) {
			*addr = k->v[i].addr;
			return 0;
		}
	}
	return -ENOENT;
}

size_t ksyms_count(const struct ksyms *k)
{
	return k->n;
}

size_t ksyms_bytes(const struct ksyms *k)
{
	return sizeof(*k) + k->cap * sizeof(*k->v) + k->names.cap;
}
