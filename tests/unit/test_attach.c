/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attach protocol against a child process that plays the JVM: it has mapped a file named
 * libjvm.so, and opens the attach socket when it gets SIGQUIT and finds the trigger file.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jvm/attach.h"
#include "jvm/perfdata.h"
#include "jvm/jproc.h"

#include "attachfake.h"

typedef void (*serve_fn)(int fd, const char *request, size_t len);

/* One request, answered by serve. */
static void fake_main(serve_fn serve)
{
	char socket[64], trigger[64], text[8192];
	struct stat st;
	int fd, c;

	path_of(socket, sizeof(socket), "java", getpid());
	path_of(trigger, sizeof(trigger), "attach", getpid());
	while (!quit_seen)
		usleep(500);
	/* without the trigger a JVM would dump its threads */
	if (stat(trigger, &st) || st.st_uid != geteuid())
		_exit(2);
	fd = listen_at(socket);
	c = accept(fd, NULL, NULL);
	serve(c, text, request_read(c, text, sizeof(text)));
	close(c);
	unlink(socket);
	_exit(0);
}

static serve_fn server;

static void fake_serve(void)
{
	fake_main(server);
}

static pid_t fake_start(serve_fn serve, bool handler)
{
	server = serve;
	return fake_fork(fake_serve, handler);
}

static int command(pid_t pid, int timeout_ms, struct buffer *reply, struct error *e)
{
	const char *const args[3] = {"/x.so", "true", "a=b"};

	return attach_command(pid, "load", args, reply, timeout_ms, e);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- conversations --------------------------------------------------------------------------- */

static void serve_well(int fd, const char *request, size_t len)
{
	static const char want[] = "1\0load\0/x.so\0true\0a=b";

	say(fd, len == sizeof(want) && !memcmp(request, want, len) ? "0\nreturn code: 0\n"
								   : "1\nwrong request\n");
}

static void answered(void **state)
{
	pid_t pid = fake_start(serve_well, true);
	struct buffer reply = BUFFER_INIT;
	struct error e = {0};

	assert_int_equal(command(pid, 5000, &reply, &e), 0);
	assert_int_equal(reply.len, 15);
	assert_memory_equal(reply.data, "return code: 0\n", 15);
	buffer_free(&reply);
	assert_int_equal(fake_end(pid), 0);
}

static void serve_no(int fd, const char *request, size_t len)
{
	say(fd, "100\nDynamic agent\x1b[31m loading is not enabled\nmore\n");
}

static void refused(void **state)
{
	pid_t pid = fake_start(serve_no, true);
	struct error e = {0};

	assert_int_equal(command(pid, 5000, NULL, &e), -EREMOTEIO);
	/* foreign text is cleaned */
	assert_non_null(strstr(e.msg, "Dynamic agent?[31m loading is not enabled"));
	assert_null(strchr(e.msg, '\n'));
	assert_int_equal(fake_end(pid), 0);
}

static void serve_load_failed(int fd, const char *request, size_t len)
{
	say(fd, "0\n/x.so was not loaded.\nno such file\n");
}

static void load_failed(void **state)
{
	pid_t pid = fake_start(serve_load_failed, true);
	struct error e = {0};
	struct jproc p;

	assert_int_equal(jproc_open(&p, pid, &e), 0);
	assert_int_equal(attach_load(&p, "/x.so", "", 5000, &e), -EREMOTEIO);
	assert_non_null(strstr(e.msg, "/x.so was not loaded."));
	jproc_close(&p);
	assert_int_equal(fake_end(pid), 0);
}

/* Some JVMs have nothing more to say of a library that they have loaded. */
static void serve_ok_alone(int fd, const char *request, size_t len)
{
	say(fd, "0\n");
}

static void loaded_without_a_word(void **state)
{
	pid_t pid = fake_start(serve_ok_alone, true);
	struct error e = {0};
	struct jproc p;

	assert_int_equal(jproc_open(&p, pid, &e), 0);
	assert_int_equal(attach_load(&p, "/x.so", "", 5000, &e), 0);
	jproc_close(&p);
	assert_int_equal(fake_end(pid), 0);
}

/* Text where the status should be is no success. */
static void serve_other_protocol(int fd, const char *request, size_t len)
{
	say(fd, "HTTP/1.1 400 Bad\tRequest\n\n");
}

static void other_protocol(void **state)
{
	pid_t pid = fake_start(serve_other_protocol, true);
	struct error e = {0};

	assert_int_equal(command(pid, 5000, NULL, &e), -EPROTO);
	assert_non_null(strstr(e.msg, "'HTTP/1.1 400 Bad?Request'"));
	assert_int_equal(fake_end(pid), 0);
}

static void serve_nothing(int fd, const char *request, size_t len)
{
}

static void broken_off(void **state)
{
	pid_t pid = fake_start(serve_nothing, true);
	struct error e = {0};

	assert_int_equal(command(pid, 5000, NULL, &e), -EPROTO);
	assert_int_equal(fake_end(pid), 0);
}

static void serve_never(int fd, const char *request, size_t len)
{
	sleep(20);
}

static void never_answered(void **state)
{
	pid_t pid = fake_start(serve_never, true);
	struct error e = {0};
	int64_t start = now_ms();

	assert_int_equal(command(pid, 300, NULL, &e), -ETIMEDOUT);
	assert_in_range(now_ms() - start, 290, 2000);
	kill(pid, SIGKILL);
	assert_int_equal(fake_end(pid), 128 + SIGKILL);
}

static void serve_endless(int fd, const char *request, size_t len)
{
	static char junk[65536];

	memset(junk, 'x', sizeof(junk));
	signal(SIGPIPE, SIG_IGN);
	while (write(fd, junk, sizeof(junk)) > 0)
		;
}

static void endless_answer(void **state)
{
	pid_t pid = fake_start(serve_endless, true);
	struct error e = {0};

	assert_int_equal(command(pid, 10000, NULL, &e), -EFBIG);
	assert_int_equal(fake_end(pid), 0);
}

static void serve_death(int fd, const char *request, size_t len)
{
	raise(SIGKILL);
}

static void death(void **state)
{
	pid_t pid = fake_start(serve_death, true);
	struct error e = {0};
	int rc = command(pid, 5000, NULL, &e);

	assert_true(rc == -EPROTO || rc == -ECONNRESET);
	assert_int_equal(fake_end(pid), 128 + SIGKILL);
}

/* ---- who must not be signalled, or not be talked to -------------------------------------------
 */

static void no_handler(void **state)
{
	pid_t pid = fake_start(serve_well, false);
	struct attach_status st;
	struct error e = {0};

	assert_int_equal(attach_check(pid, &st), ATTACH_STARTING);
	assert_int_equal(command(pid, 300, NULL, &e), -EOPNOTSUPP);
	/* it has not been killed by SIGQUIT */
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGKILL);
	assert_int_equal(fake_end(pid), 128 + SIGKILL);
}

/* As with -Xrs: the program handles SIGQUIT itself, and ends if it gets one. */
static void host_main(void)
{
	while (!quit_seen)
		usleep(500);
	_exit(3);
}

static void host_fork(void)
{
	execl("/proc/self/exe", "java", "-Xrs", dir, NULL);
	_exit(1);
}

static bool is_java(pid_t pid)
{
	char path[64], text[8] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (!f || fread(text, 1, 5, f) != 5)
		text[0] = '\0';
	if (f)
		fclose(f);
	return !strcmp(text, "java");
}

/* Once it is that program, and has set up everything: its libjvm.so is mapped last. */
static pid_t host_start(void)
{
	pid_t pid = fake_fork(host_fork, true);
	struct attach_status st;

	while (!is_java(pid) || attach_check(pid, &st) == ATTACH_NOT_JVM)
		usleep(1000);
	return pid;
}

static void signal_of_the_host(void **state)
{
	pid_t pid = host_start();
	struct attach_status st;
	struct error e = {0};
	char path[64];
	int fd;

	assert_int_equal(attach_check(pid, &st), ATTACH_STARTING);
	assert_non_null(strstr(st.reason, "-Xrs"));
	assert_int_equal(command(pid, 300, NULL, &e), -EOPNOTSUPP);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	/* a JVM with -Xrs listens by itself, and needs no signal */
	path_of(path, sizeof(path), "java", pid);
	fd = listen_at(path);
	assert_int_equal(attach_check(pid, &st), ATTACH_OK);
	assert_true(st.listening);
	close(fd);
	kill(pid, SIGKILL);
	assert_int_equal(fake_end(pid), 128 + SIGKILL);
}

static void stopped(void **state)
{
	pid_t pid = fake_start(serve_well, true);
	struct attach_status st;
	struct error e = {0};
	int64_t start = now_ms();

	kill(pid, SIGSTOP);
	waitpid(pid, NULL, WUNTRACED);
	assert_int_equal(attach_check(pid, &st), ATTACH_STOPPED);
	assert_int_equal(command(pid, 5000, NULL, &e), -EOPNOTSUPP);
	assert_true(now_ms() - start < 1000);
	kill(pid, SIGCONT);
	usleep(50000);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* no SIGQUIT was pending */
	kill(pid, SIGKILL);
	fake_end(pid);
}

static void not_a_jvm(void **state)
{
	struct attach_status st;
	struct error e = {0};

	assert_int_equal(attach_check(getpid(), &st), ATTACH_NOT_JVM);
	assert_int_equal(command(getpid(), 300, NULL, &e), -EOPNOTSUPP);
	assert_int_equal(attach_check(0x7ffffff0, &st), ATTACH_GONE);
	assert_int_equal(command(0x7ffffff0, 300, NULL, &e), -ESRCH);
	assert_int_equal(e.exit, EXIT_TARGET);
}

/* Another process listens under the target's name. */
static void wrong_process(void **state)
{
	pid_t pid = fake_start(serve_well, true);
	struct error e = {0};
	char path[64];
	int fd;

	path_of(path, sizeof(path), "java", pid);
	fd = listen_at(path);
	assert_int_equal(command(pid, 2000, NULL, &e), -EXDEV);
	close(fd);
	kill(pid, SIGKILL);
	fake_end(pid);
}

/* What a killed JVM of the same pid has left: nobody listens. */
static void stale_socket(void **state)
{
	pid_t pid = fake_start(serve_well, true);
	struct error e = {0};
	char path[64];

	path_of(path, sizeof(path), "java", pid);
	close(listen_at(path));
	assert_int_equal(command(pid, 5000, NULL, &e), 0);
	assert_int_equal(fake_end(pid), 0);
}

static void other_things(void **state)
{
	pid_t pid = fake_start(serve_well, true);
	struct error e = {0};
	char path[64];

	path_of(path, sizeof(path), "java", pid);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(command(pid, 2000, NULL, &e), -EXDEV);
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(command(pid, 2000, NULL, &e), -EXDEV);
	kill(pid, SIGKILL);
	fake_end(pid);
}

/* ---- hsperfdata
 * ----------------------------------------------------------------------------------- */

/* One entry: 20 bytes of header, the name, the value. */
static size_t perfdata(unsigned char *p, const char *name, char value)
{
	const int32_t entry[] = {20 + 24 + 4, 20, 1};
	const int32_t offset = 20 + 24, head[] = {0, 0, 0, 0, 32, 1};

	memset(p, 0, 128);
	memcpy(p, "\xca\xfe\xc0\xc0\x01\x02\x00\x01", 8);
	memcpy(p + 8, head, sizeof(head));
	memcpy(p + 32, entry, sizeof(entry));
	memcpy(p + 32 + 16, &offset, 4);
	snprintf((char *)p + 52, 24, "%s", name);
	p[76] = (unsigned char)value;
	return 80;
}

static void capabilities(void **state)
{
	unsigned char p[128];
	size_t n = perfdata(p, "sun.rt.jvmCapabilities", '1'), i;

	assert_int_equal(perfdata_can_attach(p, n), 1);
	for (i = 0; i < n; i++)
		assert_int_equal(perfdata_can_attach(p, i), -1);
	n = perfdata(p, "sun.rt.jvmCapabilities", '0');
	assert_int_equal(perfdata_can_attach(p, n), 0);
	n = perfdata(p, "sun.rt.somethingElse", '0');
	assert_int_equal(perfdata_can_attach(p, n), -1);
}

/* A connection that failed was once taken for descriptor 0, since nobody wanted to know why. */
static void failure_told_to_nobody(void **state)
{
	assert_int_equal(error_set(NULL, -ETIMEDOUT, EXIT_TARGET, "not in time"), -ETIMEDOUT);
	assert_true(error_hint(NULL, "try again") < 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failure_told_to_nobody),
		cmocka_unit_test(answered),
		cmocka_unit_test(refused),
		cmocka_unit_test(load_failed),
		cmocka_unit_test(loaded_without_a_word),
		cmocka_unit_test(other_protocol),
		cmocka_unit_test(broken_off),
		cmocka_unit_test(never_answered),
		cmocka_unit_test(endless_answer),
		cmocka_unit_test(death),
		cmocka_unit_test(no_handler),
		cmocka_unit_test(signal_of_the_host),
		cmocka_unit_test(stopped),
		cmocka_unit_test(not_a_jvm),
		cmocka_unit_test(wrong_process),
		cmocka_unit_test(stale_socket),
		cmocka_unit_test(other_things),
		cmocka_unit_test(capabilities),
	};

	if (argc == 3 && !strcmp(argv[1], "-Xrs")) {
		snprintf(dir, sizeof(dir), "%s", argv[2]);
		fake_run(host_main, true, -1);
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
