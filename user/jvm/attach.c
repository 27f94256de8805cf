/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "broker/broker.h"
#include "jvm/attachreply.h"
#include "jvm/creds.h"
#include "jvm/jproc.h"
#include "jvm/perfdata.h"
#include "target/jvmproc.h"

#define PERFDATA_MAX (1u << 20)
#define TMP_ENTRIES  20000
#define TMP_USERS    1000 /* whose directories among them are looked into */
#define ARG_LEN_MAX  1024 /* AttachOperation::arg_length_max */
#define OTHERS_MS    1000 /* how long another tool's signal may take to be answered */
#define SIGQUIT_BIT  (1ULL << (SIGQUIT - 1))

static int64_t now_ms(void)
{
	return (int64_t)(now_ns() / 1000000);
}

static int left_ms(int64_t deadline)
{
	int64_t left = deadline - now_ms();

	return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

/* ---- may it be attached? --------------------------------------------------------------------- */

static enum attach_state status_set(struct attach_status *st, enum attach_state s,
				    const char *reason, const char *hint)
{
	st->state = s;
	snprintf(st->reason, sizeof(st->reason), "%.159s", reason);
	snprintf(st->hint, sizeof(st->hint), "%.159s", hint);
	return s;
}

/*
 * The counters below a directory of the target's. It is opened by a worker, who follows no link out
 * of that directory, is held up by no FIFO or device, and may hang where its file system does.
 */
static int perfdata_file(const struct jproc *p, int dir, struct buffer *b)
{
	struct broker_file file;
	char name[16];
	ssize_t n = -1;
	int fd;

	snprintf(name, sizeof(name), "%d", p->inner);
	fd = broker_below(p->pid, dir, name, &file);
	if (fd < 0)
		return fd;
	if (file.uid == p->uid && file.size <= PERFDATA_MAX && buffer_reserve(b, file.size + 1))
		n = pread(fd, b->data, file.size, 0);
	b->len = n > 0 ? (size_t)n : 0;
	close(fd);
	return n > 0 ? 0 : -EINVAL;
}

/* The directory is named after the user inside the container; only its owner tells whose it is. */
static int perfdata_dir(const struct jproc *p, const char *name)
{
	char path[300];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "tmp/%s", name);
	fd = jproc_directory(p, path);
	if (fd < 0 || (!fstat(fd, &st) && st.st_uid == p->uid))
		return fd;
	close(fd);
	return -EPERM;
}

/* What perfdata_can_attach() says; -1 also where there are none. */
static int perfdata_ask(const struct jproc *p, const char *name)
{
	int dir = perfdata_dir(p, name), capable = -1;
	struct buffer b = BUFFER_INIT;

	if (dir < 0)
		return -1;
	if (!perfdata_file(p, dir, &b))
		capable = perfdata_can_attach(b.data, b.len);
	buffer_free(&b);
	close(dir);
	return capable;
}

/*
 * 1: it can be attached to, 0: it cannot, -1: not known. Flags that were read from files show only
 * here.
 */
static int perfdata_capable(const struct jproc *p)
{
	int fd = jproc_openat(p, "tmp", O_RDONLY | O_DIRECTORY), capable = -1, asked = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	for (int i = 0; capable < 0 && i < TMP_ENTRIES && (de = readdir(d)); i++)
		if (!strncmp(de->d_name, "hsperfdata_", 11) && asked++ < TMP_USERS)
			capable = perfdata_ask(p, de->d_name);
	closedir(d);
	return capable;
}

static void socket_name(const struct jproc *p, char *name, size_t n)
{
	snprintf(name, n, ".java_pid%d", p->inner);
}

/* 1: it is there, 0: it is not; -ETIMEDOUT: what has that name does not answer. */
static int socket_look(const struct jproc *p)
{
	char name[64], path[80];
	struct stat st;
	int fd, is;

	socket_name(p, name, sizeof(name));
	snprintf(path, sizeof(path), "tmp/%s", name);
	/* a worker finds that it is no regular file, or hangs */
	fd = broker_below(p->pid, p->root, path, NULL);
	if (fd >= 0)
		close(fd);
	if (fd != -EINVAL)
		return fd == -ETIMEDOUT ? fd : 0;
	fd = jproc_openat(p, path, O_PATH | O_NOFOLLOW);
	if (fd < 0)
		return 0;
	is = !fstat(fd, &st) && S_ISSOCK(st.st_mode);
	close(fd);
	return is;
}

/* -Xrs leaves SIGQUIT to the program, and so the JVM listens from its start. */
static enum attach_state check_signal(struct jproc *p, struct attach_status *st, bool reduced)
{
	if (reduced)
		return status_set(
			st, ATTACH_STARTING,
			"-Xrs is set, and its attach socket is not there (yet, or was removed)",
			"try again in a moment, or use --jvm vmstructs");
	if (!(p->caught & SIGQUIT_BIT))
		return status_set(st, ATTACH_STARTING,
				  "it has no handler for SIGQUIT: the JVM is still starting",
				  "try again in a moment, or use --jvm vmstructs");
	return ATTACH_OK;
}

static enum attach_state check_listener(struct jproc *p, struct attach_status *st, bool reduced)
{
	if (st->listening)
		return ATTACH_OK;
	if (perfdata_capable(p) == 0)
		return status_set(st, ATTACH_DISABLED, "attaching is disabled in this JVM",
				  "start it without -XX:+DisableAttachMechanism, or use --jvm "
				  "vmstructs");
	return check_signal(p, st, reduced);
}

/* Whether the JVM itself could create a file there, as far as mode bits and mounts tell. */
static bool tmp_writable(const struct jproc *p)
{
	int fd = jproc_openat(p, "tmp", O_PATH | O_DIRECTORY);
	struct statvfs fs;
	struct stat st;
	mode_t bit;
	bool ok;

	if (fd < 0)
		return false;
	ok = !fstat(fd, &st) && !fstatvfs(fd, &fs) && !(fs.f_flag & ST_RDONLY);
	close(fd);
	if (!ok || !p->uid)
		return ok;
	bit = st.st_uid == p->uid ? S_IWUSR : st.st_gid == p->gid ? S_IWGRP : S_IWOTH;
	return st.st_mode & bit;
}

static enum attach_state check_tmp(struct jproc *p, struct attach_status *st)
{
	int tmp = jproc_directory(p, "tmp"), listens;

	if (tmp >= 0)
		close(tmp);
	if (tmp == -ETIMEDOUT)
		return status_set(st, ATTACH_NO_TMP,
				  "the file system of its '/tmp' does not answer",
				  "see what serves it (FUSE, NFS), or use --jvm vmstructs");
	listens = socket_look(p);
	if (listens < 0)
		return status_set(st, ATTACH_NO_TMP,
				  "what is in place of its attach socket does not answer",
				  "see what serves it (FUSE, NFS), or use --jvm vmstructs");
	st->listening = listens;
	if (st->listening || tmp_writable(p))
		return ATTACH_OK;
	return status_set(st, ATTACH_NO_TMP, "it has no '/tmp' that it can write to",
			  "mount a tmpfs on its /tmp, or use --jvm vmstructs");
}

enum attach_state attach_check_jproc(struct jproc *p, struct attach_status *st)
{
	struct java_flags f = {0};

	*st = (struct attach_status){0};
	jvm_flags_read(p->pid, &f);
	/* what was read by number holds only if the same process is still there */
	if (jproc_refresh(p))
		return status_set(st, ATTACH_GONE, "the process has ended", "");
	if (!jproc_is_jvm(p))
		return status_set(st, ATTACH_NOT_JVM, "it has not loaded libjvm.so",
				  "gnomon jvms lists the JVMs of this host");
	st->agents = f.agents;
	if (f.disable_attach)
		return status_set(st, ATTACH_DISABLED, "-XX:+DisableAttachMechanism is set",
				  "start it without that flag, or use --jvm vmstructs");
	if (p->state == 'T' || p->state == 't')
		return status_set(st, ATTACH_STOPPED, "it is stopped (by SIGSTOP or a debugger)",
				  "let it go on (kill -CONT), or use --jvm vmstructs");
	if (jproc_frozen(p))
		return status_set(st, ATTACH_FROZEN, "its cgroup is frozen",
				  "thaw it, or use --jvm vmstructs");
	if (check_tmp(p, st))
		return st->state;
	return check_listener(p, st, f.reduce_signals);
}

static enum attach_state state_of(const struct error *e)
{
	return e->exit == EXIT_PERMISSION ? ATTACH_PERMISSION : ATTACH_GONE;
}

enum attach_state attach_check(pid_t pid, struct attach_status *st)
{
	struct error e = {0};
	struct jproc p;

	*st = (struct attach_status){0};
	if (jproc_open(&p, pid, &e))
		return status_set(st, state_of(&e), e.msg, e.hint);
	attach_check_jproc(&p, st);
	jproc_close(&p);
	return st->state;
}

enum attach_state attach_judge(const struct jvm_proc *j, struct attach_status *st)
{
	*st = (struct attach_status){0};
	if (geteuid() && geteuid() != j->uid)
		return status_set(st, ATTACH_PERMISSION, "another user's: needs root",
				  "run as root");
	if (j->release.openj9)
		return status_set(st, ATTACH_NOT_HOTSPOT, "OpenJ9, not HotSpot",
				  "only native and kernel frames have names");
	if (attach_check(j->id.pid, st))
		return st->state;
	if (st->agents == JAVA_AGENTS_FORBIDDEN)
		return status_set(st, ATTACH_NO_AGENTS,
				  "agents are refused (-XX:-EnableDynamicAgentLoading)",
				  "--jvm vmstructs needs no agent");
	return ATTACH_OK;
}

static int refused(const struct jproc *p, const struct attach_status *st, struct error *e)
{
	error_set(e, -EOPNOTSUPP, EXIT_TARGET, "cannot attach to process %d: %s", p->pid,
		  st->reason);
	return error_hint(e, "%s", st->hint);
}

/* ---- the socket ------------------------------------------------------------------------------ */

static int tmp_open(const struct jproc *p, struct error *e)
{
	int fd = jproc_directory(p, "tmp");

	if (fd >= 0)
		return fd;
	error_set(e, fd, EXIT_TARGET, "cannot open '/tmp' of process %d: %s", p->pid,
		  strerror(-fd));
	return error_hint(e, "the JVM needs a writable /tmp for attaching; or use --jvm vmstructs");
}

/* The address names our descriptor of the socket, so that we connect to what was checked. */
static int socket_connect(const struct jproc *p, int at)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct creds old;
	int fd, rc;

	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d", at);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	rc = creds_assume(&old, p->uid, p->gid);
	if (!rc) {
		rc = connect(fd, (struct sockaddr *)&a, sizeof(a)) ? -errno : 0;
		creds_restore(&old);
	}
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

static int foreign(const struct jproc *p, struct error *e, const char *what)
{
	error_set(e, -EXDEV, EXIT_TARGET, "cannot attach to process %d: '/tmp/.java_pid%d' %s",
		  p->pid, p->inner, what);
	return error_hint(e, "JVMs that share /tmp but not PID namespaces mix up their sockets: "
			     "give each its own /tmp, or use --jvm vmstructs");
}

static int peer_check(const struct jproc *p, int fd, struct error *e)
{
	struct ucred c = {0};
	socklen_t n = sizeof(c);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n))
		return error_set(e, -errno, EXIT_INTERNAL, "cannot tell who answers for process %d",
				 p->pid);
	if (c.pid != p->pid)
		return foreign(p, e, "is another process's");
	return 0;
}

/*
 * Connects to the target's listener. -ENOENT and -ECONNREFUSED (without a message): there is none,
 * or a killed JVM has left its socket.
 */
static int listener_connect(const struct jproc *p, int tmp, int64_t deadline, struct error *e)
{
	char name[64];
	struct stat st;
	int at, fd, rc;

	socket_name(p, name, sizeof(name));
	at = openat(tmp, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return -errno;
	if (fstat(at, &st) || !S_ISSOCK(st.st_mode) || (st.st_uid != p->uid && st.st_uid)) {
		close(at);
		return foreign(p, e, "is no socket of the JVM's user");
	}
	while ((fd = socket_connect(p, at)) == -EAGAIN && left_ms(deadline))
		usleep(2000); /* its queue of connections is full */
	close(at);
	if (fd < 0)
		return fd;
	rc = peer_check(p, fd, e);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* ---- waking the listener --------------------------------------------------------------------- */

/*
 * Creates the trigger file. 1: it was there already, made by another tool that may have sent its
 * signal.
 */
static int trigger_create(const struct jproc *p, int tmp, const char *name)
{
	struct creds old;
	struct stat st;
	int fd, rc;

	rc = creds_assume(&old, p->uid, p->gid);
	if (rc)
		return rc;
	fd = openat(tmp, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = fd < 0 ? -errno : 0;
	creds_restore(&old);
	if (fd >= 0)
		close(fd);
	/* it is another tool's, or was left by one that was killed: it does as well as ours */
	if (rc == -EEXIST && !fstatat(tmp, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	    st.st_uid == p->uid)
		return 1;
	return rc;
}

/* Removes it with the target's user's rights, so that nothing of anybody else's can be removed. */
static void trigger_remove(const struct jproc *p, int tmp, const char *name)
{
	struct creds old;

	if (creds_assume(&old, p->uid, p->gid))
		return;
	unlinkat(tmp, name, 0);
	creds_restore(&old);
}

static void trigger_name(const struct jproc *p, char *name, size_t n)
{
	snprintf(name, n, ".attach_pid%d", p->inner);
}

/* Removes a trigger file that a killed tool has left: with the listener up nobody needs it. */
static void trigger_sweep(const struct jproc *p, int tmp)
{
	char name[64];
	struct stat st;

	trigger_name(p, name, sizeof(name));
	if (!fstatat(tmp, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	    st.st_uid == p->uid && !st.st_size)
		trigger_remove(p, tmp, name);
}

static int timed_out(const struct jproc *p, const char *what, struct error *e)
{
	error_set(e, -ETIMEDOUT, EXIT_TARGET, "process %d %s in time", p->pid, what);
	error_hint(e, "it may be paused, swapped out or out of CPU quota; try again, or use "
		      "--jvm vmstructs");
	return -ETIMEDOUT;
}

static int gone(const struct jproc *p, struct error *e)
{
	return error_set(e, -ESRCH, EXIT_TARGET, "process %d ended while attaching", p->pid);
}

static int listener_wait(struct jproc *p, int tmp, int64_t deadline, struct error *e)
{
	int pause = 1, fd;

	while (left_ms(deadline)) {
		fd = listener_connect(p, tmp, deadline, e);
		if (fd != -ENOENT && fd != -ECONNREFUSED)
			return fd;
		if (jproc_refresh(p))
			return gone(p, e);
		usleep((useconds_t)pause * 1000);
		pause = pause < 20 ? pause * 2 : 20;
	}
	return timed_out(p, "did not open its attach socket", e);
}

/* The last check before the signal: what attach_check() found may not be true any more. */
static int signal_check(struct jproc *p, struct error *e)
{
	if (jproc_refresh(p))
		return gone(p, e);
	if (!(p->caught & SIGQUIT_BIT) || p->state == 'T' || p->state == 't') {
		error_set(e, -EAGAIN, EXIT_TARGET, "process %d cannot take SIGQUIT now", p->pid);
		return error_hint(e, "try again when it runs, or use --jvm vmstructs");
	}
	return 0;
}

/*
 * Waits for the listener that another tool has asked for: a second SIGQUIT while the first is being
 * answered would make the JVM dump its threads.
 */
static int listener_wait_others(struct jproc *p, int tmp, int64_t deadline)
{
	int64_t until = now_ms() + OTHERS_MS;

	return listener_wait(p, tmp, until < deadline ? until : deadline, NULL);
}

static int listener_signal(struct jproc *p, int tmp, int64_t deadline, struct error *e)
{
	int rc = signal_check(p, e);

	if (rc)
		return rc;
	return jproc_signal(p, SIGQUIT) ? gone(p, e) : listener_wait(p, tmp, deadline, e);
}

static int listener_start(struct jproc *p, int tmp, int64_t deadline, struct error *e)
{
	int rc = signal_check(p, e), fd = -ETIMEDOUT;
	char name[64];

	if (rc)
		return rc;
	trigger_name(p, name, sizeof(name));
	rc = trigger_create(p, tmp, name);
	if (rc < 0) {
		error_set(e, rc, rc == -EPERM ? EXIT_PERMISSION : EXIT_TARGET,
			  "cannot create '/tmp/%s' in process %d: %s", name, p->pid, strerror(-rc));
		return error_hint(e, "the JVM needs a writable /tmp for attaching; or use --jvm "
				     "vmstructs");
	}
	if (rc)
		fd = listener_wait_others(p, tmp, deadline);
	if (fd < 0)
		fd = listener_signal(p, tmp, deadline, e);
	trigger_remove(p, tmp, name);
	return fd;
}

static int attach_connect(struct jproc *p, int64_t deadline, struct error *e)
{
	int tmp = tmp_open(p, e), fd;

	if (tmp < 0)
		return tmp;
	if (e)
		e->msg[0] = '\0';
	fd = listener_connect(p, tmp, deadline, e);
	if (fd == -ENOENT || fd == -ECONNREFUSED)
		fd = listener_start(p, tmp, deadline, e);
	else if (fd >= 0)
		trigger_sweep(p, tmp);
	close(tmp);
	if (fd < 0 && e && !e->msg[0])
		error_set(e, fd, EXIT_TARGET, "cannot connect to process %d: %s", p->pid,
			  strerror(-fd));
	return fd;
}

/* ---- request and reply ----------------------------------------------------------------------- */

/* Version 1: every string ends in a NUL; always three arguments. JDK 24+ takes it as well. */
static int request_build(struct buffer *b, const char *cmd, const char *const args[3])
{
	int i;

	buffer_add(b, "1", 2);
	buffer_add(b, cmd, strlen(cmd) + 1);
	for (i = 0; i < 3; i++) {
		const char *a = args && args[i] ? args[i] : "";

		if (strlen(a) >= ARG_LEN_MAX)
			return -E2BIG;
		buffer_add(b, a, strlen(a) + 1);
	}
	return b->failed ? -ENOMEM : 0;
}

static int wait_for(int fd, short events, int64_t deadline)
{
	struct pollfd pf = {.fd = fd, .events = events};
	int left = left_ms(deadline), n;

	n = left ? poll(&pf, 1, left) : 0;
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n ? 0 : -ETIMEDOUT;
}

static int request_send(int fd, const struct buffer *b, int64_t deadline)
{
	size_t done = 0;

	while (done < b->len) {
		ssize_t n = send(fd, b->data + done, b->len - done, MSG_NOSIGNAL);
		int rc;

		if (n >= 0) {
			done += (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		rc = wait_for(fd, POLLOUT, deadline);
		if (rc)
			return rc;
	}
	return 0;
}

static int reply_read(int fd, struct buffer *b, int64_t deadline)
{
	for (;;) {
		char *to = buffer_reserve(b, 4096);
		ssize_t n;
		int rc;

		if (!to || b->len > ATTACH_REPLY_MAX)
			return -EFBIG;
		n = recv(fd, to, 4096, 0);
		if (n == 0)
			return 0;
		if (n > 0) {
			b->len += (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		rc = wait_for(fd, POLLIN, deadline);
		if (rc)
			return rc;
	}
}

static int converse(struct jproc *p, int fd, const struct buffer *request, struct buffer *reply,
		    int64_t deadline, struct error *e)
{
	struct buffer raw = BUFFER_INIT;
	int rc = request_send(fd, request, deadline);

	if (!rc)
		rc = reply_read(fd, &raw, deadline);
	if (rc == -ETIMEDOUT)
		timed_out(p, "did not answer", e);
	else if (rc)
		error_set(e, rc, EXIT_TARGET, "lost the attach connection to process %d: %s",
			  p->pid, strerror(-rc));
	else
		rc = attachreply_split(p->pid, (const char *)raw.data, raw.len, reply, e);
	buffer_free(&raw);
	return rc;
}

int attach_command_jproc(struct jproc *p, const char *cmd, const char *const args[3],
			 struct buffer *reply, int timeout_ms, struct error *e)
{
	int64_t deadline = now_ms() + timeout_ms;
	struct buffer request = BUFFER_INIT;
	struct attach_status st;
	int fd, rc;

	if (attach_check_jproc(p, &st) != ATTACH_OK)
		return refused(p, &st, e);
	rc = request_build(&request, cmd, args);
	if (rc) {
		error_set(e, rc, EXIT_INTERNAL, "attach command '%s' is too long", cmd);
	} else {
		fd = attach_connect(p, deadline, e);
		rc = fd < 0 ? fd : converse(p, fd, &request, reply, deadline, e);
		if (fd >= 0)
			close(fd);
	}
	buffer_free(&request);
	return rc;
}

int attach_command(pid_t pid, const char *cmd, const char *const args[3], struct buffer *reply,
		   int timeout_ms, struct error *e)
{
	struct jproc p;
	int rc = jproc_open(&p, pid, e);

	if (rc)
		return rc;
	rc = attach_command_jproc(&p, cmd, args, reply, timeout_ms, e);
	jproc_close(&p);
	return rc;
}

int attach_load(struct jproc *p, const char *path, const char *options, int timeout_ms,
		struct error *e)
{
	const char *const args[3] = {path, "true", options};
	struct buffer reply = BUFFER_INIT;
	int rc = attach_command_jproc(p, "load", args, &reply, timeout_ms, e);

	if (!rc)
		rc = reply.failed
			     ? error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory")
			     : attachreply_loaded(p->pid, (const char *)reply.data, reply.len, e);
	buffer_free(&reply);
	return rc;
}
