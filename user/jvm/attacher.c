/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/attacher.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fdmsg.h"
#include "base/inherit.h"
#include "broker/broker.h"
#include "broker/grants.h"
#include "jvm/attach.h"

#define JOBS	 64 /* at the same time; who asks for more waits */
#define JOBS_OWN 4  /* of one that is bound: it needs one, and goes on if that hangs at the end */

static int asks = -1; /* our end; -1: there is no process */
static pid_t process;

struct attacher_run {
	struct attachjob job;
	int answers, from;
	pthread_t thread;
	bool threaded;
	atomic_int holders; /* who asks, and the thread */
};

/* ---- the process ---- */

/* A job, where its answers go (-1 nowhere) and who gave it; false at the end. */
static bool job_take(int fd, struct attachjob *job, int *answers, pid_t *asker)
{
	struct fdmsg with;
	ssize_t n = fdmsg_take(fd, &(struct iovec){job, sizeof(*job)}, 1, &with, 0);

	*answers = fdmsg_only(&with);
	*asker = with.sender;
	if (n != sizeof(*job))
		job->kind = 0;
	return n >= 0;
}

static bool job_fits(const struct attachjob *job)
{
	return (job->kind == ATTACHJOB_LOAD || job->kind == ATTACHJOB_STOP) && job->pid > 0 &&
	       job->timeout_ms >= 0 && job->timeout_ms <= 10 * ATTACH_TIMEOUT_MS;
}

/* Whose the jobs are that are being done, by the processes that do them. */
static struct {
	pid_t process, asker;
} doing[JOBS];
static int ndoing;

static void job_ended(pid_t pid)
{
	for (int i = 0; i < ndoing; i++)
		if (doing[i].process == pid)
			doing[i] = doing[--ndoing];
}

/* Takes note of those that have ended. */
static void ended_reap(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		job_ended(pid);
}

/* Whether another one may be begun for the asker. */
static bool has_room(pid_t asker)
{
	int own = 0;

	ended_reap();
	if (ndoing == JOBS)
		job_ended(waitpid(-1, NULL, 0));
	for (int i = 0; i < ndoing; i++)
		own += doing[i].asker == asker;
	return ndoing < JOBS && (own < JOBS_OWN || !grants_is_bound(asker));
}

/* SIGALRM ends it, as it is not handled. */
static void job_process(const struct attachjob *job, int answers, pid_t asker)
{
	sigset_t none;
	pid_t pid = fork();

	if (pid) {
		if (pid > 0) {
			doing[ndoing].process = pid;
			doing[ndoing++].asker = asker;
		}
		return;
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(((unsigned int)attachjob_limit_ms(job) + 999) / 1000);
	attachjob_do(job, answers);
	_exit(0);
}

static void process_main(int fd)
{
	struct pollfd on[2] = {{.fd = fd, .events = POLLIN}, {.events = POLLIN}};
	struct signalfd_siginfo si;
	struct attachjob job;
	int answers, keep[3];
	sigset_t ends;
	pid_t asker;

	keep[0] = fd; /* files of targets are opened by others here, too */
	inherit_begin("gnomon-attacher", keep, 1 + broker_descriptors(keep + 1));
	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	on[1].fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	for (;;) {
		poll(on, 2, -1);
		while (read(on[1].fd, &si, sizeof(si)) == sizeof(si))
			;
		ended_reap();
		if (!on[0].revents)
			continue;
		if (!job_take(fd, &job, &answers, &asker))
			_exit(0);
		if (answers >= 0 && job_fits(&job) && grants_has(asker, job.pid) && has_room(asker))
			job_process(&job, answers, asker);
		if (answers >= 0)
			close(answers);
	}
}

int attacher_start(void)
{
	int ends[2], rc;

	if (asks >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	rc = grants_listen(ends[1]);
	process = rc ? -1 : fork();
	if (!process)
		process_main(ends[1]);
	if (!rc && process < 0)
		rc = -errno;
	close(ends[1]);
	if (rc) {
		close(ends[0]);
		return rc;
	}
	asks = ends[0];
	return 0;
}

void attacher_stop(void)
{
	if (asks < 0)
		return;
	shutdown(asks, SHUT_RDWR); /* who names and hangs has it, too, and will not close it */
	close(asks);
	asks = -1;
	waitpid(process, NULL, 0);
}

int attacher_descriptor(void)
{
	return asks;
}

/* ---- jobs ---- */

static int job_send(const struct attachjob *job, int answers)
{
	return fdmsg_send(asks, &(struct iovec){(void *)job, sizeof(*job)}, 1, &answers, 1, 0);
}

static void run_release(struct attacher_run *run)
{
	if (atomic_fetch_sub(&run->holders, 1) > 1)
		return;
	if (run->answers >= 0)
		close(run->answers);
	close(run->from);
	free(run);
}

static void *thread_main(void *arg)
{
	struct attacher_run *run = arg;

	attachjob_do(&run->job, run->answers);
	run_release(run);
	return NULL;
}

static int run_begin(struct attacher_run *run)
{
	int rc;

	if (asks >= 0) {
		rc = job_send(&run->job, run->answers);
		close(run->answers);
		run->answers = -1;
		return rc;
	}
	atomic_fetch_add(&run->holders, 1);
	rc = -pthread_create(&run->thread, NULL, thread_main, run);
	run->threaded = !rc;
	if (rc)
		atomic_fetch_sub(&run->holders, 1);
	return rc;
}

int attacher_run(struct attacher_run **out, const struct attachjob *job, int *from)
{
	struct attacher_run *run = calloc(1, sizeof(*run));
	int ends[2], rc;

	if (!run)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		rc = -errno;
		free(run);
		return rc;
	}
	run->job = *job;
	run->from = *from = ends[0];
	run->answers = ends[1];
	run->holders = 1;
	rc = run_begin(run);
	if (rc) {
		run_release(run);
		return rc;
	}
	*out = run;
	return 0;
}

void attacher_end(struct attacher_run *run)
{
	if (run->threaded)
		pthread_join(run->thread, NULL);
	run_release(run);
}

void attacher_leave(struct attacher_run *run)
{
	if (run->threaded)
		pthread_detach(run->thread);
	run_release(run);
}
