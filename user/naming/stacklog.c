/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/stacklog.h"

#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"

static void time_add(struct buffer *b, uint64_t mono_ns)
{
	uint64_t ns = clock_ns(CLOCK_REALTIME) - now_ns() + mono_ns;
	time_t s = (time_t)(ns / 1000000000u);
	struct tm tm;
	char text[32];

	gmtime_r(&s, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	buffer_printf(b, "stack %s.%09uZ", text, (unsigned int)(ns % 1000000000u));
}

static void frame_add(struct buffer *b, const struct gn_frame *f)
{
	static const char kinds[] = "?kuins";
	uint32_t kind = gn_frame_kind(f), flags = gn_frame_flags(f);

	buffer_printf(b, " %c%s%s%s:%llx", kinds[kind < sizeof(kinds) - 1 ? kind : 0],
		      flags & GN_FF_RETADDR ? "r" : "", flags & GN_FF_GUESSED ? "g" : "",
		      flags & GN_FF_FP ? "f" : "", (unsigned long long)gn_frame_addr(f));
	if (f->data)
		buffer_printf(b, ":%llx", (unsigned long long)f->data);
}

void stacklog(const struct gn_stack *s)
{
	static const char *const ways[] = {"clock", "switch", "remote"};
	struct buffer b = BUFFER_INIT;

	if (log_level < 3)
		return;
	time_add(&b, s->h.time);
	buffer_printf(&b, " tid %u %s %u %016llx", s->h.tid, s->way < 3 ? ways[s->way] : "?",
		      s->end, (unsigned long long)s->id);
	for (int i = 0; i < s->nkernel + s->nuser; i++)
		frame_add(&b, &gn_stack_frames(s)[i]);
	buffer_byte(&b, '\n');
	if (!b.failed && write(STDERR_FILENO, b.data, b.len) < 0)
		log_level = 2; /* stderr takes nothing any more: stop writing to it */
	buffer_free(&b);
}
