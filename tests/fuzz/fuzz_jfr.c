/* SPDX-License-Identifier: Apache-2.0 */
// clang-format off
// FUZZ-LINK: user/base/frame.c user/jfr/read.c user/jfr/read_chunk.c user/jfr/read_cursor.c
// FUZZ-LINK: user/jfr/read_known.c user/jfr/read_meta.c user/jfr/read_parts.c user/jfr/read_pool.c
// FUZZ-LINK: user/jfr/read_reservoir.c user/jfr/read_sample.c user/jfr/read_text.c
// FUZZ-LINK: user/jfr/read_rates.c
// FUZZ-LINK: user/jfr/read_value.c
// FUZZ-LINK: user/base/buffer.c user/base/error.c user/base/idmap.c
// FUZZ-LINK: user/base/utf8.c
// clang-format on
/* Everything a user of the reader can ask of every event of a recording. */
#include <stddef.h>
#include <stdint.h>

#include "jfr/read_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIELDS 32
/* Looked at per input: an array in an array may be long, and that is no bug. */
#define VALUES 2000

static unsigned int budget;

static void value_visit(struct jfr_reader *r, const struct jfr_value *v, struct buffer *b,
			int depth)
{
	struct jfr_value in[FIELDS] = {{0}}, s = {0}, frames, element, array = *v;
	struct jfr_thread t;
	struct jfr_frame f;
	bool cut;
	int n;

	if (depth > 4 || !budget)
		return;
	budget--;
	buffer_clear(b);
	jfr_value_string(r, v, b);
	jfr_thread_get(r, v, &t);
	if (jfr_stack_get(r, v, &frames, &cut))
		for (int i = 0; i < 100 && jfr_stack_next(r, &frames, &f); i++)
			jfr_method_name(r, &f.method_ref, b, NULL);
	while (budget && jfr_array_next(r, &array, &element))
		value_visit(r, &element, b, depth + 1);
	if (jfr_pool_get(r, v, &s))
		v = &s;
	n = jfr_value_fields(r, v, in, FIELDS);
	for (int i = 0; i < n; i++)
		value_visit(r, &in[i], b, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jfr_options o = {.pool_cap = 1 << 20};
	struct buffer b = BUFFER_INIT;
	struct jfr_value v[FIELDS];
	struct jfr_sampler *sampler;
	struct jfr_sample sample;
	struct jfr_reader *r;
	struct jfr_event ev;

	if (jfr_reader_open_memory(&r, data, size, &o, NULL))
		return 0;
	budget = VALUES;
	sampler = jfr_sampler_new(r, true);
	while (sampler && jfr_sampler_next(sampler, &ev, &sample) > 0) {
		int n = jfr_event_fields(r, &ev, v, FIELDS);

		for (int i = 0; i < n; i++)
			value_visit(r, &v[i], &b, 0);
	}
	if (jfr_reader_report(r)->bytes_lost > 2 * size)
		__builtin_trap(); /* what is lost twice is miscounted */
	jfr_sampler_free(sampler);
	jfr_reader_close(r);
	buffer_free(&b);
	return 0;
}
