/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images shared between processes: a file is loaded once (device, inode, size, mtime and ctime tell
 * it from others), and copies of it, as containers have, share their memory when what was loaded is
 * equal. Neither a build id alone nor a debug file under a target's root is trusted: one target
 * could name the functions of another.
 *
 * References keep an image; the others stay, least recently used out first, while all fit in the
 * bound. Not thread safe: one cache belongs to one thread.
 */
#ifndef GNOMON_SYM_CACHE_H
#define GNOMON_SYM_CACHE_H

#include <stddef.h>

#include "broker/broker.h"
#include "sym/image.h"

struct image_cache;
struct image_ref;

/* max_bytes bounds all images together, 0: IMAGE_CACHE_DEFAULT. NULL without memory. */
#define IMAGE_CACHE_DEFAULT (256U << 20)
struct image_cache *image_cache_new(size_t max_bytes);

/* Every reference must have been put. */
void image_cache_free(struct image_cache *c);

/*
 * The image of the open file fd, which is taken over, error or not; `file` tells which it is.
 * `place`: as for image_load(). Errors of elf_file_open(); -ENOSPC when it does not fit beside the
 * referenced images.
 */
int image_cache_get(struct image_cache *c, int fd, const struct broker_file *file,
		    const struct debugfile_place *place, struct image_ref **out);

struct image *image_ref_image(struct image_ref *ref);
void image_ref_put(struct image_ref *ref); /* NULL is fine */

struct image_cache_stats {
	size_t bytes;	/* held by images now */
	size_t images;	/* distinct ones */
	size_t loads;	/* files read, ever */
	size_t hits;	/* gets answered without reading */
	size_t evicted; /* images dropped for room */
};

void image_cache_stats(const struct image_cache *c, struct image_cache_stats *out);

#endif
