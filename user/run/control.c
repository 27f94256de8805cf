/* SPDX-License-Identifier: Apache-2.0 */
#include "run/control.h"

#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/thread.h"

#define MAGIC	   0x676e6f6du
#define GROUPS_MAX 1024
/* Who asks and then does not read keeps others waiting for so long. */
#define PATIENCE_S 2
#define ASK_S	   10
#define AGAIN_MS   100 /* where there is no descriptor for who asks */

/* Of one build: what it is made of has one size. */
#define VERSION                                                                                    \
	(1u << 24 ^ (uint32_t)sizeof(struct control_jvm) << 12 ^                                   \
	 (uint32_t)sizeof(struct control_state))

struct reply {
	uint32_t magic, version;
	int32_t rc;
	uint32_t exit;
	char msg[512], hint[256];
	struct control_state state;
}; /* state.njvms of struct control_jvm follow, where rc is 0 */

/* ---- both ends ------------------------------------------------------------------------------- */

static int address_set(struct sockaddr_un *to, const char *path, struct error *e)
{
	*to = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(to->sun_path))
		return error_set(e, -ENAMETOOLONG, EXIT_USAGE,
				 "the name of a socket is too long: '%s'", path);
	strcpy(to->sun_path, path);
	return 0;
}

static void patience_set(int fd, int seconds)
{
	struct timeval t = {.tv_sec = seconds};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

static int bytes_send(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* ---- who asks -------------------------------------------------------------------------------- */

static int socket_open(const char *path, int *out, struct error *e)
{
	struct sockaddr_un to;
	int rc = address_set(&to, path, e), fd;

	if (rc)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_set(e, -errno, EXIT_INTERNAL, "cannot make a socket: %s",
				 strerror(errno));
	patience_set(fd, ASK_S);
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		*out = fd;
		return 0;
	}
	rc = -errno;
	close(fd);
	if (rc == -EACCES) {
		error_set(e, rc, EXIT_PERMISSION, "'%s' is not ours to ask", path);
		return error_hint(e, "be root, or in the 'group' of the daemon's configuration");
	}
	error_set(e, rc, EXIT_TARGET, "no gnomon daemon listens on '%s'%s%s", path,
		  rc == -ENOENT || rc == -ECONNREFUSED ? "" : ": ",
		  rc == -ENOENT || rc == -ECONNREFUSED ? "" : strerror(-rc));
	return error_hint(e,
			  "start it (systemctl start gnomon), or say where it listens: --socket");
}

static int reply_read(int fd, struct buffer *b, struct error *e)
{
	const size_t most = sizeof(struct reply) + CONTROL_JVM_MAX * sizeof(struct control_jvm);
	uint8_t part[65536];
	ssize_t n;

	while ((n = recv(fd, part, sizeof(part), 0)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(e, -errno, EXIT_INTERNAL, "the daemon does not answer: %s",
					 strerror(errno));
		if (b->len + (size_t)n > most)
			return error_set(e, -EMSGSIZE, EXIT_INTERNAL,
					 "the daemon's answer makes no sense");
		buffer_add(b, part, (size_t)n);
	}
	return b->failed ? error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory") : 0;
}

int control_ask(const char *path, const struct control_request *request, struct control_answer *a,
		struct error *e)
{
	struct control_request r = *request;
	struct buffer b = BUFFER_INIT;
	int fd = -1, rc = socket_open(path, &fd, e);

	if (rc)
		return rc;
	r.magic = MAGIC;
	r.version = VERSION;
	rc = bytes_send(fd, &r, sizeof(r));
	if (rc)
		error_set(e, rc, EXIT_INTERNAL, "cannot ask the daemon: %s", strerror(-rc));
	if (!rc)
		rc = reply_read(fd, &b, e);
	close(fd);
	if (!rc)
		rc = control_parse(b.data, b.len, a, e);
	buffer_free(&b);
	return rc;
}

#define END(text) ((text)[sizeof(text) - 1] = '\0')

static int answer_take(const struct reply *r, const uint8_t *rest, size_t len,
		       struct control_answer *a)
{
	a->state = r->state;
	END(a->state.directory);
	END(a->state.version);
	if (a->state.delivery.n > DELIVERY_MOST || a->state.ntriggers > TRIGGERS_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < a->state.ntriggers; i++) {
		END(a->state.triggers[i].name);
		END(a->state.triggers[i].when);
	}
	for (uint64_t i = 0; i < a->state.delivery.n; i++)
		END(a->state.delivery.to[i].to);
	if (a->state.njvms > CONTROL_JVM_MAX || len != a->state.njvms * sizeof(*a->jvms))
		return -EBADMSG;
	a->jvms = malloc(len + 1);
	if (!a->jvms)
		return -ENOMEM;
	memcpy(a->jvms, rest, len);
	for (uint32_t i = 0; i < a->state.njvms; i++) {
		END(a->jvms[i].name);
		END(a->jvms[i].container);
		END(a->jvms[i].user);
		END(a->jvms[i].dir);
		END(a->jvms[i].reason);
		END(a->jvms[i].totals.watch.circle);
		for (int k = 0; k < WATCH_METHODS; k++)
			END(a->jvms[i].totals.watch.v[k].thread);
		if (a->jvms[i].by > RATE_BUDGET || a->jvms[i].step >= RATE_STEPS)
			a->jvms[i].by = a->jvms[i].step = 0;
	}
	return 0;
}

int control_parse(const void *data, size_t len, struct control_answer *a, struct error *e)
{
	struct reply r;
	int rc = -EBADMSG;

	*a = (struct control_answer){0};
	if (len >= sizeof(r)) {
		memcpy(&r, data, sizeof(r));
		END(r.msg);
		END(r.hint);
		if (r.magic == MAGIC && r.version != VERSION) {
			error_set(e, -EPROTO, EXIT_INTERNAL,
				  "the daemon is another build of gnomon");
			return error_hint(e, "restart it: systemctl restart gnomon");
		}
		if (r.magic == MAGIC && r.rc && r.msg[0]) {
			error_set(e, r.rc < 0 ? r.rc : -EPROTO,
				  r.exit && r.exit <= EXIT_INPUT ? r.exit : EXIT_INTERNAL, "%s",
				  r.msg);
			return r.hint[0] ? error_hint(e, "%s", r.hint) : -EPROTO;
		}
		if (r.magic == MAGIC && !r.rc)
			rc = answer_take(&r, (const uint8_t *)data + sizeof(r), len - sizeof(r), a);
	}
	if (rc)
		error_set(e, rc, EXIT_INTERNAL,
			  rc == -ENOMEM ? "out of memory" : "the daemon's answer makes no sense");
	return rc;
}

void control_answer_free(struct control_answer *a)
{
	free(a->jvms);
	*a = (struct control_answer){0};
}

/* ---- who answers ----------------------------------------------------------------------------- */

struct control {
	struct control_config cfg;
	pthread_t thread;
	bool answers; /* there is a thread */
	int fd, wake;
};

/* A member of the group, by what the kernel says of whoever connected. */
static bool is_member(int fd, uint32_t gid, const struct ucred *who)
{
	gid_t groups[GROUPS_MAX];
	socklen_t len = sizeof(groups);

	if (gid == (uint32_t)-1)
		return false;
	if (who->gid == gid)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len))
		return false;
	for (size_t i = 0; i < len / sizeof(*groups); i++)
		if (groups[i] == gid)
			return true;
	return false;
}

static bool may_ask(const struct control *c, int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
		return false;
	return !who.uid || who.uid == geteuid() || is_member(fd, c->cfg.gid, &who);
}

static int request_answer(struct control *c, int fd, struct control_answer *a, struct error *e)
{
	struct control_request r;
	ssize_t n;

	if (!may_ask(c, fd)) {
		error_set(e, -EACCES, EXIT_PERMISSION, "the daemon does not listen to this user");
		return error_hint(e, "be root, or in the 'group' of its configuration");
	}
	n = recv(fd, &r, sizeof(r), MSG_WAITALL);
	if (n != sizeof(r) || r.magic != MAGIC)
		return error_set(e, -EBADMSG, EXIT_USAGE, "that is no request");
	if (r.version != VERSION)
		return error_set(e, -EPROTO, EXIT_INTERNAL,
				 "the daemon is another build of gnomon");
	return c->cfg.answer(c->cfg.ctx, &r, a, e);
}

static void client_serve(struct control *c, int fd)
{
	struct control_answer a = {0};
	struct error e = {0};
	struct reply r = {.magic = MAGIC, .version = VERSION};

	patience_set(fd, PATIENCE_S);
	r.rc = request_answer(c, fd, &a, &e);
	if (r.rc) {
		r.exit = e.exit;
		memcpy(r.msg, e.msg, sizeof(r.msg) < sizeof(e.msg) ? sizeof(r.msg) : sizeof(e.msg));
		memcpy(r.hint, e.hint,
		       sizeof(r.hint) < sizeof(e.hint) ? sizeof(r.hint) : sizeof(e.hint));
	} else {
		r.state = a.state;
	}
	if (!bytes_send(fd, &r, sizeof(r)) && !r.rc)
		bytes_send(fd, a.jvms, a.state.njvms * sizeof(*a.jvms));
	control_answer_free(&a);
}

static void *control_main(void *arg)
{
	struct control *c = arg;
	struct pollfd fds[2] = {{.fd = c->wake, .events = POLLIN}, {.fd = c->fd, .events = POLLIN}};

	pthread_setname_np(pthread_self(), "gnomon-control");
	for (;;) {
		int client;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (fds[0].revents)
			return NULL;
		client = fds[1].revents ? accept4(c->fd, NULL, NULL, SOCK_CLOEXEC) : -1;
		if (client < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
				poll(fds, 1, AGAIN_MS); /* who asks waits meanwhile */
			continue;
		}
		client_serve(c, client);
		close(client);
	}
}

/* A socket that somebody left behind is removed; one on which somebody listens is not. */
static int place_free(const struct sockaddr_un *to, struct error *e)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;
	struct stat st;

	if (fd < 0)
		return -errno;
	rc = connect(fd, (const struct sockaddr *)to, sizeof(*to)) ? -errno : 0;
	close(fd);
	if (!rc || rc == -EAGAIN) {
		error_set(e, -EADDRINUSE, EXIT_OUTPUT, "another gnomon daemon listens on '%s'",
			  to->sun_path);
		return error_hint(e, "give this one another 'socket'");
	}
	if (!lstat(to->sun_path, &st) && S_ISSOCK(st.st_mode))
		unlink(to->sun_path);
	return 0;
}

static int socket_bind(int fd, const struct control_config *cfg, const struct sockaddr_un *to)
{
	mode_t mask = umask(0177);
	int rc = bind(fd, (const struct sockaddr *)to, sizeof(*to)) ? -errno : 0;

	umask(mask);
	if (!rc && cfg->gid != (uint32_t)-1 &&
	    (chown(cfg->path, (uid_t)-1, cfg->gid) || chmod(cfg->path, 0660)))
		rc = -errno;
	if (!rc && listen(fd, 16))
		rc = -errno;
	return rc;
}

static int socket_listen(struct control *c, struct error *e)
{
	struct sockaddr_un to;
	char dir[sizeof(to.sun_path)];
	int rc = address_set(&to, c->cfg.path, e);

	if (rc)
		return rc;
	strcpy(dir, to.sun_path);
	if (mkdir(dirname(dir), 0755) && errno != EEXIST)
		return error_create(e, dir, errno);
	rc = place_free(&to, e);
	if (rc)
		return rc;
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = c->fd < 0 ? -errno : socket_bind(c->fd, &c->cfg, &to);
	return rc ? error_create(e, c->cfg.path, -rc) : 0;
}

static void control_free(struct control *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->wake >= 0)
		close(c->wake);
	free(c);
}

int control_open(struct control **out, const struct control_config *cfg, struct error *e)
{
	struct control *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	c->cfg = *cfg;
	c->fd = -1;
	c->wake = eventfd(0, EFD_CLOEXEC);
	rc = c->wake < 0 ? error_set(e, -errno, EXIT_INTERNAL, "cannot make an eventfd: %s",
				     strerror(errno))
			 : socket_listen(c, e);
	if (rc)
		control_free(c);
	else
		*out = c;
	return rc;
}

int control_start(struct control *c, struct error *e)
{
	int rc = thread_start(&c->thread, 0, control_main, c);

	c->answers = !rc;
	return rc ? error_set(e, rc, EXIT_INTERNAL, "cannot start a thread: %s", strerror(-rc)) : 0;
}

void control_stop(struct control *c)
{
	uint64_t one = 1;

	if (!c)
		return;
	if (write(c->wake, &one, sizeof(one)) != sizeof(one))
		return; /* cannot be: then the thread stays */
	if (c->answers)
		pthread_join(c->thread, NULL);
	unlink(c->cfg.path);
	control_free(c);
}
