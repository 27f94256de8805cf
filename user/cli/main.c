/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sigpipe.h"
#include "broker/broker.h"
#include "cli/opt.h"
#include "jvm/command.h"
#include "target/jvmproc.h"

/* Whether the reader of stdout has closed it, as `head` does. */
static bool reader_is_gone(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO};

	return poll(&out, 1, 0) > 0 && out.revents & POLLERR;
}

/* Data that could not be written to stdout must not look like success. */
static int stdout_finish(int rc)
{
	if (!fflush(stdout) && !ferror(stdout))
		return rc;
	if (!reader_is_gone())
		fprintf(stderr, "gnomon: cannot write to stdout: %s\n", strerror(errno));
	return rc ? rc : EXIT_OUTPUT;
}

static int command_run(const struct command *c, int argc, char **argv)
{
	struct error e = {0};
	int rc;

	if (opt_help_wanted(argc, argv)) {
		opt_help(c);
		return stdout_finish(EXIT_OK);
	}
	rc = opt_parse(c, argc, argv, &e);
	if (rc >= 0 && c->looks)
		broker_start();
	if (rc >= 0)
		rc = c->run(argc - rc, argv + rc, &e);
	else
		rc = (int)e.exit;
	broker_stop();
	if (rc != EXIT_OK && e.msg[0])
		error_print(&e);
	return stdout_finish(rc);
}

static int unknown_say(const char *name)
{
	const char *near = command_near(name);

	fprintf(stderr, "gnomon: unknown command '%s'\n  ", name);
	if (!name[strspn(name, "0123456789")])
		fprintf(stderr, "did you mean 'gnomon record %s'? ", name);
	else if (near)
		fprintf(stderr, "did you mean '%s'? ", near);
	fprintf(stderr, "see: gnomon help\n");
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const struct command *c;
	int i = 1;

	sigpipe_ignore();
	jvm_command_ask(jvm_command_tell);
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "-v"))
			log_level++;
		else if (!strcmp(argv[i], "-vv"))
			log_level += 2;
		else if (!strcmp(argv[i], "-vvv"))
			log_level += 3;
		else if (!strcmp(argv[i], "--version") || !strcmp(argv[i], "-V")) {
			printf("gnomon %s\n", GNOMON_VERSION);
			return stdout_finish(EXIT_OK);
		} else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			commands_help(stdout);
			return stdout_finish(EXIT_OK);
		} else {
			fprintf(stderr,
				"gnomon: unknown option '%s'\n  the command comes first, such as: "
				"gnomon record PID -d 30; see: gnomon help\n",
				argv[i]);
			return EXIT_USAGE;
		}
	}
	if (i >= argc) {
		commands_help(stderr);
		return EXIT_USAGE;
	}
	c = command_find(argv[i]);
	if (!c)
		return unknown_say(argv[i]);
	return command_run(c, argc - i, argv + i);
}
