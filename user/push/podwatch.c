/* SPDX-License-Identifier: Apache-2.0 */
#include "push/podwatch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/utf8.h"
#include "push/sender.h"

#define AGAIN_NS     30000000000ull
#define PATIENCE_S   30 /* then whoever asks is killed */
#define READER_CPU_S 10
#define READER_BYTES (1024ull << 20)
#define TOKEN_MOST   65536

/* ---- in the process: what it tells ends with an empty line, or is "!" and why ---------------- */

static int all_read(int fd, size_t most, struct buffer *b)
{
	ssize_t n;

	do {
		void *to = buffer_reserve(b, 65536);

		n = to ? read(fd, to, 65536) : -1;
		if (!to)
			return -ENOMEM;
		if (n > 0)
			b->len += (size_t)n;
	} while ((n > 0 && b->len <= most) || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : b->len > most ? -EFBIG : 0;
}

static int file_read(const char *path, size_t most, struct buffer *b, struct error *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = fd < 0 ? -errno : all_read(fd, most, b);

	if (fd >= 0)
		close(fd);
	return rc ? error_set(e, rc, EXIT_INPUT, "cannot read '%s': %s", path, strerror(-rc)) : 0;
}

/* Its first line. */
static int token_read(const char *path, char **to, struct error *e)
{
	struct buffer b = BUFFER_INIT;
	int rc = file_read(path, TOKEN_MOST, &b, e);

	buffer_byte(&b, 0);
	if (!rc && !b.failed)
		*to = strndup((char *)b.data, strcspn((char *)b.data, "\r\n"));
	buffer_free(&b);
	return rc ? rc : *to ? 0 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

static int kubelet_start(const struct pods_source *from, struct sender *s, struct error *e)
{
	struct destination d = from->kubelet;
	char *token = NULL;
	int rc = from->token ? token_read(from->token, &token, e) : 0;

	d.bearer = token;
	d.get = true;
	if (!rc)
		rc = sender_ask(s, &d, e);
	free(token);
	return rc;
}

/* What the kubelet, or the file says. Rights end before it is looked at. */
static int answer_read(const struct pods_source *from, struct buffer *b, struct error *e)
{
	struct sender s = {.in = -1, .out = -1};
	int fd = -1, rc = 0;

	if (from->path)
		fd = open(from->path, O_RDONLY | O_CLOEXEC);
	else
		rc = kubelet_start(from, &s, e);
	if (rc)
		return rc;
	if (from->path && fd < 0)
		return error_set(e, -errno, EXIT_INPUT, "cannot read '%s': %s", from->path,
				 strerror(errno));
	if (rights_drop(SENDER_UID, SENDER_UID))
		return error_set(e, -EPERM, EXIT_INTERNAL, "rights cannot be given up");
	rc = all_read(from->path ? fd : s.out, PODS_JSON_MOST, b);
	if (rc)
		return error_set(e, rc, EXIT_INPUT, "%s", strerror(-rc));
	if (b->len && b->data[0] == '!') {
		buffer_byte(b, 0);
		return error_set(e, -EIO, EXIT_INPUT, "%.200s", (char *)b->data + 1);
	}
	return 0;
}

static int table_make(const struct pods_source *from, struct buffer *table, struct error *e)
{
	struct buffer answer = BUFFER_INIT;
	int rc = answer_read(from, &answer, e);

	if (!rc) {
		rc = pods_read(table, answer.data, answer.len, from->wanted, from->nwanted);
		if (rc)
			error_set(e, rc, EXIT_INPUT, "%s",
				  rc == -EBADMSG ? "it is no list of pods" : strerror(-rc));
	}
	buffer_free(&answer);
	return rc;
}

static void run(const struct pods_source *from, int out)
{
	struct buffer table = BUFFER_INIT;
	struct error e = {0};
	FILE *to = fdopen(out, "w");

	rights_bound(READER_CPU_S, READER_BYTES);
	alarm(PATIENCE_S);
	if (table_make(from, &table, &e)) {
		fprintf(to, "!%s", e.msg);
	} else {
		fwrite(table.data, 1, table.len, to);
		fputc('\n', to);
	}
	fclose(to);
}

/* ---- for others ------------------------------------------------------------------------------ */

void podwatch_init(struct podwatch *w, const struct pods_source *from)
{
	*w = (struct podwatch){.from = from, .out = -1};
}

static void trouble(struct podwatch *w, const char *why)
{
	if (!w->troubled)
		log_warn("what pods are called is not known: %s", why);
	w->troubled = true;
	w->answered = true;
}

static void ask(struct podwatch *w)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC)) {
		trouble(w, strerror(errno));
		return;
	}
	w->pid = fork();
	if (!w->pid) {
		prctl(PR_SET_NAME, "gnomon-pods");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGTERM, SIG_DFL);
		close(p[0]);
		run(w->from, p[1]);
		_exit(0);
	}
	close(p[1]);
	w->out = p[0];
	if (w->pid > 0)
		return;
	w->pid = 0;
	close(w->out);
	w->out = -1;
	trouble(w, "no process could be made");
}

void podwatch_look(struct podwatch *w, uint64_t now_ns)
{
	if (!w->from || w->out >= 0 || now_ns < w->due_ns)
		return;
	w->due_ns = now_ns + AGAIN_NS;
	buffer_clear(&w->text);
	ask(w);
}

/* It has ended: what it told is whole, or says why not. */
static void answer_take(struct podwatch *w)
{
	struct buffer *b = &w->text, old = w->table;

	close(w->out);
	w->out = -1;
	waitpid(w->pid, NULL, 0);
	w->pid = 0;
	if (b->len && b->data[0] != '!' && b->data[b->len - 1] == '\n' &&
	    (b->len == 1 || b->data[b->len - 2] == '\n')) {
		w->table = *b;
		*b = old;
		w->answered = true;
		w->troubled = false;
		return;
	}
	buffer_byte(b, 0);
	if (!b->failed)
		utf8_clean((char *)b->data, b->len - 1, false);
	trouble(w,
		!b->failed && b->data[0] == '!' ? (char *)b->data + 1 : "reading it failed badly");
}

void podwatch_take(struct podwatch *w)
{
	void *to = buffer_reserve(&w->text, 65536);
	ssize_t n = to ? read(w->out, to, 65536) : 0;

	if (n > 0)
		w->text.len += (size_t)n;
	if (n > 0 && w->text.len > PODS_MOST + 65536) {
		kill(w->pid, SIGKILL);
		buffer_clear(&w->text);
		n = 0;
	}
	if (!n || (n < 0 && errno != EINTR))
		answer_take(w);
}

bool podwatch_is_ready(const struct podwatch *w)
{
	return !w->from || w->answered;
}

void podwatch_free(struct podwatch *w)
{
	if (w->out >= 0) {
		close(w->out);
		kill(w->pid, SIGKILL);
		waitpid(w->pid, NULL, 0);
	}
	buffer_free(&w->table);
	buffer_free(&w->text);
}

void podwatch_await(struct podwatch *w)
{
	podwatch_look(w, now_ns());
	while (!podwatch_is_ready(w))
		podwatch_take(w);
}
