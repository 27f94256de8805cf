/* SPDX-License-Identifier: Apache-2.0 */
#include "target/jvmproc.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/log.h"
#include "broker/broker.h"
#include "target/text.h"

#define JVM_MAPS_MAX	 (64u << 20)
#define JVM_RELEASE_MAX	 (256u << 10)
#define JVM_IMAGE_MAX	 (256u << 20)
#define JVM_SCAN_CHUNK	 (1u << 20)
#define JVM_SCAN_OVERLAP 512
#define JVM_LIB		 "/libjvm.so"
#define JVM_SIGQUIT_MASK 0x4 /* signal 3 in the masks of status */

/* ---- the image ------------------------------------------------------------------------------- */

/* "start-end r-xp offset major:minor inode   path" */
static bool image_line(struct text line, struct jvm_image *out)
{
	struct text range, prot, off, dev, inode;
	uint64_t major, minor;

	if (!text_word(&line, &range) || !text_word(&line, &prot) || !text_word(&line, &off) ||
	    !text_word(&line, &dev) || !text_word(&line, &inode))
		return false;
	text_skip_blanks(&line);
	out->deleted = text_eat_end(&line, " (deleted)");
	if (text_len(prot) < 4 || prot.p[2] != 'x' || line.p == line.end || *line.p != '/' ||
	    !text_ends(line, JVM_LIB) || text_len(line) >= sizeof(out->path))
		return false;
	if (!text_number(&range, 16, &out->start) || !text_eat(&range, "-") ||
	    !text_number(&range, 16, &out->end) || !text_number(&off, 16, &out->offset) ||
	    !text_number(&dev, 16, &major) || !text_eat(&dev, ":") ||
	    !text_number(&dev, 16, &minor) || !text_number(&inode, 10, &out->inode))
		return false;
	out->dev_major = (uint32_t)major;
	out->dev_minor = (uint32_t)minor;
	text_copy(line, out->path, sizeof(out->path));
	return out->end > out->start;
}

/*
 * Only the lines that hold the name are looked at: most processes are no JVMs, and a listing reads
 * the maps of them all.
 */
bool jvm_image_find(const char *maps, size_t len, struct jvm_image *out)
{
	const char *end = maps + len, *at = maps;

	while (at < end && (at = memmem(at, (size_t)(end - at), JVM_LIB, strlen(JVM_LIB)))) {
		const char *bol = memrchr(maps, '\n', (size_t)(at - maps));
		const char *eol = memchr(at, '\n', (size_t)(end - at));

		bol = bol ? bol + 1 : maps;
		eol = eol ? eol : end;
		if (image_line((struct text){bol, eol}, out))
			return true;
		at = eol;
	}
	memset(out, 0, sizeof(*out));
	return false;
}

/* 0, -ENOEXEC when there is none. */
static int image_read(pid_t pid, struct jvm_image *out)
{
	char *text;
	size_t len;
	bool found;
	int rc = proc_read_all(pid, "maps", JVM_MAPS_MAX, &text, &len);

	if (rc)
		return rc;
	found = jvm_image_find(text, len, out);
	free(text);
	return found ? 0 : -ENOEXEC;
}

/* ---- the release ----------------------------------------------------------------------------- */

/* Printable ASCII only: it goes to terminals and into recordings. */
static void label_copy(struct text t, char *to, size_t cap)
{
	size_t n = 0;

	for (; t.p < t.end && n + 1 < cap; t.p++)
		to[n++] = *t.p >= 0x20 && *t.p < 0x7f ? *t.p : '?';
	to[n] = '\0';
}

/* "1.8.0_402" is 8, "17.0.15" is 17, "25-ea" is 25. */
static int version_major(const char *v)
{
	struct text t = text_of(v, strlen(v));
	uint64_t n;

	text_eat(&t, "1.");
	return text_number(&t, 10, &n) && n < 1000 ? (int)n : 0;
}

bool jvm_release_parse(const char *text, size_t len, struct jvm_release *out)
{
	struct text t = text_of(text, len), line, key;

	memset(out, 0, sizeof(*out));
	while (text_line(&t, &line)) {
		text_eat_end(&line, "\r");
		if (!text_cut(&line, '=', &key) || !text_eat(&line, "\"") ||
		    !text_eat_end(&line, "\""))
			continue;
		if (text_is(key, "JAVA_VERSION"))
			label_copy(line, out->version, sizeof(out->version));
		else if (text_is(key, "JAVA_RUNTIME_VERSION"))
			label_copy(line, out->runtime, sizeof(out->runtime));
		else if (text_is(key, "IMPLEMENTOR"))
			label_copy(line, out->vendor, sizeof(out->vendor));
		else if (text_is(key, "JVM_VARIANT"))
			out->openj9 = text_is(line, "Openj9") || text_is(line, "OpenJ9");
	}
	out->major = version_major(out->version);
	return out->version[0] != '\0';
}

/* "17.0.15+6-LTS" of the next " JRE (17.0.15+6-LTS)", from *at on, which goes on behind " JRE (".
 */
static bool jre_next(const char **at, const char *end, struct text *version)
{
	static const char key[] = " JRE (";

	while (*at < end && (*at = memmem(*at, (size_t)(end - *at), key, sizeof(key) - 1))) {
		struct text t = {*at + sizeof(key) - 1, end};

		*at = t.p;
		if (t.p < end && *t.p >= '0' && *t.p <= '9' && memchr(t.p, ')', text_len(t)) &&
		    text_cut(&t, ')', version))
			return true;
	}
	return false;
}

bool jvm_info_scan(const char *image, size_t len, char *buf, size_t cap)
{
	const char *end = image + len, *at = image;
	struct text version;

	while (jre_next(&at, end, &version)) {
		const char *before = memrchr(image, '\0', (size_t)(at - image));
		const char *after = memchr(at, '\0', (size_t)(end - at));

		/* otherwise it begins or ends in another chunk */
		if (!before || !after || (size_t)(after - before) > cap)
			continue;
		label_copy((struct text){before + 1, after}, buf, cap);
		return true;
	}
	return false;
}

bool jvm_release_scan(const char *image, size_t len, struct jvm_release *out)
{
	const char *end = image + len, *at = image;
	struct text v;

	while (jre_next(&at, end, &v)) {
		if (text_len(v) >= sizeof(out->runtime))
			continue;
		memset(out, 0, sizeof(*out));
		label_copy(v, out->runtime, sizeof(out->runtime));
		/* the short form ends where the build number or a pre-release name begins */
		snprintf(out->version, sizeof(out->version), "%.*s",
			 (int)strcspn(out->runtime, "+-"), out->runtime);
		out->major = version_major(out->version);
		return true;
	}
	return false;
}

static struct broker_mapping mapping_of(const struct jvm_image *img)
{
	return (struct broker_mapping){
		.start = img->start,
		.end = img->end,
		.inode = img->inode,
		.major = img->dev_major,
		.minor = img->dev_minor,
	};
}

/* lib/server/libjvm.so lies two directories below its JDK, JDK 8's jre/lib/amd64/server/ four. */
static bool release_file(pid_t pid, const struct jvm_image *img, struct jvm_release *out)
{
	char path[JVM_PATH_LEN + 16], *text = malloc(JVM_RELEASE_MAX), *slash;
	bool found = false;

	snprintf(path, sizeof(path), "%s", img->path);
	for (int up = 0; text && !found && up < 6 && (slash = strrchr(path, '/')); up++) {
		ssize_t n;
		int fd;

		strcpy(slash, "/release");
		fd = proc_root_open(pid, path);
		*slash = '\0';
		if (fd < 0)
			continue;
		n = pread(fd, text, JVM_RELEASE_MAX, 0);
		found = n > 0 && jvm_release_parse(text, (size_t)n, out);
		close(fd);
	}
	free(text);
	return found;
}

/* What is looked for in the image; either will do. */
struct scan {
	struct jvm_release *release;
	char *info;
	size_t cap;
};

static bool scan_chunk(const struct scan *s, const char *p, size_t n)
{
	return s->release ? jvm_release_scan(p, n, s->release)
			  : jvm_info_scan(p, n, s->info, s->cap);
}

static bool scan_fd(int fd, const struct scan *what)
{
	char *buf = malloc(JVM_SCAN_CHUNK);
	bool found = false;
	off_t at = 0;
	ssize_t n;

	/* chunks overlap so that the string is whole in one of them */
	while (buf && !found && at < (off_t)JVM_IMAGE_MAX &&
	       (n = pread(fd, buf, JVM_SCAN_CHUNK, at)) > 0) {
		found = scan_chunk(what, buf, (size_t)n);
		if (n < JVM_SCAN_CHUNK)
			break;
		at += n - JVM_SCAN_OVERLAP;
	}
	free(buf);
	return found;
}

static int image_open(pid_t pid, const struct jvm_image *img)
{
	struct broker_mapping m = mapping_of(img);
	int dir = proc_dir_open(pid), fd;

	if (dir < 0)
		return dir;
	fd = broker_mapped(pid, dir, &m, img->deleted ? NULL : img->path, NULL);
	close(dir);
	return fd;
}

static bool image_scan(pid_t pid, const struct jvm_image *img, const struct scan *what)
{
	int fd = image_open(pid, img);
	bool found;

	if (fd < 0)
		return false;
	found = scan_fd(fd, what);
	close(fd);
	return found;
}

int jvm_info_read(const struct jvm_proc *j, char *buf, size_t cap)
{
	return image_scan(j->id.pid, &j->image, &(struct scan){.info = buf, .cap = cap}) ? 0
											 : -ENOENT;
}

/* Whether what the process has mapped is still the file under that path. */
static bool image_in_place(pid_t pid, const struct jvm_image *img)
{
	struct broker_mapping m = mapping_of(img);
	int dir = img->deleted ? -1 : proc_dir_open(pid), rc;

	if (dir < 0)
		return false;
	rc = broker_is_mapped(pid, dir, &m, img->path);
	close(dir);
	return !rc;
}

/* After an upgrade in place, the release file beside the path is another JDK's. */
static void release_read(pid_t pid, const struct jvm_image *img, struct jvm_release *out)
{
	if (image_in_place(pid, img) && release_file(pid, img, out))
		return;
	if (!image_scan(pid, img, &(struct scan){.release = out}))
		memset(out, 0, sizeof(*out));
}

/* ---- the command line ------------------------------------------------------------------------ */

static bool is_java(const char *path)
{
	struct text t = text_of(path, strlen(path));

	text_eat_end(&t, " (deleted)");
	return text_is(t, "java") || text_ends(t, "/java");
}

static void env_options(const struct proc_args *env, const char *name, struct java_flags *f)
{
	const char *v = proc_env_find(env, name);

	if (v)
		java_options_parse(v, f);
}

static jvm_tells_fn jvm_tells;

void jvm_command_ask(jvm_tells_fn fn)
{
	jvm_tells = fn;
}

/*
 * In the order of their power: JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS (the launcher's, JDK 9), the
 * command line, _JAVA_OPTIONS.
 */
static int cmd_read(pid_t pid, struct java_cmd *out)
{
	struct proc_args argv, env = {0};
	char exe[JVM_PATH_LEN];
	bool launcher;
	int rc = proc_cmdline_read(pid, &argv);

	if (rc)
		return rc;
	launcher = (proc_link_read(pid, "exe", exe, sizeof(exe)) > 0 && is_java(exe)) ||
		   (argv.n && is_java(argv.v[0]));
	proc_environ_read(pid, &env);
	env_options(&env, "JAVA_TOOL_OPTIONS", &out->flags);
	if (launcher)
		env_options(&env, "JDK_JAVA_OPTIONS", &out->flags);
	java_cmd_parse(&argv, launcher, out);
	if (out->kind == JAVA_MAIN_ARGFILE && jvm_tells)
		jvm_tells(pid, out);
	env_options(&env, "_JAVA_OPTIONS", &out->flags);
	proc_args_free(&env);
	proc_args_free(&argv);
	return 0;
}

int jvm_flags_read(pid_t pid, struct java_flags *out)
{
	struct java_cmd cmd = {0};
	int rc = cmd_read(pid, &cmd);

	*out = cmd.flags;
	return rc;
}

/* ---- a process ------------------------------------------------------------------------------- */

static void user_name(uint32_t uid, char *to, size_t cap)
{
	if (broker_user(uid, to, cap) <= 0)
		snprintf(to, cap, "%u", uid);
}

static void elf_read(pid_t pid, struct jvm_proc *j)
{
	unsigned char h[EI_NIDENT + 4]; /* e_ident, e_type, e_machine */
	ssize_t n = proc_exe_read(pid, h, sizeof(h));

	if (n < EI_NIDENT + 4 || memcmp(h, ELFMAG, SELFMAG) || h[EI_DATA] != ELFDATA2LSB)
		return;
	j->elf_class = h[EI_CLASS];
	j->machine = (uint16_t)(h[EI_NIDENT + 2] | h[EI_NIDENT + 3] << 8);
}

static int task_facts(pid_t pid, struct jvm_proc *j)
{
	struct proc_status st;
	struct proc_stat stat;
	int rc = proc_leader_read(pid, &stat);

	if (!rc)
		rc = proc_status_read(pid, 0, &st);
	if (rc)
		return rc;
	if (stat.state == 'Z' || stat.state == 'X')
		return -ESRCH;
	j->id = (struct proc_id){pid, stat.start};
	j->inner_pid = proc_status_inner(&st);
	j->uid = st.uid[1];
	j->gid = st.gid[1];
	j->state = stat.state;
	j->threads = (uint32_t)st.threads;
	j->uptime_ns = proc_uptime_ns(stat.start);
	memcpy(j->comm, stat.comm, sizeof(j->comm));
	user_name(j->uid, j->user, sizeof(j->user));
	return 0;
}

static int jvm_read(pid_t pid, const struct cgroup_mounts *mounts, struct jvm_proc *j)
{
	struct proc_id again;
	int rc;

	memset(j, 0, sizeof(*j));
	rc = image_read(pid, &j->image);
	if (!rc)
		rc = task_facts(pid, j);
	if (rc)
		return rc;
	release_read(pid, &j->image, &j->release);
	cmd_read(pid, &j->cmd);
	container_read(pid, &j->container);
	cgroup_read(pid, &j->cgroup);
	cgroup_limits_read(mounts, &j->cgroup, &j->limits);
	elf_read(pid, j);
	/* all of it must have been of one process */
	rc = proc_id_read(pid, &again);
	return rc ? rc : again.start == j->id.start ? 0 : -ESRCH;
}

int jvm_proc_check(pid_t pid)
{
	struct jvm_image image;
	struct proc_stat st;
	int rc = image_read(pid, &image);

	/* the maps of one that has ended are empty */
	if (rc != -ENOEXEC)
		return rc;
	rc = proc_leader_read(pid, &st);
	return rc ? rc : st.state == 'Z' || st.state == 'X' ? -ESRCH : -ENOEXEC;
}

int jvm_proc_read(pid_t pid, struct jvm_proc *out)
{
	struct cgroup_mounts mounts;

	cgroup_mounts_read(&mounts);
	return jvm_read(pid, &mounts, out);
}

struct listing {
	int (*cb)(const struct jvm_proc *j, void *arg);
	void *arg;
	struct jvm_skipped skipped;
	struct cgroup_mounts mounts;
	struct jvm_proc jvm;
};

/* A kernel thread's maps are empty when we may read them; when not, they need no mention. */
static bool is_kernel_thread(pid_t pid)
{
	struct proc_stat st;

	return !proc_leader_read(pid, &st) && st.flags & PROC_PF_KTHREAD;
}

static int list_one(pid_t pid, void *arg)
{
	struct listing *l = arg;
	int rc = jvm_read(pid, &l->mounts, &l->jvm);

	if ((rc == -EACCES || rc == -EPERM) && !is_kernel_thread(pid))
		l->skipped.denied++;
	return rc ? 0 : l->cb(&l->jvm, l->arg);
}

int jvm_list(int (*cb)(const struct jvm_proc *j, void *arg), void *arg, struct jvm_skipped *skipped)
{
	struct listing *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	l->cb = cb;
	l->arg = arg;
	cgroup_mounts_read(&l->mounts);
	rc = proc_each(list_one, l);
	if (skipped)
		*skipped = l->skipped;
	free(l);
	return rc;
}

static struct digest_key owner_key;

static void owner_key_make(void)
{
	if (digest_key_make(&owner_key))
		log_warn("no random numbers: users could pass their processes off as others'");
}

/*
 * Nobody can make a process that has another one's number: its user id is the host's, the group of
 * its container is one that root has made, and they are put together by a secret of this process.
 * Where a user may have made the group his id alone counts; in containers of his own these are ids
 * that root has given to him.
 */
struct jvm_owner jvm_owner(const struct jvm_proc *j)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char whose[sizeof(j->uid) + CONTAINER_GROUP_LEN];
	size_t n = strnlen(j->container.group, CONTAINER_GROUP_LEN);

	pthread_once(&once, owner_key_make);
	memcpy(whose, &j->uid, sizeof(j->uid));
	memcpy(whose + sizeof(j->uid), j->container.group, n);
	return (struct jvm_owner){
		.domain = digest_of(&owner_key, whose, sizeof(j->uid) + n).v[0],
		.uid = j->uid,
	};
}

void jvm_version_text(const struct jvm_proc *j, char *buf, size_t cap)
{
	if (j->release.version[0])
		snprintf(buf, cap, "%s%s", j->release.version,
			 j->release.openj9 ? " (OpenJ9)" : "");
	else
		snprintf(buf, cap, "?");
}

uint16_t jvm_own_machine(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#else
#error "no unwinder for this architecture"
#endif
}
