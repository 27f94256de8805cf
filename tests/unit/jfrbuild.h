/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds small recordings byte by byte, from the format's description and not with the project's
 * writer, so that the reader is checked against something else. Sizes are padded to four bytes as
 * the JDK does it.
 */
#ifndef GNOMON_TESTS_JFRBUILD_H
#define GNOMON_TESTS_JFRBUILD_H

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

enum {
	T_INT = 4,
	T_LONG = 5,
	T_STRING = 6,
	T_BOOL = 7,
	T_FLOAT = 8,
	T_THREAD = 20,
	T_STACK = 21,
	T_FRAME = 22,
	T_METHOD = 23,
	T_CLASS = 24,
	T_SYMBOL = 25,
	T_FTYPE = 26,
	T_STATE = 27,
	T_EXEC = 30,
	T_WALL = 31,
	T_SETTING = 32,
	T_MISC = 33,
};

struct jb {
	struct buffer f;    /* the file */
	size_t chunk;	    /* where the chunk begins */
	size_t meta, cp;    /* relative to it, 0 if none */
	size_t event;	    /* where the event at hand begins */
	struct buffer tree; /* elements of the metadata */
	const char *text[512];
	int ntext;
};

static inline void jb_be(struct buffer *b, uint64_t v, int n)
{
	while (n--)
		buffer_byte(b, (uint8_t)(v >> 8 * n));
}

static inline void jb_var(struct buffer *b, uint64_t v)
{
	for (int i = 0; i < 8 && v >= 0x80; i++, v >>= 7)
		buffer_byte(b, (uint8_t)(v | 0x80));
	buffer_byte(b, (uint8_t)v);
}

static inline void jb_utf8(struct buffer *b, const char *s)
{
	buffer_byte(b, 3);
	jb_var(b, strlen(s));
	buffer_add(b, s, strlen(s));
}

static inline void jb_chunk(struct jb *j)
{
	static const uint8_t zero[68];

	j->chunk = j->f.len;
	j->meta = j->cp = 0;
	buffer_add(&j->f, zero, sizeof(zero));
}

/* 1 GHz ticks, ticks 1000 are second 1700000000, 10 s long. */
static inline void jb_finish(struct jb *j)
{
	struct buffer h = BUFFER_INIT;

	buffer_add(&h, "FLR\0", 4);
	jb_be(&h, 2, 2);
	jb_be(&h, 1, 2);
	jb_be(&h, j->f.len - j->chunk, 8);
	jb_be(&h, j->cp, 8);
	jb_be(&h, j->meta, 8);
	jb_be(&h, 1700000000000000000ULL, 8);
	jb_be(&h, 10000000000ULL, 8);
	jb_be(&h, 1000, 8);
	jb_be(&h, 1000000000, 8);
	jb_be(&h, 0, 1);
	jb_be(&h, 0, 1);
	jb_be(&h, 1, 2);
	memcpy(j->f.data + j->chunk, h.data, 68);
	buffer_free(&h);
}

static inline void jb_begin(struct jb *j, int type)
{
	j->event = j->f.len;
	jb_be(&j->f, 0, 4);
	jb_var(&j->f, (uint64_t)type);
}

static inline void jb_end(struct jb *j)
{
	size_t n = j->f.len - j->event;
	uint8_t *p = j->f.data + j->event;

	for (int i = 0; i < 4; i++, n >>= 7)
		p[i] = (uint8_t)((n & 0x7f) | (i < 3 ? 0x80 : 0));
}

/* ---- metadata ---- */

static inline int jb_text(struct jb *j, const char *s)
{
	for (int i = 0; i < j->ntext; i++)
		if (!strcmp(j->text[i], s))
			return i;
	j->text[j->ntext] = s;
	return j->ntext++;
}

/* An element with its attributes: key, value, ..., NULL; then `children` follow. */
static inline void jb_element(struct jb *j, int children, const char *name, ...)
{
	const char *kv[16];
	int n = 0;
	va_list ap;

	va_start(ap, name);
	while ((kv[n] = va_arg(ap, const char *)))
		n++;
	va_end(ap);
	jb_var(&j->tree, (uint64_t)jb_text(j, name));
	jb_var(&j->tree, (uint64_t)n / 2);
	for (int i = 0; i < n; i++)
		jb_var(&j->tree, (uint64_t)jb_text(j, kv[i]));
	jb_var(&j->tree, (uint64_t)children);
}

static inline void jb_class(struct jb *j, const char *name, const char *id, int fields, bool event)
{
	if (event)
		jb_element(j, fields, "class", "name", name, "id", id, "superType", "jdk.jfr.Event",
			   NULL);
	else
		jb_element(j, fields, "class", "name", name, "id", id, NULL);
}

static inline void jb_field(struct jb *j, const char *name, const char *cls)
{
	jb_element(j, 0, "field", "name", name, "class", cls, NULL);
}

static inline void jb_ref(struct jb *j, const char *name, const char *cls)
{
	jb_element(j, 0, "field", "name", name, "class", cls, "constantPool", "true", NULL);
}

static inline void jb_events_declare(struct jb *j)
{
	jb_class(j, "jdk.ExecutionSample", "30", 4, true);
	jb_field(j, "startTime", "5");
	jb_ref(j, "sampledThread", "20");
	jb_ref(j, "stackTrace", "21");
	jb_ref(j, "state", "27");
	jb_class(j, "profiler.WallClockSample", "31", 6, true);
	jb_field(j, "startTime", "5");
	jb_ref(j, "sampledThread", "20");
	jb_ref(j, "stackTrace", "21");
	jb_ref(j, "state", "27");
	jb_field(j, "samples", "4");
	jb_field(j, "timeSpan", "5");
	jb_class(j, "jdk.ActiveSetting", "32", 4, true);
	jb_field(j, "startTime", "5");
	jb_field(j, "id", "5");
	jb_field(j, "name", "6");
	jb_field(j, "value", "6");
	jb_class(j, "test.Misc", "33", 5, true);
	jb_field(j, "startTime", "5");
	jb_field(j, "text", "6");
	jb_field(j, "flag", "7");
	jb_field(j, "ratio", "8");
	jb_element(j, 0, "field", "name", "list", "class", "4", "dimension", "1", NULL);
}

static inline void jb_classes_declare(struct jb *j)
{
	jb_class(j, "int", "4", 0, false);
	jb_class(j, "long", "5", 0, false);
	jb_class(j, "java.lang.String", "6", 0, false);
	jb_class(j, "boolean", "7", 0, false);
	jb_class(j, "float", "8", 0, false);
	jb_class(j, "java.lang.Thread", "20", 4, false);
	jb_field(j, "osName", "6");
	jb_field(j, "osThreadId", "5");
	jb_field(j, "javaName", "6");
	jb_field(j, "javaThreadId", "5");
	jb_class(j, "jdk.types.StackTrace", "21", 2, false);
	jb_field(j, "truncated", "7");
	jb_element(j, 0, "field", "name", "frames", "class", "22", "dimension", "1", NULL);
	jb_class(j, "jdk.types.StackFrame", "22", 4, false);
	jb_ref(j, "method", "23");
	jb_field(j, "lineNumber", "4");
	jb_field(j, "bytecodeIndex", "4");
	jb_ref(j, "type", "26");
	jb_class(j, "jdk.types.Method", "23", 3, false);
	jb_ref(j, "type", "24");
	jb_ref(j, "name", "25");
	jb_field(j, "hidden", "7");
	jb_class(j, "java.lang.Class", "24", 1, false);
	jb_ref(j, "name", "25");
	jb_class(j, "jdk.types.Symbol", "25", 1, false);
	jb_field(j, "string", "6");
	jb_class(j, "jdk.types.FrameType", "26", 1, false);
	jb_field(j, "description", "6");
	jb_class(j, "jdk.types.ThreadState", "27", 1, false);
	jb_field(j, "name", "6");
}

#define JB_CLASSES 17

/* Then come `classes` of them. */
static inline void jb_metadata_begin(struct jb *j, int classes)
{
	buffer_clear(&j->tree);
	j->ntext = 0;
	jb_element(j, 1, "root", NULL);
	jb_element(j, classes, "metadata", NULL);
}

static inline void jb_metadata_end(struct jb *j)
{
	j->meta = j->f.len - j->chunk;
	jb_begin(j, 0);
	jb_var(&j->f, 1000); /* start, duration, id */
	jb_var(&j->f, 0);
	jb_var(&j->f, 1);
	jb_var(&j->f, (uint64_t)j->ntext);
	for (int i = 0; i < j->ntext; i++)
		jb_utf8(&j->f, j->text[i]);
	buffer_add(&j->f, j->tree.data, j->tree.len);
	jb_end(j);
}

static inline void jb_metadata(struct jb *j)
{
	jb_metadata_begin(j, JB_CLASSES);
	jb_classes_declare(j);
	jb_events_declare(j);
	jb_metadata_end(j);
}

/* ---- constants: a checkpoint, one pool per call of jb_pool() ---- */

static inline void jb_checkpoint(struct jb *j, int pools)
{
	size_t at = j->f.len - j->chunk;
	uint64_t delta = j->cp ? (uint64_t)j->cp - at : 0; /* negative: nine bytes */

	j->cp = at;
	jb_begin(j, 1);
	jb_var(&j->f, 1000);
	jb_var(&j->f, 0);
	jb_var(&j->f, delta);
	buffer_byte(&j->f, 1);
	jb_var(&j->f, (uint64_t)pools);
}

static inline void jb_pool(struct jb *j, int type, int n)
{
	jb_var(&j->f, (uint64_t)type);
	jb_var(&j->f, (uint64_t)n);
}

static inline void jb_named(struct jb *j, uint64_t key, const char *s)
{
	jb_var(&j->f, key);
	jb_utf8(&j->f, s);
}

static inline void jb_frame(struct jb *j, int method, int line, int type)
{
	jb_var(&j->f, (uint64_t)method);
	jb_var(&j->f, (uint64_t)line);
	jb_var(&j->f, 0);
	jb_var(&j->f, (uint64_t)type);
}

/*
 * Threads 1 "main" and 2 "worker-7"; methods 1 a.B.run, 2 a.B.work, 3 a.B.park; stacks (leaf first)
 * 1 work<-run, 2 park<-run, 3 work<-work<-run truncated; states 1 DEFAULT, 2 PARKED.
 */
static inline void jb_constants(struct jb *j)
{
	jb_checkpoint(j, 7);
	jb_pool(j, T_THREAD, 2);
	for (int i = 1; i <= 2; i++) {
		jb_var(&j->f, (uint64_t)i);
		jb_utf8(&j->f, "os");
		jb_var(&j->f, (uint64_t)(100 + i));
		jb_utf8(&j->f, i == 1 ? "main" : "worker-7");
		jb_var(&j->f, (uint64_t)i);
	}
	jb_pool(j, T_STATE, 2);
	jb_named(j, 1, "STATE_DEFAULT");
	jb_named(j, 2, "STATE_PARKED");
	jb_pool(j, T_FTYPE, 2);
	jb_named(j, 0, "Interpreted");
	jb_named(j, 1, "JIT compiled");
	jb_pool(j, T_SYMBOL, 4);
	jb_named(j, 1, "a/B");
	jb_named(j, 2, "run");
	jb_named(j, 3, "work");
	jb_named(j, 4, "park");
	jb_pool(j, T_CLASS, 1);
	jb_var(&j->f, 1);
	jb_var(&j->f, 1);
	jb_pool(j, T_METHOD, 3);
	for (int i = 1; i <= 3; i++) {
		jb_var(&j->f, (uint64_t)i);
		jb_var(&j->f, 1);
		jb_var(&j->f, (uint64_t)(i + 1));
		buffer_byte(&j->f, 0);
	}
	jb_pool(j, T_STACK, 3);
	jb_var(&j->f, 1);
	buffer_byte(&j->f, 0);
	jb_var(&j->f, 2);
	jb_frame(j, 2, 20, 1);
	jb_frame(j, 1, 10, 0);
	jb_var(&j->f, 2);
	buffer_byte(&j->f, 0);
	jb_var(&j->f, 2);
	jb_frame(j, 3, 30, 1);
	jb_frame(j, 1, 10, 0);
	jb_var(&j->f, 3);
	buffer_byte(&j->f, 1);
	jb_var(&j->f, 3);
	jb_frame(j, 2, 21, 1);
	jb_frame(j, 2, 22, 1);
	jb_frame(j, 1, 10, 0);
	jb_end(j);
}

/* ---- events ---- */

static inline void jb_exec(struct jb *j, uint64_t ticks, int thread, int stack)
{
	jb_begin(j, T_EXEC);
	jb_var(&j->f, ticks);
	jb_var(&j->f, (uint64_t)thread);
	jb_var(&j->f, (uint64_t)stack);
	jb_var(&j->f, 1);
	jb_end(j);
}

static inline void jb_wall(struct jb *j, uint64_t ticks, int thread, int stack, int samples,
			   uint64_t span)
{
	jb_begin(j, T_WALL);
	jb_var(&j->f, ticks);
	jb_var(&j->f, (uint64_t)thread);
	jb_var(&j->f, (uint64_t)stack);
	jb_var(&j->f, 2);
	jb_var(&j->f, (uint64_t)samples);
	jb_var(&j->f, span);
	jb_end(j);
}

static inline void jb_setting(struct jb *j, int type, const char *name, const char *value)
{
	jb_begin(j, T_SETTING);
	jb_var(&j->f, 1000);
	jb_var(&j->f, (uint64_t)type);
	jb_utf8(&j->f, name);
	jb_utf8(&j->f, value);
	jb_end(j);
}

/* An event of an application's own: declared and written only where asked for. */
static inline void jb_request_declare(struct jb *j)
{
	jb_class(j, "app.Request", "34", 4, true);
	jb_field(j, "startTime", "5");
	jb_field(j, "duration", "5");
	jb_ref(j, "eventThread", "20");
	jb_field(j, "endpoint", "6");
}

static inline void jb_request(struct jb *j, uint64_t ticks, uint64_t duration, int thread,
			      const char *endpoint)
{
	jb_begin(j, 34);
	jb_var(&j->f, ticks);
	jb_var(&j->f, duration);
	jb_var(&j->f, (uint64_t)thread);
	jb_utf8(&j->f, endpoint);
	jb_end(j);
}

/*
 * The sample recording: CPU every 10 ms, wall every 20 ms, settings behind the samples as the JDK
 * may put them. CPU: main 3 x stack 1, worker 1 x stack 3. Wall: worker 5 ticks in stack 2.
 */
static inline void jb_sample_chunk(struct jb *j)
{
	jb_chunk(j);
	jb_exec(j, 1000, 1, 1);
	jb_exec(j, 10001000, 1, 1);
	jb_exec(j, 20001000, 1, 1);
	jb_exec(j, 30001000, 2, 3);
	jb_wall(j, 40001000, 2, 2, 5, 100000000);
	jb_setting(j, T_EXEC, "period", "10 ms");
	jb_setting(j, T_WALL, "period", "20 ms");
	jb_metadata(j);
	jb_constants(j);
	jb_finish(j);
}

static inline void jb_free(struct jb *j)
{
	buffer_free(&j->f);
	buffer_free(&j->tree);
}

#endif
