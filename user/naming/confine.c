/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/calls.h"
#include "base/rights.h"
#include "broker/broker.h"
#include "broker/grants.h"
#include "target/mapquery.h"

#define SPACE_MIN                                                                                  \
	(4ull << 30) /* of addresses; or half of the machine's memory, if that is more             \
		      */

/* ---- who it is ---- */

/*
 * Whoever may become another does so. All of a user's processes may look into each other, so it is
 * not dumpable, as after any change of the user.
 */
static int user_change(void)
{
	int rc = rights_drop(RIGHTS_NOBODY, RIGHTS_NOBODY);

	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* which a change of the user takes back */
	return rc;
}

/* ---- its memory ---- */

static int space_bound(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 0; /* which takes terabytes of addresses */
#else
	uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
	rlim_t most = half > SPACE_MIN ? half : SPACE_MIN;
	struct rlimit rl;

	if (getrlimit(RLIMIT_AS, &rl))
		return -errno;
	if (rl.rlim_max < most) /* who started us has bounded it already */
		most = rl.rlim_max;
	rl = (struct rlimit){most, most};
	return setrlimit(RLIMIT_AS, &rl) ? -errno : 0;
#endif
}

/* ---- files: Landlock (Documentation/userspace-api/landlock.rst), as newer headers have it ---- */

#define LANDLOCK_CREATE 444
#define LANDLOCK_RULE	445
#define LANDLOCK_SELF	446
#define LANDLOCK_READ	(1ull << 2 | 1ull << 3) /* READ_FILE, READ_DIR */

struct landlock_rules {
	uint64_t files, net, scoped;
};

struct landlock_below {
	uint64_t allowed;
	int32_t dir;
} __attribute__((packed));

static struct landlock_rules landlock_all(int abi, size_t *size)
{
	struct landlock_rules r = {.files = 0x1fff};

	if (abi >= 2)
		r.files |= 1ull << 13; /* REFER */
	if (abi >= 3)
		r.files |= 1ull << 14; /* TRUNCATE */
	if (abi >= 5)
		r.files |= 1ull << 15; /* IOCTL_DEV */
	if (abi >= 4)
		r.net = 3; /* BIND_TCP, CONNECT_TCP */
	if (abi >= 6)
		r.scoped = 3; /* abstract sockets, signals */
	*size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	return r;
}

static int landlock_allow(int rules, const char *dir)
{
	struct landlock_below below = {
		.allowed = LANDLOCK_READ,
		.dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	int rc = syscall(LANDLOCK_RULE, rules, 1, &below, 0) ? -errno : 0;

	if (below.dir >= 0)
		close(below.dir);
	return rc;
}

/* 0 also where the kernel has none. */
static int files_bound(void)
{
	int abi = (int)syscall(LANDLOCK_CREATE, NULL, 0, 1), rules, rc;
	struct landlock_rules all;
	size_t size;

	if (abi <= 0)
		return 0;
	all = landlock_all(abi, &size);
	rules = (int)syscall(LANDLOCK_CREATE, &all, size, 0);
	if (rules < 0)
		return -errno;
	rc = landlock_allow(rules, "/proc");
	if (!rc)
		rc = landlock_allow(rules, "/sys");
	if (!rc && syscall(LANDLOCK_SELF, rules, 0))
		rc = -errno;
	close(rules);
	return rc;
}

/* ---- system calls ---- */

#define O_CHANGES (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | O_EXCL)

/* What takes no descriptor but those that it has, and reaches no other process. */
static const uint32_t allowed[] = {
	SYS_read,	 SYS_write,	      SYS_pread64,	  SYS_pwrite64,
	SYS_readv,	 SYS_writev,	      SYS_lseek,	  SYS_close,
	SYS_dup,	 SYS_fcntl,	      SYS_fstat,	  SYS_newfstatat,
	SYS_statx,	 SYS_ftruncate,	      SYS_readlinkat,	  SYS_faccessat,
	SYS_faccessat2,	 SYS_getdents64,      SYS_mmap,		  SYS_munmap,
	SYS_mprotect,	 SYS_mremap,	      SYS_madvise,	  SYS_brk,
	SYS_futex,	 SYS_set_robust_list, SYS_rseq,		  SYS_exit,
	SYS_exit_group,	 SYS_rt_sigaction,    SYS_rt_sigprocmask, SYS_rt_sigreturn,
	SYS_sigaltstack, SYS_restart_syscall, SYS_getpid,	  SYS_gettid,
	SYS_getppid,	 SYS_getuid,	      SYS_geteuid,	  SYS_getgid,
	SYS_getegid,	 SYS_clock_gettime,   SYS_clock_getres,	  SYS_clock_nanosleep,
	SYS_nanosleep,	 SYS_gettimeofday,    SYS_sched_yield,	  SYS_sched_getaffinity,
	SYS_getrandom,	 SYS_ppoll,	      SYS_sendmsg,	  SYS_recvmsg,
	SYS_sendto,	 SYS_recvfrom,	      SYS_socketpair, /* with itself; one end goes with what
								 it asks */
	SYS_uname,	 SYS_sysinfo,	      SYS_getrusage,
#ifdef SYS_open
	SYS_readlink,	 SYS_access,	      SYS_poll,		  SYS_stat,
	SYS_lstat,
#endif
};
#define NALLOWED (sizeof(allowed) / sizeof(*allowed))

int confine_calls(void)
{
	const uint32_t in_memory = SYS_openat2; /* its flags are there */
	struct calls c;

	calls_begin(&c);
	calls_allow(&c, allowed, NALLOWED);
	calls_allow_threads(&c);
	/* to read; Landlock, where there is one, and permissions say what */
	calls_allow_if(&c, SYS_openat, 2, O_CHANGES, 0);
#ifdef SYS_open
	calls_allow_if(&c, SYS_open, 1, O_CHANGES, 0);
#endif
	calls_refuse(&c, &in_memory, 1, ENOSYS);
	calls_allow_if(&c, SYS_ioctl, 1, UINT32_MAX, MAPQUERY_IOCTL);
	calls_allow_if(&c, SYS_prctl, 0, UINT32_MAX, PR_SET_NAME);
	calls_allow_if(&c, SYS_prlimit64, 2, UINT32_MAX, 0); /* no new one */
	return calls_end(&c, false);
}

/* ---- all but these ---- */

/* What is opened once by its name is opened now. */
static void last_open(void)
{
	tzset();
}

int confine_mould(void)
{
	int rc;

	last_open();
	broker_rely();
	grants_close();
	rc = space_bound();
	if (!rc)
		rc = user_change();
	if (!rc)
		rc = files_bound();
	return rc;
}
