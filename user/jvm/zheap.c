/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/zheap.h"

#include <errno.h>
#include <stddef.h>

#include "jvm/symbol.h"
#include "jvm/vm.h"
#include "kern/abi_jvm.h"

#define HEAP_BYTES    (64u << 10) /* of a ZHeap, in which the generations are looked for */
#define GRANULE_SHIFT 21	  /* ZGranuleSizeShift */
#define TABLE_MAX     (1u << 24)  /* granules */
#define ENTRIES_MAX   (1u << 22)
#define PROBES_MAX    256
#define REMAPPED      12	/* the first of four bits, one of which is set */
#define REMEMBERED    (3u << 4) /* both: a reference from old to old */

enum { OFFSET, GOOD, BAD };
enum { YOUNG, OLD };

/* A granule map is its length and its array. */
struct granules {
	uint64_t size, map;
};

/* ---- finding it -------------------------------------------------------------------------------
 */

static bool masks_find(struct vm *vm, struct zheap *z, uint64_t instance,
		       const uint64_t field[static 3])
{
	uint64_t at;

	if (instance == VM_NONE || mem_u64(vm->mem, instance, &at) || !is_metadata(at))
		return false;
	for (int i = 0; i < 3; i++)
		if (field[i] == VM_NONE || mem_u64(vm->mem, at + field[i], &z->masks[i]) ||
		    !is_metadata(z->masks[i]))
			return false;
	return true;
}

static bool layout_take(struct zheap *z, uint64_t start, uint64_t shift, uint64_t entries,
			uint64_t bytes)
{
	if (start > 4096 || shift > 4096 || entries > 4096 || bytes > 4096)
		return false;
	z->start = (uint32_t)start;
	z->shift = (uint32_t)shift;
	z->entries = (uint32_t)entries;
	z->bytes = ((uint32_t)bytes + 7) & ~7u;
	return true;
}

static bool table_take(struct zheap *z, int i, const struct granules *g)
{
	if (!g->size || g->size > TABLE_MAX || !is_metadata(g->map))
		return false;
	z->sizes[i] = g->size;
	z->tables[i] = g->map;
	return true;
}

/*
 * A ZGeneration begins with its number, the heap's page allocator and page table, and then has its
 * forwarding table; where the heap has its generations it does not tell.
 */
static bool generations_find(struct vm *vm, struct zheap *z, uint64_t heap)
{
	uint64_t allocator = heap + vm->at.zh_allocator, pages = heap + vm->at.zh_table;
	struct {
		uint64_t id, allocator, pages;
		struct granules table;
	} g;
	bool found[2] = {false, false};

	for (uint64_t at = heap; at < heap + HEAP_BYTES; at += sizeof(uint64_t)) {
		if (mem_read(vm->mem, at, &g, sizeof(g)))
			break;
		if (g.allocator == allocator && g.pages == pages && (g.id & 0xff) <= OLD &&
		    !found[g.id & 0xff])
			found[g.id & 0xff] = table_take(z, (int)(g.id & 0xff), &g.table);
	}
	return found[YOUNG] && found[OLD];
}

static bool newer_find(struct vm *vm, struct zheap *z, uint64_t heap)
{
	const struct vm_layout *at = &vm->at;
	const uint64_t masks[3] = {at->zg_offset, at->zg_load_good, at->zg_store_good};

	return at->zc_heap != VM_NONE && at->zh_allocator != VM_NONE && at->zh_table != VM_NONE &&
	       masks_find(vm, z, at->zg_instance, masks) &&
	       layout_take(z, at->zf_virtual, at->zf_shift, at->zf_entries, at->zf_size) &&
	       generations_find(vm, z, heap + at->zc_heap);
}

/* Its names, which JDK 21 made begin with X as it got the newer one. */
struct older_names {
	uint64_t instance, masks[3], heap, forwarding;
	uint64_t start, shift, entries, bytes;
};

static struct older_names older_names(const struct vm_layout *at)
{
	if (at->xg_instance != VM_NONE)
		return (struct older_names){
			at->xg_instance, {at->xg_offset, at->xg_good, at->xg_bad},
			at->xc_heap,	 at->xh_forwarding,
			at->xf_virtual,	 at->xf_shift,
			at->xf_entries,	 at->xf_size};
	return (struct older_names){at->zg_instance, {at->zg_offset, at->zg_good, at->zg_bad},
				    at->zc_heap,     at->zh_forwarding,
				    at->zf_virtual,  at->zf_shift,
				    at->zf_entries,  at->zf_size};
}

static bool older_find(struct vm *vm, struct zheap *z, uint64_t heap)
{
	const struct older_names n = older_names(&vm->at);
	struct granules g;

	z->older = true;
	/* its map has a vtable or a length before the array, as told */
	return n.heap != VM_NONE && n.forwarding != VM_NONE &&
	       masks_find(vm, z, n.instance, n.masks) &&
	       layout_take(z, n.start, n.shift, n.entries, n.bytes) &&
	       !mem_read(vm->mem, heap + n.heap + n.forwarding, &g, sizeof(g)) &&
	       table_take(z, YOUNG, &g);
}

int zheap_find(struct vm *vm, bool newer, struct zheap *z)
{
	uint64_t heap;

	*z = (struct zheap){0};
	if (vm->at.heap == VM_NONE || mem_u64(vm->mem, vm->at.heap, &heap) || !is_metadata(heap))
		return -ENOTSUP;
	return (newer ? newer_find(vm, z, heap) : older_find(vm, z, heap)) ? 0 : -ENOTSUP;
}

/* Above the offset a reference has bits for two kinds of marked and, third, for remapped. */
static uint64_t older_remapped(uint64_t offset_mask)
{
	return (offset_mask + 1) << 2;
}

void zheap_tell(struct vm *vm, const struct zheap *z, struct gn_heap *out)
{
	uint64_t offset_mask;

	if (mem_u64(vm->mem, z->masks[OFFSET], &offset_mask))
		return;
	out->offset_mask = offset_mask;
	out->flags |= z->older ? GN_OOP_ZMARKS : GN_OOP_ZGC;
	out->mask = z->masks[z->older ? BAD : GOOD];
	for (int i = 0; i < 2; i++) {
		out->tables[i] = z->tables[i];
		out->granules[i] = z->sizes[i];
	}
	out->fw_start = (uint16_t)z->start;
	out->fw_shift = (uint16_t)z->shift;
	out->fw_entries = (uint16_t)z->entries;
	out->fw_bytes = (uint16_t)z->bytes;
}

/* ---- reading it -------------------------------------------------------------------------------
 */

static int word(struct vm *vm, const struct zheap *z, uint64_t addr, uint64_t *v)
{
	return z->now ? mem_read_now(vm->mem, addr, v, sizeof(*v)) : mem_u64(vm->mem, addr, v);
}

bool zheap_begin(struct vm *vm, struct zheap *z)
{
	z->now = false;
	return !mem_read_now(vm->mem, z->masks[OFFSET], &z->offset_mask, 8) &&
	       !mem_read_now(vm->mem, z->masks[GOOD], &z->good, 8) &&
	       !mem_read_now(vm->mem, z->masks[BAD], &z->bad, 8) && z->offset_mask && z->good;
}

bool zheap_same(struct vm *vm, const struct zheap *z)
{
	uint64_t good, bad;

	return !mem_read_now(vm->mem, z->masks[GOOD], &good, 8) &&
	       !mem_read_now(vm->mem, z->masks[BAD], &bad, 8) && good == z->good && bad == z->bad;
}

/* The page's table, 0: none of its objects is moved. False: it cannot be read. */
static bool forwarding_of(struct vm *vm, const struct zheap *z, int gen, uint64_t offset,
			  uint64_t *f)
{
	uint64_t i = offset >> GRANULE_SHIFT;

	*f = 0;
	return i < z->sizes[gen] && !word(vm, z, z->tables[gen] + i * 8, f) &&
	       (!*f || is_metadata(*f));
}

/*
 * Where the object at the offset went. An entry, which is written once, has bit 0 set, then 45 bits
 * of the new offset, and the number of the place on the page.
 */
static bool forward(struct vm *vm, const struct zheap *z, uint64_t f, uint64_t offset, uint64_t *to)
{
	uint64_t start, shift, n, entry, from;

	if (word(vm, z, f + z->start, &start) || word(vm, z, f + z->shift, &shift) ||
	    word(vm, z, f + z->entries, &n) || start > offset || shift > 32 || !n ||
	    n > ENTRIES_MAX || n & (n - 1))
		return false;
	from = (offset - start) >> shift;
	*to = offset; /* not moved so far */
	for (uint64_t i = gn_zgc_hash((uint32_t)from) & (n - 1), p = 0; p < PROBES_MAX;
	     i = (i + 1) & (n - 1), p++) {
		if (word(vm, z, f + z->bytes + i * 8, &entry))
			return false;
		if (!(entry & 1))
			return true;
		if (entry >> 46 == from) {
			*to = entry >> 1 & ((1ull << 45) - 1);
			return true;
		}
	}
	return false;
}

static uint64_t moved(struct vm *vm, const struct zheap *z, int gen, uint64_t address)
{
	uint64_t offset = address & z->offset_mask, f, to;

	if (!forwarding_of(vm, z, gen, offset, &f))
		return 0;
	if (!f)
		return address;
	return forward(vm, z, f, offset, &to) ? (address & ~z->offset_mask) | to : 0;
}

/* The bit's number; 4: not one of the four is set. */
static unsigned int remapped(uint64_t v)
{
	unsigned int bits = v >> REMAPPED & 15;

	return bits && !(bits & (bits - 1)) ? (unsigned int)__builtin_ctz(bits) : 4;
}

/*
 * Which generation's objects were moved since the reference got its colour: bit 0 of the number of
 * its remapped bit alternates with the young collections, bit 1 with the old ones.
 */
static uint64_t newer_object(struct vm *vm, const struct zheap *z, uint64_t v)
{
	uint64_t address = gn_zgc_address(v), f;
	unsigned int is = remapped(v), good = remapped(z->good), differs = is ^ good;

	if (is > 3 || good > 3 || !address) /* null has a colour, too */
		return 0;
	if (!differs)
		return address;
	if (differs == 1)
		return moved(vm, z, YOUNG, address);
	if (differs == 2 || (v & REMEMBERED) == REMEMBERED)
		return moved(vm, z, OLD, address);
	if (!forwarding_of(vm, z, YOUNG, address & z->offset_mask, &f))
		return 0;
	return moved(vm, z, f ? YOUNG : OLD, address);
}

/* Remapped ones were all made since objects were moved; where they are others may have been then.
 */
static uint64_t older_object(struct vm *vm, const struct zheap *z, uint64_t v)
{
	uint64_t address = (v & z->offset_mask) | z->good;

	if (!(v & z->bad))
		return v;
	return v & older_remapped(z->offset_mask) ? address : moved(vm, z, YOUNG, address);
}

uint64_t zheap_object(struct vm *vm, const struct zheap *z, uint64_t reference)
{
	if (!reference)
		return 0;
	return z->older ? older_object(vm, z, reference) : newer_object(vm, z, reference);
}
