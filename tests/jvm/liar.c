/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liar LIBJVM SEED: a process that looks like a JVM and lies. It loads a real libjvm.so, starts no
 * VM, and overwrites what the VM structures (JDK runtime/vmStructs.hpp) tell: where things are, how
 * large they are, and the things themselves, which become a maze of pointers into itself. Its
 * threads run from inside what it says is the code cache. Prints READY and runs until killed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAZE (8u << 20)

struct row {
	const char *type, *field, *type_string;
	int32_t is_static;
	uint64_t offset;
	void *address;
};

struct constant {
	const char *name;
	int32_t value;
};

struct size {
	const char *type, *super;
	int32_t oop, integer, is_unsigned;
	uint64_t size;
};

static uint64_t state;
static uint8_t *maze;

/* xorshift64 */
static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t lie(void)
{
	static const uint64_t odd[] = {
		0,	    1,		7,	    0xff,  0x7fffffff,	 0x80000000,
		0xffffffff, 1ull << 47, 1ull << 63, ~0ull, ~0ull - 0xfff};
	uint64_t r = any();

	if (r % 8 < 5)
		return (uint64_t)(uintptr_t)maze + (any() % (MAZE - 64) & ~7ull);
	if (r % 8 < 7)
		return odd[any() % (sizeof(odd) / sizeof(odd[0]))];
	return any();
}

static void writable(const void *p, size_t len)
{
	uintptr_t page = (uintptr_t)p & ~4095ul;

	mprotect((void *)page, len + ((uintptr_t)p - page), PROT_READ | PROT_WRITE);
}

static void word_set(void *at, uint64_t v)
{
	writable(at, 8);
	memcpy(at, &v, 8);
}

static struct row *row_find(void *lib, const char *type, const char *field)
{
	struct row **table = dlsym(lib, "gHotSpotVMStructs"), *r;

	for (r = *table; r->type; r++)
		if (!strcmp(r->type, type) && !strcmp(r->field, field))
			return r;
	return NULL;
}

static void field_set(void *lib, const char *type, const char *field, uint8_t *object, uint64_t v,
		      size_t len)
{
	struct row *r = row_find(lib, type, field);

	if (r && r->offset < 4096)
		memcpy(object + r->offset, &v, len);
}

/* One code heap, all of the maze, in order as far as to be walked: what lies in it is the lie. */
static void heap_tell(void *lib, void *heaps)
{
	struct row *memory = row_find(lib, "CodeHeap", "_memory");
	struct row *map = row_find(lib, "CodeHeap", "_segmap");
	uint64_t low = (uint64_t)(uintptr_t)maze, high = low + MAZE;
	static uint8_t array[64], heap[4096];
	static uint8_t *data[1] = {heap};

	if (!heaps || !memory || !map)
		return;
	field_set(lib, "GenericGrowableArray", "_len", array, 1, 4);
	field_set(lib, "GrowableArrayBase", "_len", array, 1, 4);
	field_set(lib, "GrowableArray<int>", "_data", array, (uint64_t)(uintptr_t)data, 8);
	field_set(lib, "CodeHeap", "_log2_segment_size", heap, 7, 4);
	for (struct row *r = memory; r; r = r == memory ? map : NULL) {
		field_set(lib, "VirtualSpace", "_low_boundary", heap + r->offset, low, 8);
		field_set(lib, "VirtualSpace", "_high_boundary", heap + r->offset, high, 8);
		field_set(lib, "VirtualSpace", "_low", heap + r->offset, low, 8);
		field_set(lib, "VirtualSpace", "_high", heap + r->offset, high, 8);
	}
	word_set(heaps, (uint64_t)(uintptr_t)array);
}

static void structs_lie(void *lib, int heap)
{
	struct row **table = dlsym(lib, "gHotSpotVMStructs"), *r;
	struct row *heaps_row = row_find(lib, "CodeCache", "_heaps");
	void *heaps = heaps_row ? heaps_row->address : NULL;
	int offsets = state % 3 == 0, last = state % 5 == 0;

	for (r = *table; r->type; r++) {
		if (r->is_static && r->address && any() % 8)
			word_set(r->address, lie());
		else if (!r->is_static && offsets && any() % 4 == 0)
			word_set(&r->offset, any() % 2 ? any() % 4096 : lie());
		else if (r->is_static && any() % 64 == 0)
			word_set(&r->address, lie());
	}
	if (heap)
		heap_tell(lib, heaps);
	/* a table that does not end where it should */
	if (last)
		word_set(&r->type, lie());
}

static void sizes_lie(void *lib)
{
	struct size **types = dlsym(lib, "gHotSpotVMTypes"), *t;
	struct constant **ints = dlsym(lib, "gHotSpotVMIntConstants"), *c;

	for (t = *types; t->type; t++)
		if (any() % 16 == 0)
			word_set(&t->size, any() % 2 ? any() % 64 : lie());
	for (c = *ints; c->name; c++)
		if (any() % 16 == 0) {
			writable(&c->value, 4);
			c->value = (int32_t)lie();
		}
}

static void strides_lie(void *lib)
{
	static const char *const names[] = {
		"gHotSpotVMStructEntryArrayStride", "gHotSpotVMTypeEntryArrayStride",
		"gHotSpotVMIntConstantEntryArrayStride", "gHotSpotVMLongConstantEntryArrayStride"};
	void *at;

	if (state % 7)
		return;
	at = dlsym(lib, names[any() % 4]);
	if (at)
		word_set(at, lie());
}

/* A loop of one instruction, wherever it is put. */
static void *in_maze(void *at)
{
#ifdef __x86_64__
	static const uint8_t code[] = {0xeb, 0xfe};
#else
	static const uint8_t code[] = {0x00, 0x00, 0x00, 0x14};
#endif
	void (*fn)(void) = (void (*)(void))at;

	memcpy(at, code, sizeof(code));
	__builtin___clear_cache((char *)at, (char *)at + sizeof(code));
	fn();
	return NULL;
}

int main(int argc, char **argv)
{
	void *lib = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	pthread_t t;

	if (!lib) {
		fprintf(stderr, "liar: %s\n", argc == 3 ? dlerror() : "LIBJVM SEED");
		return 2;
	}
	state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull | 1;
	maze = mmap(NULL, MAZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (maze == MAP_FAILED)
		return 1;
	for (uint32_t i = 0; i < MAZE; i += 8) {
		uint64_t v = lie();

		memcpy(maze + i, &v, 8);
	}
	structs_lie(lib, strtoull(argv[2], NULL, 10) % 2);
	sizes_lie(lib);
	strides_lie(lib);
	for (int i = 0; i < 2; i++)
		pthread_create(&t, NULL, in_maze, maze + (any() % (MAZE / 2) & ~15ull));
	printf("READY %d\n", getpid());
	fflush(stdout);
	for (;;)
		usleep(1000);
}
