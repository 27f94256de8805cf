/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and stacks to constants: names cleaned, given the JVM's form, and interned. */
#include "jfr/write_impl.h"

#include <string.h>

#include "base/descriptor.h"
#include "jfr/write_enc.h"

#define STACK_MAX_FRAMES 8192

/* The descriptor of what is no Java method, or has no valid one. */
#define NO_DESCRIPTOR "()L;"
#define NO_NAME	      "[unknown]"

static uint32_t intern(struct jfrw *w, enum jfr_type t, const struct buffer *value)
{
	return value->failed ? 0 : pool_intern(w->pools[t], value->data, value->len, w->chunk);
}

static bool constants_full(const struct jfrw *w)
{
	return constants_memory(w) / 2 > w->cfg.constants_max;
}

static uint32_t symbol(struct jfrw *w, const char *s, size_t len)
{
	struct buffer *b = &w->scratch2;

	buffer_clear(b);
	put_symbol(b, s, len);
	return intern(w, JFR_SYMBOL, b);
}

static uint32_t name_symbol(struct jfrw *w, const char *s)
{
	size_t len = s ? strnlen(s, FRAME_NAME_MAX) : 0;

	return len ? symbol(w, s, len) : symbol(w, NO_NAME, strlen(NO_NAME));
}

/* ---- threads --------------------------------------------------------------------------------- */

/* The outermost has no parent. */
static uint32_t thread_group(struct jfrw *w, const char *groups)
{
	struct buffer *b = &w->scratch2;
	uint32_t parent;

	if (!groups || !*groups)
		return 0;
	parent = thread_group(w, groups + strlen(groups) + 1);
	buffer_clear(b);
	put_leb(b, parent);
	put_string(b, groups);
	return intern(w, JFR_THREAD_GROUP, b);
}

uint32_t jfrw_thread(struct jfrw *w, const struct jfrw_thread *t)
{
	struct buffer *b = &w->scratch2;
	uint32_t group;

	if (constants_full(w))
		return 0;
	group = thread_group(w, t->groups);
	buffer_clear(b);
	put_string(b, t->os_name);
	put_leb(b, t->os_tid);
	put_string(b, t->java_name);
	put_leb(b, t->java_tid);
	put_leb(b, group);
	buffer_byte(b, t->is_virtual);
	return intern(w, JFR_THREAD, b);
}

uint32_t jfrw_name(struct jfrw *w, enum jfr_type type, const char *name)
{
	struct buffer *b = &w->scratch2;

	if (!name || constants_full(w))
		return 0;
	buffer_clear(b);
	put_string(b, name);
	return intern(w, type, b);
}

/* ---- methods --------------------------------------------------------------------------------- */

static bool is_java(unsigned int type)
{
	return type <= FRAME_INLINED || type == FRAME_C1;
}

/*
 * "a.Foo" becomes "a/Foo" of the package "a", and of a hidden class "a.Foo$$Lambda/0x1" becomes
 * "a/Foo$$Lambda/0x1", as the JDK writes it since 21 (jfrSymbolTable.cpp). Returns the package's
 * length.
 */
static size_t internal_name(char *name, size_t len)
{
	const char *dot = memrchr(name, '.', len);

	for (size_t i = 0; i < len; i++)
		if (name[i] == '.')
			name[i] = '/';
	return dot ? (size_t)(dot - name) : 0;
}

static uint32_t package(struct jfrw *w, const char *name, size_t len)
{
	uint32_t sym;

	if (!len)
		return 0;
	sym = symbol(w, name, len);
	buffer_clear(&w->scratch2);
	put_leb(&w->scratch2, sym);
	return intern(w, JFR_PACKAGE, &w->scratch2);
}

static uint32_t java_or_library(struct jfrw *w, const struct frame_name *f)
{
	const char *klass = f->klass && f->klass[0] ? f->klass : KLASS_UNKNOWN;
	size_t len = strnlen(klass, FRAME_NAME_MAX);
	char name[FRAME_NAME_MAX];
	uint32_t sym, pkg = 0;

	memcpy(name, klass, len);
	frame_klass_round(name, len);
	if (is_java(f->type)) {
		pkg = package(w, name, internal_name(name, len));
	}
	sym = symbol(w, name, len);
	buffer_clear(&w->scratch2);
	put_leb(&w->scratch2, 0); /* class loader: not known */
	put_leb(&w->scratch2, sym);
	put_leb(&w->scratch2, pkg);
	put_leb(&w->scratch2, 0); /* modifiers */
	buffer_byte(&w->scratch2, 0);
	return intern(w, JFR_CLASS, &w->scratch2);
}

uint32_t jfrw_class(struct jfrw *w, const char *name)
{
	struct frame_name f = {.klass = name, .type = FRAME_JIT};

	return constants_full(w) ? 0 : java_or_library(w, &f);
}

static uint32_t method_intern(struct jfrw *w, const struct frame_name *f)
{
	bool has_sig = is_java(f->type) && descriptor_valid(f->sig) &&
		       strnlen(f->sig, FRAME_NAME_MAX) < FRAME_NAME_MAX;
	const char *sig = has_sig ? f->sig : NO_DESCRIPTOR;
	uint32_t klass = java_or_library(w, f);
	uint32_t name = name_symbol(w, f->method);
	uint32_t descriptor = symbol(w, sig, strlen(sig));

	buffer_clear(&w->scratch2);
	put_leb(&w->scratch2, klass);
	put_leb(&w->scratch2, name);
	put_leb(&w->scratch2, descriptor);
	put_leb(&w->scratch2, f->modifiers);
	buffer_byte(&w->scratch2, f->hidden != 0);
	return intern(w, JFR_METHOD, &w->scratch2);
}

/*
 * Six constants are looked up for a method, so the ids of those that were in this chunk are kept.
 * (In another chunk they are looked up once more, which marks them as used.)
 */
static uint32_t method(struct jfrw *w, const struct frame_name *f)
{
	struct jfrw_method *m = &w->methods[f->method_key & (JFRW_METHODS - 1)];
	uint32_t id;

	if (f->method_key && m->key == f->method_key && m->chunk == w->chunk)
		return m->id;
	id = method_intern(w, f);
	if (f->method_key && id)
		*m = (struct jfrw_method){f->method_key, w->chunk, id};
	return id;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static void frame(struct jfrw *w, struct buffer *b, const struct frame_name *f)
{
	unsigned int type = f->type <= FRAME_C1 ? f->type : FRAME_NATIVE;
	/* -1 takes five bytes, and nobody looks for a bytecode index in native code */
	int32_t bci = !is_java(type) ? 0 : f->bci < 0 ? -1 : f->bci, line = f->line;
	uint8_t bytes[4 * JFR_LEB_MAX];
	size_t n;

	n = leb_encode(bytes, method(w, f));
	n += leb_encode(bytes + n, (uint32_t)(line < 0 ? -1 : line));
	n += leb_encode(bytes + n, (uint32_t)bci);
	n += leb_encode(bytes + n, w->cfg.form.plain ? jfr_frame_type_plain(type) : type);
	buffer_add(b, bytes, n);
}

uint32_t jfrw_stack(struct jfrw *w, const struct frame_name *frames, size_t n, bool truncated)
{
	struct buffer *b = &w->scratch;

	if (constants_full(w))
		return 0;
	if (n > STACK_MAX_FRAMES) {
		n = STACK_MAX_FRAMES;
		truncated = true;
	}
	buffer_clear(b);
	buffer_byte(b, truncated);
	put_leb(b, n);
	for (size_t i = 0; i < n; i++)
		frame(w, b, &frames[i]);
	return intern(w, JFR_STACK_TRACE, b);
}
