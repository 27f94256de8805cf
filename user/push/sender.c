/* SPDX-License-Identifier: Apache-2.0 */
#include "push/sender.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sigpipe.h"
#include "base/utf8.h"

#define PROGRAM	      "gnomon-send"
#define TELLINGS_MOST 5 /* what is refused is said so often, and counted then */
#define LINE_MOST     65536
#define READS_MOST    64 /* at a time */
#define LATER_S	      60 /* what is not sent yet is said so often, and some times at once */

static void child_run(const char *path, int in, int out, int spool)
{
	char *const argv[] = {(char *)PROGRAM, NULL};
	/* above all that are to be: none of these is written over before its turn */
	int spare[3] = {fcntl(in, F_DUPFD, 10), fcntl(out, F_DUPFD, 10), fcntl(spool, F_DUPFD, 10)};

	setpgid(0, 0); /* what ends us at a terminal is told to it by the pipe */
	sigpipe_restore();
	if (dup2(spare[0], STDIN_FILENO) < 0 || dup2(spare[1], STDOUT_FILENO) < 0 ||
	    dup2(spare[2], SENDER_SPOOL) < 0)
		_exit(EXIT_INTERNAL);
	for (int i = 0; i < 3; i++)
		close(spare[i]);
	execv(path, argv);
	_exit(EXIT_INTERNAL);
}

static int settings_tell(const struct sender *s, const struct destination *d)
{
	struct buffer b = BUFFER_INIT;
	size_t at = 0;
	int rc = 0;

	destination_write(d, &b);
	while (!b.failed && at < b.len && !rc) {
		ssize_t n = write(s->in, b.data + at, b.len - at);

		if (n > 0)
			at += (size_t)n;
		else if (errno != EINTR)
			rc = -errno;
	}
	if (b.failed)
		rc = -ENOMEM;
	buffer_free(&b);
	return rc;
}

/* With `third` as its descriptor SENDER_SPOOL. */
static int program_start(struct sender *s, int third, const struct destination *d, struct error *e)
{
	char path[PATH_MAX];
	int in[2] = {-1, -1}, out[2] = {-1, -1}, rc = beside_path(PROGRAM, path, sizeof(path));

	*s = (struct sender){.in = -1, .out = -1};
	if (rc) {
		error_set(e, rc, EXIT_INTERNAL, "cannot run '%s': %s", path, strerror(-rc));
		return error_hint(e, "the program that sends lies beside gnomon: `make install` "
				     "puts it there");
	}
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || (s->pid = fork()) < 0) {
		rc = -errno;
		s->pid = 0;
		for (int i = 0; i < 2; i++) {
			if (in[i] >= 0)
				close(in[i]);
			if (out[i] >= 0)
				close(out[i]);
		}
		return error_set(e, rc, EXIT_INTERNAL, "cannot run '%s': %s", path, strerror(-rc));
	}
	if (!s->pid)
		child_run(path, in[0], out[1], third);
	close(in[0]);
	close(out[1]);
	s->in = in[1];
	s->out = out[0];
	rc = settings_tell(s, d);
	if (rc) {
		sender_end(s);
		return error_set(e, rc, EXIT_INTERNAL, "'%s' has ended", path);
	}
	fcntl(s->in, F_SETFL, O_NONBLOCK);
	return 0;
}

int sender_start(struct sender *s, const struct spool *spool, const struct destination *d,
		 struct error *e)
{
	return program_start(s, spool_fd(spool), d, e);
}

int sender_ask(struct sender *s, const struct destination *d, struct error *e)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), rc;

	if (nothing < 0)
		return error_set(e, -errno, EXIT_INTERNAL, "cannot open /dev/null");
	rc = program_start(s, nothing, d, e);
	close(nothing);
	return rc;
}

void sender_wake(struct sender *s)
{
	if (s->in >= 0 && write(s->in, ".", 1) < 0)
		return; /* a full pipe wakes it as well, and one that ended will be heard of */
}

/* ---- what it tells ---- */

/* A server that is now so and now so is said a few times, and then once in a while. */
static bool may_say(struct sender *s)
{
	const struct bucket_size size = {TELLINGS_MOST * LATER_S, 1};
	uint64_t now = now_ns();

	if (s->quiet || !bucket_has(&s->laters, &size, now))
		return false;
	bucket_take(&s->laters, &size, now, LATER_S);
	return true;
}

static void later_tell(struct sender *s, const char *words)
{
	int status = atoi(words), at = 0;

	sscanf(words, "%*d %n", &at);
	if (status)
		snprintf(s->last, sizeof(s->last), "the server answered %d: %s", status,
			 words + at);
	else
		snprintf(s->last, sizeof(s->last), "%s", words + at);
	s->status = status;
	if (may_say(s))
		log_warn("not sent yet: %s", s->last);
}

static void refused_tell(struct sender *s, const char *line)
{
	unsigned long long samples;
	int status, at = 0;

	if (sscanf(line, "%d %llu %n", &status, &samples, &at) < 2)
		return;
	s->counts.refused++;
	s->counts.refused_samples += samples;
	s->status = status;
	snprintf(s->last, sizeof(s->last), "refused with %d: %s", status, line + at);
	if (!s->quiet && s->tellings++ < TELLINGS_MOST)
		log_warn("%s", s->last);
}

static void line_take(struct sender *s, char *line)
{
	struct sender_counts *c = &s->counts;
	unsigned long long a, b, n;

	utf8_clean(line, strlen(line), false);
	if (sscanf(line, "sent %llu %llu %llu", &a, &b, &n) == 3) {
		c->sent++;
		c->sent_bytes += a;
		c->sent_ns += b;
		c->sent_samples += n;
		s->last[0] = '\0';
	} else if (!strncmp(line, "refused ", 8)) {
		refused_tell(s, line + 8);
	} else if (!strncmp(line, "later ", 6)) {
		later_tell(s, line + 6);
	} else if (sscanf(line, "old %llu", &n) == 1) {
		c->old++;
		c->old_samples += n;
	} else if (sscanf(line, "left %llu %llu", &a, &n) == 2) {
		c->left = a;
		c->left_samples = n;
		c->complete = true;
	}
}

/* A line that does not end is none. */
static void lines_take(struct sender *s)
{
	char *p = (char *)s->text.data, *end = p + s->text.len, *nl;

	while (p < end && (nl = memchr(p, '\n', (size_t)(end - p)))) {
		*nl = '\0';
		line_take(s, p);
		p = nl + 1;
	}
	if (end - p > LINE_MOST)
		p = end;
	if (p < end)
		memmove(s->text.data, p, (size_t)(end - p));
	s->text.len = (size_t)(end - p);
}

bool sender_listen(struct sender *s, bool wait)
{
	ssize_t n = 1;
	void *to = NULL;

	if (s->out < 0)
		return false;
	fcntl(s->out, F_SETFL, wait ? 0 : O_NONBLOCK);
	for (int i = 0; i < (wait ? 1 : READS_MOST) && n > 0; i++) {
		to = buffer_reserve(&s->text, 4096);
		n = to ? read(s->out, to, 4096) : -1;
		if (n > 0) {
			s->text.len += (size_t)n;
			lines_take(s);
		}
	}
	return n > 0 || (n < 0 && to && (errno == EAGAIN || errno == EINTR));
}

void sender_finish(struct sender *s)
{
	if (s->in >= 0)
		close(s->in);
	s->in = -1;
}

int sender_end(struct sender *s)
{
	int status = -1;

	sender_finish(s);
	if (s->out >= 0)
		close(s->out);
	s->out = -1;
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		if (waitpid(s->pid, &status, 0) != s->pid)
			status = -1;
	}
	s->pid = 0;
	buffer_free(&s->text);
	return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
