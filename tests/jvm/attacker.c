/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that looks like a JVM and means harm: it maps the file that ATTACK_LIB names, whose
 * name is libjvm.so, and does what ATTACK says. Prints READY and runs until it is killed. Its
 * command line is whatever the test chose.
 *
 *	idle		nothing: what it looks like is the attack
 *	called NAME	its main thread is called so
 *	map FILE...	has the files mapped, too
 *	burn FILE...	and a thread that runs in each, at 0x1000
 *	rename N	so many threads rename themselves all the time
 *	fork N		so many start threads all the time
 *	exec		becomes the same program again and again
 *	many N		is so many processes
 *	stacks FILE	two threads have a deep stack of functions of FILE, a new one each time
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGS_MAX 64
#define CODE	 0x1000
#define DEPTH	 1000

static char *args[ARGS_MAX]; /* of ATTACK: the mode, then its own */

static void die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/* The whole file, executable; where it begins. */
static void *file_map(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		die(path);
	close(fd);
	return p;
}

static void args_take(void)
{
	/* a copy: it is needed whole at an exec */
	char *text = getenv("ATTACK") ? strdup(getenv("ATTACK")) : NULL;

	for (int i = 0; text && i < ARGS_MAX - 1; i++)
		args[i] = strsep(&text, " ");
	if (!args[0])
		die("no ATTACK");
}

static void ready(void)
{
	printf("READY %d\n", getpid());
	fflush(stdout);
}

static void idle(void)
{
	ready();
}

static unsigned long number(void)
{
	return args[1] ? strtoul(args[1], NULL, 10) : 1;
}

static void threads_start(unsigned long n, void *(*fn)(void *), void *arg)
{
	pthread_t t;

	for (unsigned long i = 0; i < n; i++)
		if (pthread_create(&t, NULL, fn, arg))
			die("pthread_create");
}

static void called(void)
{
	prctl(PR_SET_NAME, args[1]);
	ready();
}

static void map(void)
{
	for (int i = 1; args[i]; i++)
		file_map(args[i]);
	ready();
}

static void *in_file(void *base)
{
	((void (*)(void))((char *)base + CODE))();
	return NULL;
}

static void burn(void)
{
	for (int i = 1; args[i]; i++)
		threads_start(1, in_file, file_map(args[i]));
	ready();
}

static void *rename_loop(void *arg)
{
	static const char *const names[] = {"one", "other"};

	for (unsigned int i = 0;; i++)
		prctl(PR_SET_NAME, names[i % 2]);
	return NULL;
}

static void rename_threads(void)
{
	threads_start(number(), rename_loop, NULL);
	ready();
}

static void *end_at_once(void *arg)
{
	return NULL;
}

static void *fork_loop(void *arg)
{
	pthread_t t;

	for (;;)
		if (!pthread_create(&t, NULL, end_at_once, NULL))
			pthread_join(t, NULL);
	return NULL;
}

static void fork_threads(void)
{
	threads_start(number(), fork_loop, NULL);
	ready();
}

/* The command line stays, but for the first time, when it says that it is ready. */
static void exec_again(char **argv)
{
	if (!getenv("ATTACKED"))
		ready();
	setenv("ATTACKED", "1", 1);
	usleep(200); /* or nobody would see it do anything else */
	execv("/proc/self/exe", argv);
	die("execv");
}

static void many(void)
{
	for (unsigned long n = number(); n > 1; n--) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, 9);
		return;
	}
	ready();
}

#ifdef __x86_64__
/* push rbp; mov rbp, rsi; 1: dec rdi; jne 1b; pop rbp; ret */
static const uint8_t spin_code[] = {0x55, 0x48, 0x89, 0xf5, 0x48, 0xff,
				    0xcf, 0x75, 0xfb, 0x5d, 0xc3};
#endif

typedef void (*spin_fn)(uint64_t turns, uint64_t *frame);

/* Frames as functions make them that keep frame pointers: the caller's, then where it goes on. */
static void chain_make(uint64_t *chain, uint64_t code, uint64_t size, uint64_t *seed)
{
	for (int i = 0; i < DEPTH; i++) {
		*seed ^= *seed << 13;
		*seed ^= *seed >> 7;
		*seed ^= *seed << 17;
		chain[2 * i] = (uint64_t)(uintptr_t)&chain[2 * i + 2];
		chain[2 * i + 1] = code + *seed % (size / 16) * 16 + 4;
	}
	chain[2 * DEPTH] = chain[2 * DEPTH + 1] = 0;
}

static spin_fn spin;
static uint64_t stacks_size;

/* Not inlined: the chain has to lie above the frame of what is called. */
static __attribute__((noinline)) void spin_on(uint64_t *chain)
{
	spin(400000, chain);
}

static void *stacks_loop(void *base)
{
	uint64_t chain[2 * DEPTH + 2], seed = (uint64_t)(uintptr_t)chain | 1;

	for (;;) {
		chain_make(chain, (uint64_t)(uintptr_t)base + CODE, stacks_size, &seed);
		spin_on(chain);
	}
	return NULL;
}

static void stacks(void)
{
#ifdef __x86_64__
	struct stat st;
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED || stat(args[1], &st))
		die(args[1]);
	memcpy(p, spin_code, sizeof(spin_code));
	spin = (spin_fn)p;
	stacks_size = (uint64_t)st.st_size / 20; /* of its code: the names are far longer */
	threads_start(2, stacks_loop, file_map(args[1]));
#endif
	ready();
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{"idle", idle}, {"called", called},	    {"map", map},	    {"burn", burn},
	{"many", many}, {"rename", rename_threads}, {"fork", fork_threads}, {"stacks", stacks},
};

int main(int argc, char **argv)
{
	(void)argc;
	args_take();
	prctl(PR_SET_PDEATHSIG, 9);
	file_map(getenv("ATTACK_LIB"));
	if (!strcmp(args[0], "exec"))
		exec_again(argv);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, args[0])) {
			modes[i].run();
			for (;;)
				pause();
		}
	die(args[0]);
}
