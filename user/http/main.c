/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gnomon-http: what gnomon's daemon is asked, by HTTP. It has no rights but those of the daemon's
 * group, and answers each request by a run of gnomon.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/rights.h"
#include "base/sigpipe.h"
#include "http/address.h"
#include "http/server.h"

#define DEFAULT_LISTEN "127.0.0.1:9466"
#define DEFAULT_SOCKET "/run/gnomon/gnomon.sock"

static const char usage[] =
	"usage: gnomon-http [--listen ADDRESS:PORT] [--token-file FILE] [--socket PATH]\n\n"
	"What gnomon's daemon is asked, by HTTP: GET /status /jvms /metrics /dump /flame,\n"
	"POST /start /stop /set.\n\n"
	"Options:\n"
	"  --listen ADDRESS:PORT  where (default " DEFAULT_LISTEN "); without a token of this\n"
	"                         machine alone: 127.0.0.1 or [::1]\n"
	"  --token-file FILE      who asks has to know the token in it: Authorization: Bearer "
	"TOKEN\n"
	"  --socket PATH          where the daemon listens (default " DEFAULT_SOCKET ")\n"
	"  -h, --help             this text\n\n"
	"Manual: man gnomon-http\n";

struct options {
	const char *listen, *token, *socket;
};

/* 1: it was said what to say, and that is all. */
static int options_read(struct options *o, int argc, char **argv)
{
	static const struct option known[] = {{"listen", required_argument, NULL, 'l'},
					      {"token-file", required_argument, NULL, 't'},
					      {"socket", required_argument, NULL, 's'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	int c;

	while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		if (c == 'l')
			o->listen = optarg;
		else if (c == 't')
			o->token = optarg;
		else if (c == 's')
			o->socket = optarg;
		else
			return c == 'h' ? 1 : -EINVAL;
	}
	return optind < argc ? -EINVAL : 0;
}

/* Started as root: nobody, of the group that the daemon listens to. */
static int rights_choose(const char *socket, struct error *e)
{
	struct stat st = {0};
	int rc;

	if (!geteuid()) {
		if (stat(socket, &st)) {
			error_set(e, -errno, EXIT_TARGET, "no gnomon daemon listens on '%s'",
				  socket);
			return error_hint(e, "start it first (systemctl start gnomon)");
		}
		if (!st.st_gid || !(st.st_mode & S_IWGRP)) {
			error_set(e, -EACCES, EXIT_PERMISSION, "the daemon listens to root alone");
			return error_hint(e, "give it a 'group' in its configuration: gnomon-http "
					     "runs as a member of that, and not as root");
		}
	}
	rc = rights_drop(RIGHTS_NOBODY, st.st_gid);
	return rc ? error_set(e, rc, EXIT_PERMISSION, "cannot give up rights: %s", strerror(-rc))
		  : 0;
}

static int program_missing(const char *program, struct error *e)
{
	error_set(e, -ENOENT, EXIT_INTERNAL, "cannot run '%s'", program);
	return error_hint(e, "it lies beside gnomon-http, which runs without rights: all users "
			     "have to get at its directory");
}

static int prepare(struct server_config *cfg, const struct options *o, struct error *e)
{
	static char program[PATH_MAX];
	int rc = address_read(&cfg->listen, o->listen, e);

	if (!rc && o->token)
		rc = access_token_read(&cfg->access, o->token, e);
	if (!rc && !o->token && !access_is_loopback((const struct sockaddr *)&cfg->listen)) {
		error_set(e, -EPERM, EXIT_USAGE,
			  "without a token nobody but this machine may ask: not at '%s'",
			  o->listen);
		rc = error_hint(e, "give a --token-file, and put a proxy with TLS before it");
	}
	if (!rc)
		rc = rights_choose(o->socket, e);
	if (!rc && beside_path("gnomon", program, sizeof(program)))
		rc = program_missing(program, e);
	cfg->program = program;
	cfg->socket = o->socket;
	return rc;
}

static int serve(const struct server_config *cfg, struct error *e)
{
	char at[ADDRESS_TEXT];
	struct server *s;
	sigset_t ends;
	int rc, sig;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL); /* before there are threads */
	rc = server_start(&s, cfg, e);
	if (rc)
		return rc;
	address_text(&cfg->listen, server_port(s), at);
	fprintf(stderr, "gnomon-http: http://%s, %s\n", at,
		cfg->access.token[0] ? "with a token" : "without a token");
	while (sigwait(&ends, &sig) || sig == SIGHUP)
		;
	server_stop(s);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = {.listen = DEFAULT_LISTEN, .socket = DEFAULT_SOCKET};
	struct server_config cfg = {0};
	struct error e = {0};
	int rc = options_read(&o, argc, argv);

	if (rc) {
		fputs(usage, rc > 0 ? stdout : stderr);
		return rc > 0 ? EXIT_OK : EXIT_USAGE;
	}
	sigpipe_ignore();
	umask(077);
	rc = prepare(&cfg, &o, &e);
	if (!rc)
		rc = serve(&cfg, &e);
	if (!rc)
		return EXIT_OK;
	fprintf(stderr, "gnomon-http: %s\n%s%s%s", e.msg, e.hint[0] ? "  " : "", e.hint,
		e.hint[0] ? "\n" : "");
	return (int)e.exit;
}
