/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/holders.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "model/threadname.h"
#include "target/container.h"

bool holders_are(const struct gn_cause_rec *rec)
{
	return rec->of.kind >= GN_CAUSE_THREAD && rec->of.kind <= GN_CAUSE_UNSEEN;
}

void holders_name(struct gn_cause_rec *rec, const char *name, bool java)
{
	snprintf(rec->path, sizeof(rec->path), "%s", name);
	rec->len = (uint32_t)strlen(rec->path);
	rec->whole = java;
}

/* Threads of one pool are one cause. */
static void thread_words(const struct gn_cause_rec *r, const char *by, struct cause_words *w)
{
	struct buffer group = BUFFER_INIT;
	char name[sizeof(r->path)];

	snprintf(name, sizeof(name), "%.*s", (int)(r->len < sizeof(name) ? r->len : 0), r->path);
	threadname_group(name, &group);
	buffer_byte(&group, 0);
	if (!*name)
		snprintf(w->cause, sizeof(w->cause), "%sanother thread of its own", by);
	else if (!r->whole && threadname_is_collector(name))
		snprintf(w->cause, sizeof(w->cause), "%sits own collector", by);
	else if (threadname_is_compiler(name))
		snprintf(w->cause, sizeof(w->cause), "%sits own compiler", by);
	else
		snprintf(w->cause, sizeof(w->cause), "%sits own %s", by,
			 group.failed ? name : (const char *)group.data);
	snprintf(w->detail, sizeof(w->detail), "thread %llu, %.100s", (unsigned long long)r->of.ino,
		 *name ? name : "not known any more");
	buffer_free(&group);
}

/* The container that a group's path tells, or "". */
static void container_words(const char *path, char *to, size_t size)
{
	char text[GN_CAUSE_PATH + 16], label[CONTAINER_NAME_LEN];
	struct container c;
	int n = snprintf(text, sizeof(text), "0::%s\n", path);

	*to = 0;
	if (n <= 0 || (size_t)n >= sizeof(text) || !container_parse(text, (size_t)n, &c))
		return;
	container_label(&c, label, sizeof(label));
	snprintf(to, size, "%s container %s", container_kind_name(c.kind), label);
}

static void process_words(const struct gn_cause_rec *r, const char *path, struct cause_words *w)
{
	char container[sizeof(w->detail)];

	container_words(path, container, sizeof(container));
	snprintf(w->cause, sizeof(w->cause), "%.*s%s%s", (int)sizeof(r->fs), r->fs,
		 *container ? " of " : "", container);
	if (r->of.dev)
		snprintf(w->detail, sizeof(w->detail), "pid %u, group %.120s", r->of.dev, path);
	else
		snprintf(w->detail, sizeof(w->detail), "group %.140s", path);
}

static void limit_words(const char *path, struct cause_words *w)
{
	char container[sizeof(w->detail)];

	w->kind = "CPU limit";
	container_words(path, container, sizeof(container));
	snprintf(w->cause, sizeof(w->cause), "%s", *container ? container : path);
	snprintf(w->detail, sizeof(w->detail), "group %.140s", path);
}

void holders_words(const struct gn_cause_rec *r, const char *path, struct cause_words *w)
{
	w->kind = "CPU";
	switch (r->of.kind) {
	case GN_CAUSE_THREAD:
		thread_words(r, "", w);
		return;
	case GN_CAUSE_PROCESS:
		process_words(r, path, w);
		return;
	case GN_CAUSE_LIMIT:
		limit_words(path, w);
		return;
	case GN_CAUSE_KERNEL:
		snprintf(w->cause, sizeof(w->cause), "the kernel's %.*s", (int)sizeof(r->fs),
			 r->fs);
		return;
	case GN_CAUSE_IRQ:
		snprintf(w->cause, sizeof(w->cause), "interrupts");
		return;
	case GN_CAUSE_STOLEN:
		snprintf(w->cause, sizeof(w->cause), "the host of this virtual machine");
		return;
	case GN_CAUSE_AT_ONCE:
		snprintf(w->cause, sizeof(w->cause), "nobody, just about to run");
		return;
	default:
		snprintf(w->cause, sizeof(w->cause), "not seen");
	}
}

void wakers_words(const struct gn_cause_rec *r, struct cause_words *w)
{
	w->kind = "wake-up";
	if (r->of.family == GN_WAKER_THREAD) {
		thread_words(r, "by ", w);
		return;
	}
	snprintf(w->cause, sizeof(w->cause), "by %s%.*s",
		 r->of.family == GN_WAKER_KERNEL ? "the kernel's " : "", (int)sizeof(r->fs), r->fs);
	if (r->of.family == GN_WAKER_PROCESS && r->of.dev)
		snprintf(w->detail, sizeof(w->detail), "pid %u", r->of.dev);
}

/* Its process is named by `path`, unless that is the thread's name as its JVM has it: then it is of
 * this one. */
void servers_words(const struct gn_cause_rec *r, struct cause_words *w)
{
	int len = (int)(r->len < sizeof(r->path) ? strnlen(r->path, r->len) : 0);

	w->kind = "other end";
	if (r->whole)
		snprintf(w->cause, sizeof(w->cause), "this process");
	else
		snprintf(w->cause, sizeof(w->cause), "%.*s, process %u", len, r->path, r->of.dev);
	snprintf(w->detail, sizeof(w->detail), "thread %llu, %.*s", (unsigned long long)r->of.count,
		 r->whole ? (len < 100 ? len : 100) : (int)strnlen(r->fs, sizeof(r->fs)),
		 r->whole ? r->path : r->fs);
}
