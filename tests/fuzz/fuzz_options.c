/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/cli/opt.c user/cli/instant.c user/cli/units.c user/cli/suggestion.c user/cli/outname.c user/base/error.c
// FUZZ-LINK: user/base/utf8.c
/*
 * A command line, a word on each line of the input: options of every type, then what is left as
 * output patterns, with the first and the last word for what a target calls itself. Whatever is
 * refused is refused as a usage error with a message; what is taken is within its bounds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "cli/filter.h"
#include "cli/opt.h"
#include "cli/outname.h"

#define WORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct filter filter;
static bool flag;
static const char *str;
static uint64_t cpu, count, chunk;
static pid_t pid;
static int choice;

static const struct opt opts[] = {
	{OPT_FLAG, 'f', "force", NULL, "", &flag},
	{OPT_STRING, 'o', "output", "FILE", "", &str},
	{OPT_DURATION, 0, "cpu", "TIME", "", &cpu, .min = 100000, .max = 10000000000},
	{OPT_COUNT, 'n', "threads", "N", "", &count, .min = 1, .max = 1000},
	{OPT_SIZE, 0, "chunk-size", "SIZE", "", &chunk},
	{OPT_PID, 'p', "pid", "PID", "", &pid},
	{OPT_ENUM, 0, "jvm", "HOW", "", &choice, .choices = {"auto", "agent", "none"}},
	FILTER_OPTS(filter),
	{OPT_END},
};

static void values_reset(void)
{
	for (const struct opt *o = opts; o->type != OPT_END; o++)
		if (o->type == OPT_LIST)
			free(((struct opt_list *)o->value)->v);
	filter = (struct filter){0};
	flag = false;
	str = NULL;
	cpu = 100000;
	chunk = 0;
	count = 1;
	pid = 1;
	choice = 0;
}

static void values_check(void)
{
	if (cpu < 100000 || cpu > 10000000000 || count < 1 || count > 1000 || pid < 1 ||
	    choice < 0 || choice > 2 || (str && !*str))
		abort();
}

/* Nothing but '/' of the pattern's own may be in a name, whatever the target says it is. */
static void pattern_use(const char *pattern, const char *first, const char *last)
{
	struct outname_facts facts = {1234567, first, last, "20261123-014500"};
	struct error e = {0};
	struct outname o;
	char path[OUTNAME_LEN];
	size_t slashes = 0;

	if (outname_read(&o, pattern, &e)) {
		if (e.exit != EXIT_USAGE || !e.msg[0])
			abort();
		return;
	}
	for (const char *p = o.pattern; *p; p++)
		slashes += *p == '/';
	for (unsigned int again = 0; again < 2; again++) {
		if (outname_make(&o, &facts, again, path, sizeof(path)))
			continue;
		if (strlen(path) >= sizeof(path))
			abort();
		for (const char *p = path; *p; p++)
			slashes -= !again && *p == '/';
		if (slashes)
			abort();
	}
}

static void command_line(int argc, char **argv, bool takes_program)
{
	struct command c = {.name = "test", .opts = opts, .takes_program = takes_program};
	struct error e = {0};
	char *first = argv[1], *last = argv[argc - 1];
	int rest;

	values_reset();
	rest = opt_parse(&c, argc, argv, &e);
	values_check();
	if (rest < 0) {
		if (e.exit != EXIT_USAGE || !e.msg[0] || e.rc != rest)
			abort();
		return;
	}
	if (rest < 1 || rest > argc)
		abort();
	for (; rest < argc; rest++)
		pattern_use(argv[rest], first, last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *argv[WORDS + 1] = {"gnomon"};
	int argc = 1;

	memcpy(text, data, size);
	text[size] = '\0';
	for (char *p = text, *save; argc < WORDS; p = NULL) {
		char *word = strtok_r(p, "\n", &save);

		if (!word)
			break;
		argv[argc++] = word;
	}
	if (argc > 1)
		command_line(argc, argv, size % 2);
	values_reset();
	free(text);
	return 0;
}
