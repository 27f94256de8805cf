/* SPDX-License-Identifier: Apache-2.0 */
#include "run/renounce.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/calls.h"
#include "base/rights.h"
#include "broker/broker.h"

#define COUNT(v) (sizeof(v) / sizeof(*(v)))

/*
 * Programs and clocks; files that may be written where the caller could, and be his who asked by
 * sudo(8); the end of a process that hangs; open files, the tick thread's priority. SYS_ADMIN: the
 * kernel asks for it where BPF programs are counted; what else it would allow is among the calls
 * that are refused. SYSLOG: the kernel's symbols, which a process that names is given open. The
 * last is for who answers alone: a directory that hands on its group.
 */
static const unsigned int needed[] = {
	CAP_BPF,	  CAP_PERFMON,	CAP_CHOWN,     CAP_DAC_OVERRIDE, CAP_KILL,
	CAP_SYS_RESOURCE, CAP_SYS_NICE, CAP_SYS_ADMIN, CAP_SYSLOG,	 CAP_FSETID,
};

/* Who asks, on a socket that listens. */
static const uint32_t letting_in[] = {SYS_accept4};

static const uint32_t refused[] = {
	/* programs and processes */
	SYS_execve,
	SYS_execveat,
#ifdef SYS_fork
	SYS_fork,
	SYS_vfork,
#endif
	/* others' memory, descriptors and threads */
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_process_madvise,
	SYS_process_mrelease,
	SYS_pidfd_getfd,
	SYS_kcmp,
	SYS_move_pages,
	SYS_migrate_pages,
	/* sockets to others; pairs with itself go with what is asked */
	SYS_socket,
	SYS_connect,
	SYS_bind,
	SYS_listen,
	SYS_accept,
	/* another view of the machine */
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_setns,
	SYS_unshare,
	SYS_open_tree,
	SYS_move_mount,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
	SYS_mount_setattr,
	SYS_open_by_handle_at,
	SYS_name_to_handle_at,
	/* another user */
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setfsuid,
	SYS_setfsgid,
	SYS_setgroups,
	/* the machine */
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
#ifdef SYS_kexec_file_load
	SYS_kexec_file_load,
#endif
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_syslog,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_adjtimex,
	SYS_clock_adjtime,
	SYS_acct,
	SYS_quotactl,
#ifdef SYS_iopl
	SYS_iopl,
	SYS_ioperm,
#endif
#ifdef SYS_mknod
	SYS_mknod,
#endif
	SYS_mknodat,
	SYS_vhangup,
	SYS_personality,
	/* keys, and ways around all this */
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
};

static int calls_give_up(bool answers)
{
	struct calls c;

	calls_begin(&c);
	calls_allow_threads(&c);
	if (!answers)
		calls_refuse(&c, letting_in, COUNT(letting_in), EPERM);
	calls_refuse(&c, refused, COUNT(refused), EPERM);
	return calls_end(&c, true);
}

int renounce(bool answers, struct error *e)
{
	int rc = rights_keep(needed, COUNT(needed) - !answers);

	if (!rc)
		rc = calls_give_up(answers);
	if (rc)
		return error_set(e, rc, EXIT_KERNEL, "cannot give up rights: %s", strerror(-rc));
	broker_rely();
	return 0;
}
