/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfliar LIBJVM FILE HOW: a process that looks like a JVM, with a hsperfdata file mapped that
 * lies. LIBJVM is what it is taken for a JVM by; no VM starts, so the counters are found by the
 * file's name. HOW:
 *
 * large    the file has 2 GB, and says that it uses them
 * lengths  entries say that they are as long as can be, or not at all
 * many     it says that there are two thousand million entries
 * cut      the file ends where the entries begin: reading what is mapped behind it fails
 * changing all of it is other nonsense every few us
 * fifo     where the file was there is a FIFO now, which nobody writes to
 * untouched the file is there already, and is mapped to be read alone; nobody reads it
 *
 * Prints READY and runs until killed.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define USED 32768

static uint64_t state = 88172645463325252ull;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void put(uint8_t *p, uint32_t at, int32_t v)
{
	memcpy(p + at, &v, sizeof(v));
}

static void head(uint8_t *p, int32_t used, int32_t entries)
{
	memcpy(p, "\xca\xfe\xc0\xc0\x01\x02\x00\x01", 8);
	put(p, 8, used);
	put(p, 24, 32);
	put(p, 28, entries);
}

/* Numbers by the name of a collector's, the first ones with the lengths given. */
static void entries(uint8_t *p, int32_t length)
{
	for (uint32_t at = 32; at + 64 <= USED; at += 64) {
		put(p, at, length ? length : 64);
		put(p, at + 4, 20);
		p[at + 12] = 'J';
		put(p, at + 16, 56);
		snprintf((char *)p + at + 20, 36, "sun.gc.collector.%u.invocations", at % 3);
	}
}

static int untouched(const char *libjvm, const char *file)
{
	int fd = open(file, O_RDONLY);

	if (fd < 0 || !dlopen(libjvm, RTLD_NOW) ||
	    mmap(NULL, USED, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		return 1;
	puts("READY");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int fd = argc == 4 && strcmp(argv[3], "untouched")
			 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600)
			 : -1;
	off_t size = argc == 4 && !strcmp(argv[3], "large") ? 2048ll << 20 : USED;
	uint8_t *p;

	if (argc == 4 && !strcmp(argv[3], "untouched"))
		return untouched(argv[1], argv[2]);
	if (fd < 0 || !dlopen(argv[1], RTLD_NOW) || ftruncate(fd, size))
		return 1;
	p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 1;
	head(p, USED, (USED - 32) / 64);
	entries(p, 0);
	if (!strcmp(argv[3], "large"))
		head(p, INT32_MAX, INT32_MAX);
	else if (!strcmp(argv[3], "lengths"))
		entries(p, any() % 2 ? INT32_MAX : 20);
	else if (!strcmp(argv[3], "many"))
		head(p, USED, 2000000000);
	else if (!strcmp(argv[3], "cut") && ftruncate(fd, 32))
		return 1;
	else if (!strcmp(argv[3], "fifo") && (unlink(argv[2]) || mkfifo(argv[2], 0600)))
		return 1;
	puts("READY");
	fflush(stdout);
	while (!strcmp(argv[3], "changing")) {
		for (uint32_t at = 32 + any() % 64; at + 8 <= USED; at += 8 + any() % 128) {
			uint64_t v = any();

			memcpy(p + at, &v, sizeof(v));
		}
		if (any() % 4 == 0)
			entries(p, 0);
		head(p, (int32_t)(any() % 3 ? USED : any()), (int32_t)(any() % 2 ? 511 : any()));
	}
	for (;;)
		pause();
}
