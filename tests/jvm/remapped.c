/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three libraries in one file. Remapped.java calls the first, which opens one of the others, has it
 * work and closes it again: -DWORK=alpha and -DWORK=omega make libraries that come to the same
 * place.
 */
#include <stdint.h>
#include <time.h>

#ifdef WORK

void WORK(int64_t until)
{
	struct timespec ts;

	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	} while (ts.tv_sec * 1000 + ts.tv_nsec / 1000000 < until);
}

#else

#include <dlfcn.h>

/* JNI's functions have a fixed place in the table (jni.h); of it only these are needed. */
#define GET_STRING_UTF_CHARS 169

/* Where the function was, 0 if it is not there. */
int64_t Java_Remapped_work(void ***env, void *cls, void *path, void *name, int64_t until)
{
	const char *(*chars)(void ***, void *, char *) =
		(const char *(*)(void ***, void *, char *))(*env)[GET_STRING_UTF_CHARS];
	void *lib = dlopen(chars(env, path, 0), RTLD_NOW);
	void (*work)(int64_t) = lib ? (void (*)(int64_t))dlsym(lib, chars(env, name, 0)) : 0;

	if (work)
		work(until);
	if (lib)
		dlclose(lib);
	return (int64_t)work;
}

#endif
