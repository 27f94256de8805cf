/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/write_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "jfr/repair.h"
#include "jfr/write_enc.h"
#include "jfr/write_meta.h"

#define BEYOND_MAX	  (1u << 20) /* bytes by which a file may be larger for what is no sample */
#define MIB		  (1ull << 20)
#define CHUNK_DEFAULT	  (64 * MIB)
#define CONSTANTS_DEFAULT (256 * MIB)
#define CONSTANTS_STEP	  (4 * MIB)   /* a chunk ends when they doubled and grew by so much */
#define DROP_MIN	  (256 << 10) /* constants are dropped if that frees so many bytes */
#define DROP_PART	  4	      /* and so large a part of all */
#define CLOCK_OFF_NS	  10000000    /* less is not worth a step between two chunks */
#define SEGMENT_FLUSH	  (1 * MIB)   /* hand over early: readers like small checkpoints */
#define HELD_DEFAULT	  (64 * MIB)  /* beyond it, while the disk is busy, events are dropped */
#define TICKS_PER_SECOND  1000000000ull
#define IDS_OF_ONE	  (1u << 29) /* a writer that follows another one begins with others */

static bool failed(const struct jfrw *w)
{
	return w->no_memory || outfile_error(w->file, NULL);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static uint64_t chunk_unix_ns(const struct jfrw *w)
{
	return w->chunk_mono + w->unix_offset;
}

/*
 * The header is written with generation 0, "finished", after every flush: nothing else about it
 * is unfinished, and readers take such a file as it is even when it was never closed.
 */
static void header_fill(const struct jfrw *w, uint8_t out[JFR_HEADER_SIZE])
{
	uint64_t since = w->chunk_mono - w->cfg.start_mono_ns;
	uint64_t fields[] = {
		w->chunk_len + w->segment.len,
		w->checkpoint_at,
		JFR_HEADER_SIZE, /* the metadata */
		chunk_unix_ns(w),
		w->last_mono - w->chunk_mono,
		since,
		TICKS_PER_SECOND,
	};
	static const uint8_t magic[8] = {'F', 'L', 'R', 0, 0, 2, 0, 1};

	memset(out, 0, JFR_HEADER_SIZE);
	memcpy(out, magic, sizeof(magic));
	for (unsigned int i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		for (unsigned int k = 0; k < 8; k++)
			out[8 + 8 * i + k] = (uint8_t)(fields[i] >> (56 - 8 * k));
	out[JFR_HEADER_SIZE - 1] = 1; /* compressed integers */
}

static void chunk_begin(struct jfrw *w, uint64_t mono_ns)
{
	static const uint8_t room[JFR_HEADER_SIZE];

	w->chunk++;
	w->chunk_at = w->cfg.form.segments ? 0 : w->chunk_at + w->chunk_len;
	w->chunk_len = 0;
	w->chunk_mono = w->last_mono = mono_ns;
	w->unix_offset = w->clock_offset;
	w->checkpoint_at = 0;
	w->fixed_written = false;
	w->constants = constants_memory(w);
	buffer_add(&w->segment, room, sizeof(room));
	buffer_add(&w->segment, w->metadata.data, w->metadata.len);
	w->no_memory |= w->segment.failed;
}

void jfrw_clock(struct jfrw *w, uint64_t unix_ns, uint64_t mono_ns)
{
	int64_t is = (int64_t)(unix_ns - mono_ns), off = is - (int64_t)w->clock_offset;

	if (off > CLOCK_OFF_NS || off < -CLOCK_OFF_NS)
		w->clock_offset = (uint64_t)is;
}

void jfrw_begin(struct jfrw *w, uint64_t mono_ns)
{
	if (w->chunk == 1 && mono_ns > w->chunk_mono)
		w->chunk_mono = w->last_mono = w->keep_mono = mono_ns;
}

void jfrw_end(struct jfrw *w, uint64_t mono_ns)
{
	w->end_mono = mono_ns;
}

/* Within the recording; a chunk that begins at its end has no length. */
static uint64_t time_within(const struct jfrw *w, uint64_t mono_ns)
{
	uint64_t end = w->end_mono > w->chunk_mono ? w->end_mono : w->chunk_mono;

	if (mono_ns < w->cfg.start_mono_ns)
		return w->cfg.start_mono_ns;
	return w->end_mono && mono_ns > end ? end : mono_ns;
}

static void constants_drop(struct jfrw *w, uint32_t oldest)
{
	for (unsigned int t = JFR_POOL_FIRST; t < JFR_POOL_END; t++)
		if (w->pools[t])
			pool_drop(w->pools[t], oldest);
	w->generation++;
}

/* Dropping is worth it only if it frees much, since others have to intern again what is dropped. */
static bool drop_is_worth_it(const struct jfrw *w, uint32_t oldest)
{
	size_t sum = 0;

	for (unsigned int t = JFR_POOL_FIRST; t < JFR_POOL_END; t++)
		if (w->pools[t])
			sum += pool_droppable(w->pools[t], oldest);
	return sum >= DROP_MIN && sum >= constants_memory(w) / DROP_PART;
}

/* A recording that goes on for weeks runs out of ids; each of its files may begin with 1. */
static void ids_restart(struct jfrw *w)
{
	bool worn = false;

	for (unsigned int t = JFR_POOL_FIRST; t < JFR_POOL_END; t++)
		worn |= w->pools[t] && pool_is_worn(w->pools[t]);
	if (!worn || !w->cfg.form.segments)
		return;
	for (unsigned int t = JFR_POOL_FIRST; t < JFR_POOL_END; t++)
		if (w->pools[t])
			pool_restart(w->pools[t]);
	w->generation++;
}

/*
 * Drops constants that were not used for long. That is done between chunks only, since within a
 * chunk ids must keep resolving, and where the caller expects it: he may hold ids.
 */
static void constants_trim(struct jfrw *w)
{
	uint64_t keep = w->cfg.constants_keep_ns;

	if (!w->trims)
		return;
	ids_restart(w);
	if (keep && w->last_mono - w->keep_mono >= keep) {
		if (drop_is_worth_it(w, w->keep_chunk))
			constants_drop(w, w->keep_chunk);
		w->keep_chunk = w->chunk + 1;
		w->keep_mono = w->last_mono;
	}
	if (constants_memory(w) > w->cfg.constants_max)
		constants_drop(w, w->chunk + 1);
}

/* Whether there are more than twice the constants that the chunk began with. */
static bool constants_grew(const struct jfrw *w)
{
	size_t now = constants_memory(w);

	return now > w->cfg.constants_max || (w->cfg.constants_keep_ns && now / 2 > w->constants &&
					      now - w->constants > CONSTANTS_STEP);
}

static bool chunk_is_over(const struct jfrw *w, uint64_t mono_ns)
{
	uint64_t longest = w->cfg.form.chunk_max_ns, window = w->cfg.form.window_ns;
	uint64_t ns = mono_ns - w->chunk_mono;

	if (w->chunk == 1 && w->cfg.chunk_first_ns)
		longest = w->cfg.chunk_first_ns;
	return (longest && ns >= longest) || (window && ns >= window - chunk_unix_ns(w) % window);
}

/* Whether the chunk is full, with `more` bytes that are not in the file yet. */
static bool chunk_is_full(const struct jfrw *w, uint64_t mono_ns, uint64_t more)
{
	return w->chunk_len + more >= w->cfg.form.chunk_max_bytes || chunk_is_over(w, mono_ns) ||
	       constants_grew(w);
}

/* What was handed over before is written. */
static void samples_hand_over(struct jfrw *w)
{
	w->settled_samples.cpu += w->handed_samples.cpu;
	w->settled_samples.wall += w->handed_samples.wall;
	w->handed_samples = w->segment_samples;
	w->segment_samples = (struct jfrw_samples){0};
}

/*
 * Append the checkpoint and give everything to the file's thread, which must not be busy. True: the
 * chunk is full with it.
 */
static bool hand_over(struct jfrw *w)
{
	uint8_t header[JFR_HEADER_SIZE];
	uint64_t len;
	bool full;

	checkpoint_write(w);
	w->no_memory |= w->segment.failed;
	if (w->no_memory)
		return false;
	len = w->segment.len;
	full = w->ring || chunk_is_full(w, w->last_mono, len);
	w->ring = false;
	header_fill(w, header);
	if (w->chunk_len) {
		outfile_submit(w->file, &w->segment, header, w->chunk_at, full);
	} else {
		memcpy(w->segment.data, header, sizeof(header));
		if (w->cfg.form.segments)
			outfile_turn(w->file, chunk_unix_ns(w));
		outfile_submit(w->file, &w->segment, NULL, 0, full);
	}
	w->chunk_len += len;
	w->stats.bytes += len;
	w->handed_bytes = len;
	w->handed_events = w->segment_events;
	w->segment_events = 0;
	samples_hand_over(w);
	return full;
}

static void report_loss(struct jfrw *w, uint64_t mono_ns)
{
	struct jfr_data_loss loss = {.amount = w->loss_pending, .total = w->stats.dropped_bytes};

	if (!w->loss_pending || failed(w))
		return;
	w->loss_pending = 0;
	jfrw_data_loss(w, mono_ns, &loss);
}

static void chunk_next(struct jfrw *w)
{
	constants_trim(w);
	/* JMC takes one of two chunks that start at the same time */
	chunk_begin(w, w->last_mono + 1);
}

static void events_drop(struct jfrw *w, uint64_t events, uint64_t bytes)
{
	w->stats.dropped_events += events;
	w->stats.dropped_bytes += bytes;
	w->loss_pending += bytes;
}

/*
 * Where somebody has removed the file that the last flush was to go to, that is lost, and what came
 * since, if it is of the same chunk: it needs the constants that are gone. The next chunk begins.
 */
static void gone_check(struct jfrw *w)
{
	if (!w->cfg.form.segments || !outfile_gone(w->file))
		return;
	events_drop(w, w->handed_events, w->handed_bytes);
	if (!w->chunk_len)
		return;
	events_drop(w, w->segment_events, w->segment.len);
	checkpoint_write(w); /* of constants that were touched none is left for the next chunk */
	buffer_clear(&w->segment);
	w->segment_events = 0;
	chunk_next(w);
}

static void flush(struct jfrw *w, uint64_t mono_ns)
{
	if (!w->segment_events || w->no_memory || outfile_busy(w->file))
		return;
	gone_check(w);
	mono_ns = time_within(w, mono_ns);
	if (mono_ns > w->last_mono)
		w->last_mono = mono_ns;
	if (w->segment_events && hand_over(w))
		chunk_next(w);
	report_loss(w, mono_ns);
}

/*
 * The disk refuses what was handed over, and as much again is held behind it. What is of the same
 * chunk is put to that, so that what follows is a chunk by itself; when that is so the older half
 * is given up: what is held is a ring of two.
 */
static void ring_turn(struct jfrw *w)
{
	uint8_t header[JFR_HEADER_SIZE];
	uint64_t len;

	if (!w->cfg.form.segments || w->no_memory ||
	    w->segment.len + w->pending <= w->cfg.form.held_max_bytes / 2 ||
	    !outfile_refused(w->file))
		return;
	if (!w->chunk_len) {
		w->ring = true;
		outfile_abandon(w->file);
		return;
	}
	checkpoint_write(w);
	len = w->segment.len;
	header_fill(w, header);
	if (w->segment.failed || !outfile_extend(w->file, &w->segment, header, true))
		return; /* later; one more checkpoint does no harm */
	w->chunk_len += len;
	w->stats.bytes += len;
	w->handed_bytes += len;
	w->handed_events += w->segment_events;
	w->segment_events = 0;
	w->handed_samples.cpu += w->segment_samples.cpu;
	w->handed_samples.wall += w->segment_samples.wall;
	w->segment_samples = (struct jfrw_samples){0};
	chunk_next(w);
}

bool jfrw_busy(const struct jfrw *w)
{
	return outfile_busy(w->file);
}

bool jfrw_chunk_ends(const struct jfrw *w, uint64_t mono_ns)
{
	return chunk_is_full(w, mono_ns > w->last_mono ? mono_ns : w->last_mono, w->segment.len);
}

bool jfrw_chunk_ends_soon(const struct jfrw *w, uint64_t next_ns)
{
	return chunk_is_full(w, next_ns, 2 * (uint64_t)w->segment.len);
}

int jfrw_flush(struct jfrw *w, uint64_t mono_ns, struct error *e)
{
	w->trims = true;
	flush(w, mono_ns);
	w->trims = false;
	return jfrw_error(w, e);
}

int jfrw_error(struct jfrw *w, struct error *e)
{
	int rc = w->no_memory ? -ENOMEM : 0;

	if (rc)
		error_set(e, rc, EXIT_INTERNAL, "out of memory while writing '%s'", w->cfg.path);
	else
		rc = outfile_error(w->file, e);
	return rc;
}

/* ---- open and close -------------------------------------------------------------------------- */

static int32_t gmt_offset_ms(uint64_t unix_ns)
{
	time_t t = (time_t)(unix_ns / TICKS_PER_SECOND);
	struct tm tm;

	return localtime_r(&t, &tm) ? (int32_t)(tm.tm_gmtoff * 1000) : 0;
}

static void writer_free(struct jfrw *w)
{
	for (unsigned int t = 0; t < JFR_POOL_END; t++)
		pool_free(w->pools[t]);
	buffer_free(&w->metadata);
	buffer_free(&w->segment);
	buffer_free(&w->scratch);
	buffer_free(&w->scratch2);
	free((char *)w->cfg.path);
	free(w);
}

static void config_default(struct jfrw_config *c)
{
	if (!c->form.chunk_max_bytes)
		c->form.chunk_max_bytes = CHUNK_DEFAULT;
	if (c->form.chunk_max_bytes > JFRW_CHUNK_LIMIT)
		c->form.chunk_max_bytes = JFRW_CHUNK_LIMIT;
	if (!c->constants_max)
		c->constants_max = CONSTANTS_DEFAULT;
	if (!c->form.held_max_bytes)
		c->form.held_max_bytes = HELD_DEFAULT;
}

static struct jfrw *writer_new(const struct jfrw_config *cfg)
{
	struct jfrw *w = calloc(1, sizeof(*w));
	uint64_t seed = cfg->start_unix_ns;
	bool ok = w != NULL;

	if (!w)
		return NULL;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed ^= (uintptr_t)w;
	w->cfg = *cfg;
	config_default(&w->cfg);
	w->cfg.path = strdup(cfg->path);
	w->salt = (uint32_t)seed;
	for (unsigned int t = JFR_POOL_FIRST; t < JFR_POOL_END; t++) {
		if (t == JFR_FRAME_TYPE || t == JFR_THREAD_STATE)
			continue;
		w->pools[t] = pool_new(seed, 1 + cfg->resumed * IDS_OF_ONE);
		ok &= w->pools[t] != NULL;
	}
	w->keep_mono = cfg->start_mono_ns;
	w->clock_offset = cfg->start_unix_ns - cfg->start_mono_ns;
	metadata_write(&w->metadata, w->salt, gmt_offset_ms(cfg->start_unix_ns), &cfg->form);
	chunk_begin(w, cfg->resumed ? cfg->resumed_mono_ns : cfg->start_mono_ns);
	if (!ok || !w->cfg.path || w->metadata.failed || w->no_memory) {
		writer_free(w);
		return NULL;
	}
	return w;
}

/* Behind what is whole of those before. */
static int file_resume(struct jfrw *w, struct error *e)
{
	uint64_t end;
	int rc = jfr_repair_last(w->cfg.fd, &end);

	if (rc) {
		close(w->cfg.fd);
		return error_set(e, rc, EXIT_OUTPUT, "cannot go on with '%s': %s", w->cfg.path,
				 strerror(-rc));
	}
	w->chunk_at = w->stats.bytes = end;
	rc = outfile_open(&w->file, w->cfg.fd, w->cfg.path, e);
	if (!rc)
		outfile_from(w->file, end);
	return rc;
}

/* The file, whoever makes it; `fd` is taken over. */
static int file_open(struct jfrw *w, const struct jfrw_config *cfg, struct error *e)
{
	int fd = cfg->fd, rc;

	if (cfg->form.segments)
		return outfile_open_segments(&w->file, cfg->path, cfg->maker, e);
	if (cfg->resumed)
		return file_resume(w, e);
	if (!cfg->opened)
		fd = outfile_create(cfg->path, cfg->overwrite, e);
	if (fd < 0)
		return fd;
	rc = outfile_open(&w->file, fd, cfg->path, e);
	if (rc && !cfg->opened)
		unlink(cfg->path);
	return rc;
}

int jfrw_open(struct jfrw **out, const struct jfrw_config *cfg, struct error *e)
{
	struct jfrw *w = writer_new(cfg);
	int rc;

	if (!w && cfg->opened)
		close(cfg->fd);
	if (!w)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	rc = file_open(w, cfg, e);
	if (rc) {
		writer_free(w);
		return rc;
	}
	outfile_tell(w->file, &cfg->finished);
	hand_over(w);
	outfile_wait(w->file);
	rc = jfrw_error(w, e);
	if (rc) {
		jfrw_discard(w);
		return rc;
	}
	*out = w;
	return 0;
}

int jfrw_close(struct jfrw *w, struct error *e)
{
	struct error err = {0};
	int rc, closed;

	if (!w)
		return 0;
	outfile_wait(w->file);
	flush(w, w->last_mono);
	outfile_wait(w->file);
	flush(w, w->last_mono); /* a jdk.DataLoss of the one before */
	outfile_wait(w->file);
	rc = jfrw_error(w, &err);
	closed = outfile_close(w->file, true, rc ? NULL : &err);
	rc = rc ? rc : closed;
	if (rc && e)
		*e = err;
	writer_free(w);
	return rc;
}

void jfrw_discard(struct jfrw *w)
{
	if (!w)
		return;
	outfile_close(w->file, w->cfg.opened, NULL);
	writer_free(w);
}

uint32_t jfrw_chunk(const struct jfrw *w)
{
	return w->chunk;
}

size_t jfrw_constants(const struct jfrw *w)
{
	return constants_memory(w);
}

uint32_t jfrw_generation(const struct jfrw *w)
{
	return w->generation;
}

bool jfrw_has_stack(const struct jfrw *w, uint32_t stack)
{
	size_t len;

	return stack && pool_value(w->pools[JFR_STACK_TRACE], stack, &len);
}

void jfrw_stats(const struct jfrw *w, struct jfrw_stats *out)
{
	bool busy = outfile_busy(w->file);

	*out = w->stats;
	out->held_bytes = outfile_refused(w->file);
	if (out->held_bytes)
		out->held_bytes += w->segment.len + w->pending;
	out->cpu_settled = w->settled_samples.cpu + (busy ? 0 : w->handed_samples.cpu);
	out->wall_settled = w->settled_samples.wall + (busy ? 0 : w->handed_samples.wall);
	out->chunks = w->chunk - !w->chunk_len;
	out->generation = w->generation;
	out->threads = pool_count(w->pools[JFR_THREAD]);
	out->stacks = pool_count(w->pools[JFR_STACK_TRACE]);
	out->methods = pool_count(w->pools[JFR_METHOD]);
	out->classes = pool_count(w->pools[JFR_CLASS]);
	out->symbols = pool_count(w->pools[JFR_SYMBOL]);
	out->constants_bytes = constants_memory(w);
}

/* ---- events ---------------------------------------------------------------------------------- */

static uint64_t load(const void *p, unsigned int size)
{
	return size == sizeof(uint32_t) ? *(const uint32_t *)p : *(const uint64_t *)p;
}

static void put_fields(struct jfrw *w, struct buffer *b, const struct jfr_type_info *info,
		       const void *of);

static void put_field(struct jfrw *w, struct buffer *b, const struct jfr_field *f, const void *at)
{
	float number;
	uint64_t v;

	switch (f->type) {
	case JFR_BOOLEAN:
		buffer_byte(b, *(const bool *)at);
		break;
	case JFR_FLOAT:
		memcpy(&number, at, sizeof(number));
		put_float(b, number);
		break;
	case JFR_DOUBLE:
		memcpy(&v, at, sizeof(v));
		put_be(b, v, sizeof(v));
		break;
	case JFR_BYTE:
		buffer_byte(b, *(const uint8_t *)at);
		break;
	case JFR_STRING:
		put_string(b, *(const char *const *)at);
		break;
	case JFR_VIRTUAL_SPACE:
	case JFR_METASPACE_SIZES:
		put_fields(w, b, jfr_type_info(f->type), at);
		break;
	default:
		v = load(at, f->size);
		if (jfr_type_is_pool(f->type) && !constant_touch(w, f->type, (uint32_t)v)) {
			w->stats.stale_ids++;
			v = 0;
		}
		put_leb(b, v);
	}
}

static void put_fields(struct jfrw *w, struct buffer *b, const struct jfr_type_info *info,
		       const void *of)
{
	for (unsigned int i = 0; i < info->n_fields; i++)
		put_field(w, b, &info->fields[i], (const uint8_t *)of + info->fields[i].offset);
}

static void event_drop(struct jfrw *w, size_t bytes)
{
	events_drop(w, 1, bytes);
}

/*
 * Keeps the settings that tell the intervals between samples, to repeat them in each chunk: without
 * them samples have no duration.
 */
static void period_keep(struct jfrw *w, const struct jfr_active_setting *s)
{
	struct jfrw_period *p = w->periods, *end = p + sizeof(w->periods) / sizeof(*p);

	if (!s->name || !s->value || strcmp(s->name, "period") ||
	    strlen(s->value) >= sizeof(p->value))
		return;
	while (p < end && p->id && p->id != s->id)
		p++;
	if (p == end)
		return;
	p->id = s->id;
	/* memmove, since when it is repeated it is passed from here */
	memmove(p->value, s->value, strlen(s->value) + 1);
}

/* What is in force goes for all of the chunk. */
static void rate_repeat(struct jfrw *w)
{
	struct jfrw_rates *r = &w->rates;

	if (!r->n)
		return;
	r->v[0] = (struct jfrw_rate_at){w->chunk_mono, r->last.cpu_ns};
	r->n = 1;
	jfrw_event(w, JFR_RATE_CHANGE, w->chunk_mono, &r->last);
}

/* Repeats before a chunk's first event what an earlier chunk said and still holds. */
static void chunk_repeat(struct jfrw *w, enum jfr_type next)
{
	if (w->chunk == 1 || w->chunk_len || w->segment_events || w->repeating)
		return;
	w->repeating = true;
	for (size_t i = 0; i < sizeof(w->periods) / sizeof(w->periods[0]); i++)
		if (w->periods[i].id)
			jfrw_active_setting(
				w, w->chunk_mono,
				&(struct jfr_active_setting){.id = w->periods[i].id,
							     .name = "period",
							     .value = w->periods[i].value});
	if (w->reservoir.sampled && next != JFR_THREAD_RESERVOIR)
		jfrw_event(w, JFR_THREAD_RESERVOIR, w->chunk_mono, &w->reservoir);
	rate_repeat(w);
	w->repeating = false;
}

/* Not what a plain file does not declare, nor a setting of it. */
static bool is_written(const struct jfrw *w, enum jfr_type type, const void *fields)
{
	const struct jfr_active_setting *s = fields;

	if (!w->cfg.form.plain)
		return true;
	return jfr_type_is_plain(type) &&
	       (type != JFR_ACTIVE_SETTING || jfr_type_is_plain((unsigned int)s->id));
}

void jfrw_full(struct jfrw *w)
{
	w->full = true;
}

static bool is_sample(enum jfr_type type)
{
	return type == JFR_EXECUTION_SAMPLE || type == JFR_CPU_TIME_SAMPLE ||
	       type == JFR_WALL_CLOCK_SAMPLE || type == JFR_WAIT_CAUSE || type == JFR_CONTEXT;
}

/* What else is told of a recording, losses above all, has some room of its own. */
static bool is_over(const struct jfrw *w, enum jfr_type type)
{
	uint64_t max = w->cfg.form.file_max_bytes, is;

	if (w->full && is_sample(type))
		return true;
	is = w->stats.bytes + w->segment.len + w->pending;
	return max && is > max + (is_sample(type) ? 0 : BEYOND_MAX);
}

void jfrw_event(struct jfrw *w, enum jfr_type type, uint64_t mono_ns, const void *fields)
{
	const struct jfr_type_info *info = jfr_type_info(type);
	struct buffer *b = &w->scratch;

	if (!is_written(w, type, fields))
		return;
	if (is_over(w, type)) {
		w->stats.over_events++;
		return;
	}
	chunk_repeat(w, type);
	if (type == JFR_ACTIVE_SETTING)
		period_keep(w, fields);
	mono_ns = time_within(w, mono_ns);
	buffer_clear(b);
	put_leb(b, type);
	put_leb(b, mono_ns - w->cfg.start_mono_ns);
	put_fields(w, b, info, fields);
	if (!b->failed && !failed(w) && w->segment.len + w->pending <= w->cfg.form.held_max_bytes)
		put_sized(&w->segment, b->data, b->len, NULL, 0);
	else
		b->failed = true;
	if (b->failed || w->segment.failed) {
		w->segment.failed = false; /* only whole events were added: the rest is intact */
		event_drop(w, b->len + 1);
		ring_turn(w);
		return;
	}
	w->segment_events++;
	w->stats.events++;
	if (mono_ns > w->last_mono)
		w->last_mono = mono_ns;
	if (w->segment.len + w->pending > SEGMENT_FLUSH)
		flush(w, mono_ns);
	ring_turn(w);
}

static void execution_sample(struct jfrw *w, uint64_t mono_ns, uint32_t thread, uint32_t stack,
			     enum jfr_state state)
{
	jfrw_execution_sample(w, mono_ns,
			      &(struct jfr_execution_sample){
				      .thread = thread,
				      .stack = stack,
				      .state = w->cfg.form.plain ? jfr_state_plain(state) : state,
			      });
}

/* Counted first, since the event may be what is handed over. */
static uint64_t samples_put(struct jfrw *w, uint64_t cpu, uint64_t wall)
{
	w->segment_samples.cpu += cpu;
	w->segment_samples.wall += wall;
	return w->stats.events;
}

/* Where none was written since, they are counted as lost. */
static void samples_check(struct jfrw *w, uint64_t events, uint64_t cpu, uint64_t wall)
{
	if (w->stats.events != events)
		return;
	w->segment_samples.cpu -= cpu;
	w->segment_samples.wall -= wall;
	w->settled_samples.cpu += cpu;
	w->settled_samples.wall += wall;
}

void jfrw_cpu_sample(struct jfrw *w, uint64_t mono_ns, uint32_t thread, uint32_t stack)
{
	uint64_t events = samples_put(w, 1, 0);

	if (w->cfg.form.cpu_event == JFRW_EXECUTION)
		execution_sample(w, mono_ns, thread, stack, JFR_STATE_DEFAULT);
	else
		jfrw_cpu_time_sample(
			w, mono_ns,
			&(struct jfr_cpu_time_sample){.stack = stack,
						      .thread = thread,
						      .failed = !stack,
						      .period_ns = w->cfg.cpu_period_ns});
	samples_check(w, events, 1, 0);
}

/* What holds in the chunk that the next event will stand in is written, and known. */
static void chunk_enter(struct jfrw *w)
{
	chunk_repeat(w, JFR_NONE);
}

void jfrw_rate(struct jfrw *w, uint64_t mono_ns, const struct jfr_rate_change *change)
{
	struct jfrw_rates *r = &w->rates;

	chunk_enter(w);
	if (r->n && mono_ns < r->v[r->n - 1].mono_ns) /* it was told late: the chunk has begun */
		mono_ns = r->v[r->n - 1].mono_ns;
	snprintf(r->by, sizeof(r->by), "%s", change->by);
	snprintf(r->reason, sizeof(r->reason), "%s", change->reason);
	jfrw_event(w, JFR_RATE_CHANGE, mono_ns, change);
	if (r->n == JFRW_RATES)
		memmove(r->v, r->v + 1, --r->n * sizeof(*r->v));
	r->v[r->n++] = (struct jfrw_rate_at){mono_ns, change->cpu_ns};
	r->last = *change;
	r->last.by = r->by;
	r->last.reason = r->reason;
}

/* The CPU interval by which readers of this chunk weigh a sample of that time; 0: none was said. */
static uint64_t rate_at(const struct jfrw_rates *r, uint64_t mono_ns)
{
	size_t i = r->n;

	while (i > 1 && r->v[i - 1].mono_ns > mono_ns)
		i--;
	return i ? r->v[i - 1].cpu_ns : 0;
}

/*
 * Mostly they are samples of the interval that the file says for their time. One that was taken
 * just as that changed, or came late, is not: it becomes as many as make up its time, and what is
 * left over is the next one's.
 */
static uint32_t samples_of(struct jfrw *w, uint64_t mono_ns, uint32_t n, uint64_t each_ns)
{
	struct jfrw_rates *r = &w->rates;
	uint64_t told, whole;

	if (w->cfg.form.cpu_event == JFRW_CPUTIME) /* each says what it stands for */
		return n;
	chunk_enter(w);
	told = rate_at(r, mono_ns);
	if (!told || !each_ns || told == each_ns)
		return n;
	r->carry_ns += n * each_ns;
	whole = r->carry_ns / told;
	r->carry_ns %= told;
	return (uint32_t)whole;
}

void jfrw_cpu_samples(struct jfrw *w, uint64_t mono_ns, uint32_t thread, uint32_t stack, uint32_t n,
		      uint64_t each_ns)
{
	uint32_t written = samples_of(w, mono_ns, n, each_ns);

	if (each_ns)
		w->cfg.cpu_period_ns = each_ns;
	for (uint32_t i = 0; i < written; i++)
		jfrw_cpu_sample(w, mono_ns, thread, stack);
	w->settled_samples.cpu += (uint64_t)n - written;
}

void jfrw_wall_sample(struct jfrw *w, uint64_t mono_ns, uint32_t thread, uint32_t stack,
		      enum jfr_state state, uint32_t samples, uint64_t span_ns)
{
	struct jfr_wall_clock_sample e = {.thread = thread,
					  .stack = stack,
					  .state = state,
					  .samples = samples,
					  .span_ns = span_ns};
	uint64_t events = samples_put(w, 0, samples);

	if (!w->cfg.form.plain)
		jfrw_event(w, JFR_WALL_CLOCK_SAMPLE, mono_ns, &e);
	for (uint32_t i = 0; i < samples && w->cfg.form.plain; i++)
		execution_sample(w, mono_ns + (samples > 1 ? i * span_ns / samples : 0), thread,
				 stack, state);
	samples_check(w, events, 0, samples);
}

void jfrw_thread_reservoir(struct jfrw *w, uint64_t mono_ns, const struct jfr_thread_reservoir *r)
{
	jfrw_event(w, JFR_THREAD_RESERVOIR, mono_ns, r);
	w->reservoir = *r;
}

void jfrw_cpu_lost(struct jfrw *w, uint64_t mono_ns, uint32_t thread, uint32_t count)
{
	struct jfr_cpu_time_samples_lost e = {.count = count, .thread = thread};

	jfrw_event(w, JFR_CPU_TIME_SAMPLES_LOST, mono_ns, &e);
}
