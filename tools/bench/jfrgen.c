/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording of any size to stdout, to measure readers with:
 *
 *	make build/tools/bench/jfrgen
 *	build/tools/bench/jfrgen 1000000 100000 60 200 > big.jfr   # samples, stacks, mean depth,
 *						                   # threads, and a seed
 *
 * Stacks share their outer frames as those of a server do: each branches off an earlier one.
 */
#include <stdio.h>

#include "jfrbuild.h"

#define METHODS 20000

static uint64_t seed = 1;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((seed >> 33) % n);
}

static void flush(struct jb *j)
{
	(void)!fwrite(j->f.data, 1, j->f.len, stdout);
}

static void names(struct jb *j)
{
	char s[128];

	jb_checkpoint(j, 5);
	jb_pool(j, T_STATE, 2);
	jb_named(j, 1, "STATE_DEFAULT");
	jb_named(j, 2, "STATE_PARKED");
	jb_pool(j, T_FTYPE, 6);
	for (int i = 0; i < 6; i++) {
		static const char *const t[] = {"Interpreted", "JIT compiled", "Inlined",
						"Native",      "C++",	       "Kernel"};

		jb_named(j, (uint64_t)i, t[i]);
	}
	jb_pool(j, T_SYMBOL, METHODS + METHODS / 10 + 1);
	for (int i = 0; i < METHODS; i++) {
		snprintf(s, sizeof(s), "method%d", i);
		jb_named(j, (uint64_t)i + 1, s);
	}
	for (int i = 0; i <= METHODS / 10; i++) {
		snprintf(s, sizeof(s), "com/example/shop/package%d/SomeServiceClass%d", i % 50, i);
		jb_named(j, (uint64_t)i + 1 + METHODS, s);
	}
	jb_pool(j, T_CLASS, METHODS / 10 + 1);
	for (int i = 0; i <= METHODS / 10; i++) {
		jb_var(&j->f, (uint64_t)i + 1);
		jb_var(&j->f, (uint64_t)i + 1 + METHODS);
	}
	jb_pool(j, T_METHOD, METHODS);
	for (int i = 0; i < METHODS; i++) {
		jb_var(&j->f, (uint64_t)i + 1);
		jb_var(&j->f, (uint64_t)i / 10 + 1);
		jb_var(&j->f, (uint64_t)i + 1);
		buffer_byte(&j->f, 0);
	}
	jb_end(j);
}

static void threads(struct jb *j, int n)
{
	char s[64];

	jb_checkpoint(j, 1);
	jb_pool(j, T_THREAD, n);
	for (int i = 1; i <= n; i++) {
		jb_var(&j->f, (uint64_t)i);
		jb_utf8(&j->f, "os");
		jb_var(&j->f, (uint64_t)(100 + i));
		snprintf(s, sizeof(s), "pool-%d-thread-%d", i % 7, i);
		jb_utf8(&j->f, s);
		jb_var(&j->f, (uint64_t)i);
	}
	jb_end(j);
}

static void stacks(struct jb *j, int n, int depth)
{
	int max = depth * 2, *frames = calloc((size_t)n * (size_t)max, sizeof(int));
	int *lens = calloc((size_t)n, sizeof(int));

	jb_checkpoint(j, 1);
	jb_pool(j, T_STACK, n);
	for (int i = 0; i < n; i++) {
		int *f = frames + (size_t)i * (size_t)max, keep = 0;

		if (i) {
			int other = (int)rnd((uint32_t)i);

			keep = (int)rnd((uint32_t)lens[other]) + 1;
			if (keep < lens[other] * 3 / 4)
				keep = lens[other] * 3 / 4;
			memcpy(f, frames + (size_t)other * (size_t)max, (size_t)keep * sizeof(int));
		}
		lens[i] = depth / 2 + (int)rnd((uint32_t)depth);
		if (lens[i] < keep)
			lens[i] = keep;
		for (int k = keep; k < lens[i]; k++)
			f[k] = (int)rnd(METHODS);
		jb_var(&j->f, (uint64_t)i + 1);
		buffer_byte(&j->f, 0);
		jb_var(&j->f, (uint64_t)lens[i]);
		for (int k = lens[i] - 1; k >= 0; k--)
			jb_frame(j, f[k] + 1, f[k] % 300, 1 + f[k] % 5);
	}
	jb_end(j);
	free(frames);
	free(lens);
}

int main(int argc, char **argv)
{
	int nsamples = argc > 1 ? atoi(argv[1]) : 1000000,
	    nstacks = argc > 2 ? atoi(argv[2]) : 100000;
	int depth = argc > 3 ? atoi(argv[3]) : 60, nthreads = argc > 4 ? atoi(argv[4]) : 200;
	struct jb j = {0};

	seed = argc > 5 ? (uint64_t)atoi(argv[5]) : 1;
	jb_chunk(&j);
	for (int i = 0; i < nsamples; i++) {
		uint64_t at = 1000 + (uint64_t)i * 10000000000ULL / (uint64_t)nsamples;
		/* a stack belongs to few threads, and few stacks are hot */
		uint32_t a = rnd((uint32_t)nstacks), b = rnd((uint32_t)nstacks);
		int s = (int)(a < b ? a : b), t = (int)((uint32_t)s % (uint32_t)nthreads);

		if (i < nstacks)
			s = i;
		if (s % 3)
			jb_exec(&j, at, t + 1, s + 1);
		else
			jb_wall(&j, at, t + 1, s + 1, 1 + (int)rnd(5), 50000000);
	}
	jb_setting(&j, T_EXEC, "period", "10 ms");
	jb_setting(&j, T_WALL, "period", "20 ms");
	jb_metadata(&j);
	names(&j);
	threads(&j, nthreads);
	stacks(&j, nstacks, depth);
	jb_finish(&j);
	flush(&j);
	jb_free(&j);
	return 0;
}
