/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

/*
 * Tells whether a file is the same as last time. It is hashed as bytes, so it is zeroed before it
 * is filled.
 */
struct file_key {
	uint64_t dev, ino, size, mtime_ns, ctime_ns;
};

struct file {
	struct file_key key;
	struct image_ref *ref;
	struct file *next; /* other files of the same image */
	UT_hash_handle hh;
};

struct image_ref {
	struct image *image;
	size_t users;
	struct file *files;
	struct image_ref *prev, *next; /* least recently used first */
};

struct image_cache {
	size_t max_bytes;
	struct file *files;
	struct image_ref *refs;
	struct image_cache_stats stats;
};

struct image_cache *image_cache_new(size_t max_bytes)
{
	struct image_cache *c = calloc(1, sizeof(*c));

	if (c)
		c->max_bytes = max_bytes ? max_bytes : IMAGE_CACHE_DEFAULT;
	return c;
}

static void ref_drop(struct image_cache *c, struct image_ref *ref)
{
	struct file *f, *tmp;

	LL_FOREACH_SAFE(ref->files, f, tmp)
	{
		HASH_DEL(c->files, f);
		free(f);
	}
	DL_DELETE(c->refs, ref);
	image_free(ref->image);
	free(ref);
}

void image_cache_free(struct image_cache *c)
{
	if (!c)
		return;
	while (c->refs)
		ref_drop(c, c->refs);
	free(c);
}

/* Counts the bytes anew each time, since images grow as their names are demangled. */
static size_t bytes_held(const struct image_cache *c, size_t *images)
{
	const struct image_ref *r;
	size_t sum = 0, n = 0;

	DL_FOREACH(c->refs, r) {
		sum += sizeof(*r) + image_bytes(r->image);
		n++;
	}
	*images = n;
	return sum + HASH_COUNT(c->files) * sizeof(struct file);
}

/* Make room for need bytes by dropping unused images, oldest first. */
static int make_room(struct image_cache *c, size_t need)
{
	struct image_ref *r, *tmp;
	size_t images, held = bytes_held(c, &images);

	DL_FOREACH_SAFE(c->refs, r, tmp)
	{
		if (held + need <= c->max_bytes)
			return 0;
		if (r->users)
			continue;
		held -= sizeof(*r) + image_bytes(r->image);
		ref_drop(c, r);
		c->stats.evicted++;
	}
	return held + need <= c->max_bytes ? 0 : -ENOSPC;
}

static void touch(struct image_cache *c, struct image_ref *ref)
{
	DL_DELETE(c->refs, ref);
	DL_APPEND(c->refs, ref);
	ref->users++;
}

/*
 * Remembers that the file has that image; not with `theirs`, since the same file may have another
 * image in another process.
 */
static int file_add(struct image_cache *c, const struct file_key *key, struct image_ref *ref,
		    bool theirs)
{
	struct file *f;

	if (theirs)
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->key = *key;
	f->ref = ref;
	HASH_ADD(hh, c->files, key, sizeof(f->key), f);
	if (!f->hh.tbl) { /* uthash had no memory */
		free(f);
		return -ENOMEM;
	}
	LL_PREPEND(ref->files, f);
	return 0;
}

/* Make img the image of the file; an equal one that is there already takes its place. */
static int image_adopt(struct image_cache *c, const struct file_key *key, struct image *img,
		       struct image_ref **out)
{
	bool theirs = image_is_theirs(img);
	struct image_ref *ref;
	int rc;

	DL_FOREACH(c->refs, ref)
		if (image_equal(ref->image, img))
			break;
	if (ref) {
		image_free(img);
		rc = file_add(c, key, ref, theirs);
		if (!rc)
			touch(c, ref);
		*out = ref;
		return rc;
	}
	rc = make_room(c, image_bytes(img) + sizeof(*ref) + sizeof(struct file));
	ref = rc ? NULL : calloc(1, sizeof(*ref));
	if (!ref) {
		image_free(img);
		return rc ? rc : -ENOMEM;
	}
	ref->image = img;
	ref->users = 1;
	DL_APPEND(c->refs, ref);
	rc = file_add(c, key, ref, theirs);
	if (rc)
		ref_drop(c, ref);
	*out = ref;
	return rc;
}

static int file_load(struct image_cache *c, const struct file_key *key, int fd,
		     const struct debugfile_place *place, struct image_ref **out)
{
	struct elf_file *f;
	struct image *img;
	int rc = elf_file_open(&f, fd);

	if (rc)
		return rc;
	c->stats.loads++;
	rc = image_load(&img, f, place);
	elf_file_close(f);
	return rc ? rc : image_adopt(c, key, img, out);
}

int image_cache_get(struct image_cache *c, int fd, const struct broker_file *file,
		    const struct debugfile_place *place, struct image_ref **out)
{
	struct file_key key;
	struct file *f;

	memset(&key, 0, sizeof(key));
	key.dev = file->dev;
	key.ino = file->ino;
	key.size = file->size;
	key.mtime_ns = file->mtime_ns;
	key.ctime_ns = file->ctime_ns;
	HASH_FIND(hh, c->files, &key, sizeof(key), f);
	if (!f)
		return file_load(c, &key, fd, place, out);
	close(fd);
	c->stats.hits++;
	touch(c, f->ref);
	*out = f->ref;
	return 0;
}

struct image *image_ref_image(struct image_ref *ref)
{
	return ref->image;
}

void image_ref_put(struct image_ref *ref)
{
	if (ref)
		ref->users--;
}

void image_cache_stats(const struct image_cache *c, struct image_cache_stats *out)
{
	*out = c->stats;
	out->bytes = bytes_held(c, &out->images);
}
