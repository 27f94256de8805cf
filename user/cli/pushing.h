/* SPDX-License-Identifier: Apache-2.0 */
/* The options that say where to and how profiles are sent, for every command that sends some. */
#ifndef GNOMON_CLI_PUSHING_H
#define GNOMON_CLI_PUSHING_H

#include "cli/opt.h"
#include "push/labels.h"
#include "push/limits.h"
#include "push/parts.h"
#include "push/sender.h"

struct pushing {
	const char *url;
	const char *service, *tenant, *basic, *bearer, *proxy, *ca, *cert, *key;
	struct opt_list labels, renames, headers;
	bool insecure, no_spans;
	uint64_t max_age_ns, timeout_ns, finish_ns;
	const char *spool;
	uint64_t spool_cap; /* of --spool */
	uint64_t own_cap;   /* of one that goes with it; 0: any */
};

#define PUSHING_INIT                                                                               \
	{                                                                                          \
		.max_age_ns = PYROSCOPE_AGE_NS, .timeout_ns = 10000000000,                         \
		.finish_ns = 60000000000, .spool_cap = 256u << 20                                  \
	}

/* clang-format off */
/* For an option table; p is a struct pushing that lives as long as the table. */
#define PUSHING_OPTS(p)                                                                            \
	{OPT_STRING, 0, "service", "NAME", "label service_name (from the recording)",              \
	 &(p).service},                                                                            \
	{OPT_LIST, 'l', "label", "NAME=VALUE", "one more label; without a VALUE none of that name", \
	 &(p).labels},                                                                             \
	{OPT_LIST, 0, "relabel", "OLD=NEW", "a label of the recording under another name", \
	 &(p).renames},                                                                            \
	{OPT_FLAG, 0, "no-spans", NULL, "without span and trace ids", &(p).no_spans},              \
	{OPT_STRING, 0, "tenant", "ID", "the tenant (header X-Scope-OrgID)", &(p).tenant},         \
	{OPT_STRING, 0, "basic", "FILE", "user:password stands in FILE", &(p).basic},              \
	{OPT_STRING, 0, "bearer", "FILE", "a bearer token stands in FILE", &(p).bearer},           \
	{OPT_LIST, 0, "header", "HEADER", "one more header, 'Name: value'", &(p).headers},         \
	{OPT_STRING, 0, "ca", "FILE", "certificates that are trusted, in place of the system's",   \
	 &(p).ca},                                                                                 \
	{OPT_STRING, 0, "cert", "FILE", "the client's certificate", &(p).cert},                    \
	{OPT_STRING, 0, "key", "FILE", "its private key", &(p).key},                               \
	{OPT_FLAG, 0, "insecure", NULL, "take any certificate of the server", &(p).insecure},      \
	{OPT_STRING, 0, "proxy", "URL", "an HTTP proxy", &(p).proxy},                              \
	{OPT_DURATION, 0, "timeout", "TIME", "of one request (10s)", &(p).timeout_ns,              \
	 .min = 1000000, .max = 600000000000, .bare = true},                                       \
	{OPT_DURATION, 0, "finish", "TIME", "give up when nothing was taken for TIME (60s)",                \
	 &(p).finish_ns, .max = 86400000000000, .bare = true}
/* clang-format on */

/*
 * Tells the protocol of a URL's server (or of none) by the URL's prefix, which is taken off:
 * "otlp+" or "pyroscope+", as without either.
 */
const struct protocol *pushing_protocol(const char **url, bool by_thread);

/* Reads the options, and the contents of the files that they name. EXIT_USAGE, EXIT_INPUT. */
int pushing_destination(const struct pushing *p, struct destination *d, struct error *e);

/*
 * The labels of the options, beside those that are there already, of the recording; service_name
 * unless --service is there: `service`. EXIT_USAGE.
 */
int pushing_labels(const struct pushing *p, const char *service, struct labels *l, struct error *e);

/* Tells what a user may do about the server's last answer. */
const char *pushing_remedy(const struct sender *s);

/* A file in PEM form; NULL where path is NULL. EXIT_INPUT. */
int pushing_pem(char **to, const char *path, struct error *e);

/* The spool of --spool, or one of its own that goes with it. */
struct pushing_spool {
	struct spool *s;
	char own[64]; /* its path; "" for that of --spool */
};

int pushing_spool_open(const struct pushing *p, struct pushing_spool *s, struct error *e);
void pushing_spool_close(struct pushing_spool *s);

#endif
