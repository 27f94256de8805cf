/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/podding.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/pushing.h"

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

/* What a pod has of its service account, if it is there. */
static const char *account_file(const char *given, const char *path)
{
	return given ? given : !access(path, R_OK) ? path : NULL;
}

static int kubelet_take(const struct podding *p, uint64_t timeout_ns, struct pods_source *to,
			struct error *e)
{
	struct destination *d = &to->kubelet;

	if (!strncmp(p->pods, "http://", 7)) {
		error_set(e, -EINVAL, EXIT_USAGE, "--pods: the token would go over the network");
		return error_hint(e, "the kubelet's URL begins with https://");
	}
	to->token = account_file(p->token, ACCOUNT "token");
	d->timeout_ns = timeout_ns;
	d->url = strdup(p->pods);
	if (!d->url)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	return pushing_pem(&d->ca, account_file(p->ca, ACCOUNT "ca.crt"), e);
}

int podding_source(const struct podding *p, uint64_t timeout_ns, struct pods_source *to,
		   bool *wanted, struct error *e)
{
	*wanted = p->pods;
	if (!p->pods && (p->labels.n || p->token || p->ca))
		return error_set(e, -EINVAL, EXIT_USAGE, "options for pods go with --pods");
	if (!p->pods)
		return 0;
	if (p->labels.n > PODS_WANTED)
		return error_set(e, -E2BIG, EXIT_USAGE, "more than %d labels of pods", PODS_WANTED);
	for (size_t i = 0; i < p->labels.n; i++)
		to->wanted[to->nwanted++] = p->labels.v[i];
	if (!strncmp(p->pods, "https://", 8) || !strncmp(p->pods, "http://", 7))
		return kubelet_take(p, timeout_ns, to, e);
	to->path = p->pods;
	return access(to->path, R_OK) ? error_set(e, -errno, EXIT_INPUT, "cannot read '%s': %s",
						  to->path, strerror(errno))
				      : 0;
}

void podding_end(struct pods_source *s)
{
	destination_free(&s->kubelet);
}
