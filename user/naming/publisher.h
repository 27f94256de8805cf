/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process publishes of its requests, as far as it is found by looking now and then: where
 * its threads' records are, which the kernel side is told, and what the keys in them are called.
 * Looks are bounded in reads, and take at most a 50th of the time.
 */
#ifndef GNOMON_NAMING_PUBLISHER_H
#define GNOMON_NAMING_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ctx_text;
struct publisher;
struct symproc;
struct tables;

struct publisher *publisher_new(pid_t tgid); /* NULL: no memory */
void publisher_free(struct publisher *p);

/*
 * To be called ten times a second. Looks again, by the mappings as they were last read, when those
 * are others, and once a second at what may change in place. `tables` may be NULL.
 */
void publisher_poll(struct publisher *p, struct symproc *native, struct tables *tables,
		    uint64_t now_ns);

/* Looks now, whatever was there before. */
void publisher_look(struct publisher *p, struct symproc *native, struct tables *tables,
		    uint64_t now_ns);

/* It became another program. */
void publisher_exec(struct publisher *p);

/* Are there records to be found? */
bool publisher_is_there(const struct publisher *p);

/* Tells what key `key` of its records is called. False: not known (yet), and it is looked for soon.
 */
bool publisher_key(struct publisher *p, uint8_t key, struct ctx_text *name);

/* Some key's name ends so: what a record does not say of it is not so. */
bool publisher_has_key(const struct publisher *p, const char *ending);

#endif
