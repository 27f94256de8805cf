// SPDX-License-Identifier: Apache-2.0
/*
 * A publisher of thread contexts as small as can be, for each way to get at a thread-local variable
 * and for each C library. With LIBRARY: the library, of which `record_set` is the function. Else
 * the program: it has the variable itself, is linked with the library, or loads argv[1] when a
 * thread runs already. It starts three threads with the span ids 1, 2 and 0 (no context), says
 * READY and waits for the end of its input. With LIBJVM in the environment it has that file mapped,
 * and so passes for a JVM. With HOSTILE no record is what it should be.
 */
#include <stdint.h>

#if defined(LIBRARY) || defined(WHOLE)
struct record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t size;
	uint8_t attrs[8];
};

__attribute__((visibility("default"))) _Thread_local struct record *otel_thread_ctx_v1;
__attribute__((visibility("default"))) _Thread_local char other[64];

void record_set(struct record *r);
void record_set(struct record *r)
{
	other[0]++;
	otel_thread_ctx_v1 = r;
}
#else
struct record;
void record_set(struct record *r);
#endif

#ifndef LIBRARY
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint8_t records[2][40] = {
	{[15] = 0xaa, [23] = 1, [24] = 1, [26] = 4, [29] = 2, 'h', 'i'},
	{[15] = 0xbb, [23] = 2, [24] = 1},
};
static void (*set)(struct record *);
static pthread_barrier_t loaded, published;

static void *run(void *arg)
{
	pthread_barrier_wait(&loaded);
	if (arg)
		set(arg);
	pthread_barrier_wait(&published);
#ifdef HOSTILE
	for (uint32_t n = 0; arg == records[0]; n++) { /* another one each time */
		memcpy(records[0] + 4, &n, sizeof(n));
		usleep(n % 2000);
	}
#endif
	for (;;)
		pause();
	return NULL;
}

#ifdef HOSTILE
/* A whole record, of which it says that 65,535 bytes of attributes follow: behind it is nothing. */
static void *at_page_end(void)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p + 4096, 4096, PROT_NONE);
	memcpy(p + 4096 - 28, records[1], 26);
	memset(p + 4096 - 2, 0xff, 2);
	return p + 4096 - 28;
}
#endif

int main(int argc, char **argv)
{
#ifdef HOSTILE
	void *args[] = {at_page_end(), (void *)0xdead0000dead, records[0]};
#else
	void *args[] = {records[0], records[1], NULL};
#endif
	pthread_t t;
	char c;

	if (getenv("LIBJVM"))
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE,
		     open(getenv("LIBJVM"), O_RDONLY), 0);
	pthread_barrier_init(&loaded, NULL, 4);
	pthread_barrier_init(&published, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, run, args[i]);
#ifdef LOADS
	set = (void (*)(struct record *))dlsym(dlopen(argv[1], RTLD_NOW), "record_set");
#else
	set = record_set;
#endif
	pthread_barrier_wait(&loaded);
	pthread_barrier_wait(&published);
	puts("READY");
	fflush(stdout);
	return read(0, &c, 1) != 0;
}
#endif
