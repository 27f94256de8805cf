/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a thread off the CPU waits for, as its system call tells: the descriptor that it was given,
 * and what that stands for; of one that waits for another thread of a JVM, the object. Read when
 * its stack has been taken, and outside of the walk, which needs all of the BPF stack. Content is
 * sent once, as gn_cause_rec; samples have its id.
 *
 * The call itself holds what it waits for, and so nothing of it is freed meanwhile. A descriptor
 * that another thread closes or replaces while this one waits stands for something else by then, or
 * for nothing; each step is checked by the kernel, and none is followed for longer than PATH_NAMES.
 */
#ifndef GNOMON_CAUSE_BPF_H
#define GNOMON_CAUSE_BPF_H

#include "filter.bpf.h"
#include "cause_id.bpf.h"
#include "cause_lock.bpf.h"
#include "descriptor.bpf.h"
#include "inet.bpf.h"

#define PATH_NAMES  64	 /* names and mount points of a path at most */
#define EPOLL_STEPS 1024 /* in a tree of descriptors: of twice as many as are counted */

#define IFIFO 0010000 /* include/uapi/linux/stat.h */

#define ANON_INODE_MAGIC 0x09041934 /* include/uapi/linux/magic.h */
#define PIPEFS_MAGIC	 0x50495045

#define AF_UNIX	       1
#define PID_OF_PROCESS 1   /* PIDTYPE_TGID: include/linux/pid_types.h */
#define POLLIN	       0x1 /* include/uapi/asm-generic/poll.h */
#define POLLOUT	       0x4
#define TCP_SYN_SENT   2
#define TCP_LISTEN     10 /* include/net/tcp_states.h; of other protocols' sockets, too */

#ifdef UW_REMOTE
#define cause_scratch			      cause_remote_scratch /* a switch may interrupt it */
#define cause_read_user(task, dst, len, addr) remote_read(task, dst, len, addr)
#else
#define cause_read_user(task, dst, len, addr) bpf_probe_read_user(dst, len, (void *)(addr))
#endif

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cause_room);
} cause_scratch SEC(".maps") __weak;

/* ---- what a descriptor stands for ---- */

/* Both ends have one address: they are of this machine. */
static __always_inline bool inet_is_within(const struct gn_cause *c)
{
	const __u64 *local = (const __u64 *)c->local, *peer = (const __u64 *)c->peer;

	return c->peer_port && local[0] == peer[0] && local[1] == peer[1];
}

static __always_inline void inet_read(struct gn_cause *c, const char *sock, struct sock *sk)
{
	__u8 state = sock_field(sock, __u8, skc_state);

	c->kind = GN_CAUSE_INET;
	c->protocol = BPF_CORE_READ(sk, sk_protocol);
	c->listens = state == TCP_LISTEN;
	if (c->listens) /* whichever call it waits in */
		c->op = GN_OP_ACCEPT;
	else if (state == TCP_SYN_SENT && c->protocol == IPPROTO_TCP)
		c->op = GN_OP_CONNECT;
	c->local_port = sock_field(sock, __u16, skc_num);
	c->peer_port = __builtin_bswap16(sock_field(sock, __u16, skc_dport));
	if (c->family == AF_INET) {
		*(__u32 *)c->local = sock_field(sock, __u32, skc_rcv_saddr);
		*(__u32 *)c->peer = sock_field(sock, __u32, skc_daddr);
	} else if (bpf_core_field_exists(struct sock_common, skc_v6_daddr)) {
		inet_copy((__u32 *)c->local, &sock_field(sock, __u32, skc_v6_rcv_saddr));
		inet_copy((__u32 *)c->peer, &sock_field(sock, __u32, skc_v6_daddr));
	}
	if (inet_is_within(c))
		c->ino = inet_namespace(sock);
}

/*
 * Who made the connection's other end, or had it made (SO_PEERCRED): a process by its number and
 * its name, if there still is one.
 */
static __always_inline void peer_read(struct gn_cause_rec *r, struct sock *sk)
{
	struct pid *pid =
		bpf_core_field_exists(sk->sk_peer_pid) ? BPF_CORE_READ(sk, sk_peer_pid) : NULL;
	void *node;

	r->of.dev = 0;
	r->fs[0] = 0;
	if (!pid)
		return;
	r->of.dev = gn_pidns_level ? pidns_number(pid) : BPF_CORE_READ(pid, numbers[0].nr);
	node = BPF_CORE_READ(pid, tasks[PID_OF_PROCESS].first);
	if (!node)
		return;
	node -= bpf_core_field_offset(struct task_struct, pid_links) +
		PID_OF_PROCESS * 2 * sizeof(void *);
	bpf_probe_read_kernel_str(r->fs, sizeof(r->fs),
				  node + bpf_core_field_offset(struct task_struct, comm));
}

/* The address of a connection's other end, if it has none itself: who accepted it was named. */
static __always_inline void unix_read(struct gn_cause_rec *r, struct sock *sk)
{
	struct unix_sock *u = (struct unix_sock *)sk;
	struct unix_address *a;
	__s32 len;

	peer_read(r, sk);
	if (!bpf_core_field_exists(u->peer))
		return;
	a = BPF_CORE_READ(u, addr);
	if (!a) {
		u = (struct unix_sock *)BPF_CORE_READ(u, peer);
		a = BPF_CORE_READ(u, addr);
	}
	len = a ? BPF_CORE_READ(a, len) : 0;
	if (len <= 2 || len > 110)
		return;
	if (!bpf_probe_read_kernel(
		    r->path, 108, (void *)a + bpf_core_field_offset(struct unix_address, name) + 2))
		r->len = len - 2;
}

static __always_inline void socket_read(struct gn_cause_rec *r, struct file *file)
{
	struct sock *sk = socket_of(file);
	char *sock = cause_sock(r);

	r->of.kind = GN_CAUSE_SOCKET;
	if (!sk || sock_read(sock, sk))
		return;
	r->of.family = sock_field(sock, __u16, skc_family);
	if (r->of.family == AF_INET || r->of.family == AF_INET6) {
		inet_read(&r->of, sock, sk); /* connections of one peer and port are one cause */
	} else if (r->of.family == AF_UNIX) {
		r->of.kind = GN_CAUSE_UNIX;
		r->of.listens = sock_field(sock, __u8, skc_state) == TCP_LISTEN;
	}
}

static __noinline void file_read(struct gn_cause_rec *r, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	__u32 mode = BPF_CORE_READ(inode, i_mode) & IFMT, magic;
	struct super_block *sb;

	if (mode == IFSOCK) {
		socket_read(r, file);
		if (r->of.kind == GN_CAUSE_INET)
			return;
	}
	sb = BPF_CORE_READ(inode, i_sb);
	r->of.ino = BPF_CORE_READ(inode, i_ino);
	r->of.dev = BPF_CORE_READ(sb, s_dev);
	if (mode == IFSOCK)
		return;
	magic = BPF_CORE_READ(sb, s_magic);
	if (mode == IFIFO && magic == PIPEFS_MAGIC) {
		r->of.kind = GN_CAUSE_PIPE;
	} else if (magic == ANON_INODE_MAGIC) {
		r->of.kind = GN_CAUSE_ANON;
		r->of.ino = (__u64)file; /* there is one inode for all; not sent: anon_read() */
	} else {
		r->of.kind = GN_CAUSE_FILE;
	}
}

/* ---- content: what is needed once for each cause ---- */

struct path_walk {
	struct gn_cause_rec *r;
	struct dentry *dentry;
	struct vfsmount *mnt;
	__u32 off;
};

/* From a mount's root to where it is mounted. False: it is the outermost. */
static __always_inline bool path_leave(struct path_walk *w)
{
	struct mount *m = (void *)w->mnt - bpf_core_field_offset(struct mount, mnt);
	struct mount *up = BPF_CORE_READ(m, mnt_parent);

	if (!up || up == m)
		return false;
	w->dentry = BPF_CORE_READ(m, mnt_mountpoint);
	w->mnt = (void *)up + bpf_core_field_offset(struct mount, mnt);
	return true;
}

static long path_step(__u32 i, struct path_walk *w)
{
	struct dentry *dentry = w->dentry, *parent;
	struct vfsmount *mnt = w->mnt;
	struct gn_cause_rec *r = w->r;
	__u32 off = w->off;
	long n;

	if (dentry == BPF_CORE_READ(mnt, mnt_root)) {
		if (path_leave(w))
			return 0;
		r->whole = 1;
		return 1;
	}
	parent = BPF_CORE_READ(dentry, d_parent);
	if (!parent || parent == dentry || off > GN_CAUSE_PATH - GN_CAUSE_NAME)
		return 1;
	n = bpf_probe_read_kernel_str(r->path + off, GN_CAUSE_NAME,
				      BPF_CORE_READ(dentry, d_name.name));
	if (n <= 0)
		return 1;
	w->off = off + n;
	w->dentry = parent;
	return 0;
}

static __always_inline void path_read(struct gn_cause_rec *r, struct file *file)
{
	struct path_walk w = {
		.r = r,
		.dentry = BPF_CORE_READ(file, f_path.dentry),
		.mnt = BPF_CORE_READ(file, f_path.mnt),
	};

	if (w.mnt)
		bpf_loop(PATH_NAMES, path_step, &w, 0);
	r->len = w.off;
}

/* Through the tree, each node as it is met first; on its way up where both its sides were seen. */
struct epoll_walk {
	struct rb_node *node;
	__u32 n;
	__u32 up;
};

static long epoll_step(__u32 i, struct epoll_walk *w)
{
	struct rb_node *node = w->node, *next, *up;

	if (!w->up) {
		w->n++;
		next = BPF_CORE_READ(node, rb_left);
		if (!next)
			next = BPF_CORE_READ(node, rb_right);
		if (next)
			w->node = next;
		else
			w->up = 1;
		return 0;
	}
	up = (void *)(BPF_CORE_READ(node, __rb_parent_color) & ~3UL);
	w->node = up;
	if (!up)
		return 1;
	if (BPF_CORE_READ(up, rb_left) != node)
		return 0;
	next = BPF_CORE_READ(up, rb_right);
	if (next) {
		w->node = next;
		w->up = 0;
	}
	return 0;
}

/*
 * Counts the descriptors of an epoll; `whole`: these are all of them. Others may change the tree
 * meanwhile: each step is a read that may fail.
 */
static __always_inline void epoll_count(struct gn_cause_rec *r, struct file *file)
{
	struct epoll_walk w = {};
	struct eventpoll *ep = (struct eventpoll *)BPF_CORE_READ(file, private_data);

	if (!bpf_core_field_exists(ep->rbr))
		return;
	w.node = BPF_CORE_READ(ep, rbr.rb_root.rb_node);
	r->whole = 1;
	if (!w.node)
		return;
	bpf_loop(EPOLL_STEPS, epoll_step, &w, 0);
	r->of.count = w.n;
	r->whole = !w.node;
}

static __always_inline void anon_read(struct gn_cause_rec *r, struct file *file)
{
	long n = bpf_probe_read_kernel_str(r->path, GN_CAUSE_NAME,
					   BPF_CORE_READ(file, f_path.dentry, d_name.name));

	r->of.ino = 0;
	if (n <= 1)
		return;
	r->len = n - 1;
	if (r->path[1] == 'e' && r->path[6] == 'p') /* "[eventpoll]" */
		epoll_count(r, file);
}

static __noinline void content_read(struct gn_cause_rec *r, struct file *file)
{
	const char *type;

	r->len = r->whole = 0;
	r->fs[0] = 0;
	if (!file)
		return;
	type = BPF_CORE_READ(file, f_inode, i_sb, s_type, name);
	bpf_probe_read_kernel_str(r->fs, sizeof(r->fs), type);
	if (r->of.kind == GN_CAUSE_FILE)
		path_read(r, file);
	else if (r->of.kind == GN_CAUSE_ANON)
		anon_read(r, file);
	else if (r->of.kind == GN_CAUSE_UNIX)
		unix_read(r, socket_of(file));
}

/* Sends the content unless this epoch's reader has it; `file` may be NULL. */
static __noinline void cause_send(struct gn_cause_rec *r, __u64 who, struct file *file)
{
	if (cause_is_sent(r->id))
		return;
	record_begin(&r->h, GN_REC_CAUSE, who);
	content_read(r, file);
	/* one that does not fit the ring is sent with the next wait */
	if (!record_send(&r->h, sizeof(*r)))
		cause_sent(r->id);
}

struct poll_entry { /* struct pollfd */
	__u32 fd;
	__u16 events, revents;
};

/* The only descriptor that poll was given, and what it is to be ready for. 0, or not known. */
static __always_inline int poll_read(struct task_struct *task, __u64 list, __u32 *fd, __u8 *op)
{
	struct poll_entry e = {};

	if (cause_read_user(task, &e, sizeof(e), list))
		return -1;
	*fd = e.fd;
	if (e.events & POLLIN)
		*op = GN_OP_READ;
	else if (e.events & POLLOUT)
		*op = GN_OP_WRITE;
	return 0;
}

/* Returns the cause's id. Where kern/waker.bpf.c can find who serves such a wait, the id has a flag
 * for that, and of a connection the number of the other end. */
static __noinline __u64 cause_id_of(const struct gn_cause *c, __u32 tgid)
{
	__u64 id;

	if (!c)
		return 0;
	id = cause_id(c, tgid);
	if (c->kind == GN_CAUSE_PIPE || c->kind == GN_CAUSE_UNIX)
		return id | CAUSE_ID_WOKEN;
	if (c->kind == GN_CAUSE_INET && c->protocol == IPPROTO_TCP && c->peer_port && !c->listens)
		return (__u32)id | CAUSE_ID_PEER | (__u64)inet_other_end(c) << 32;
	return id;
}

static __noinline __u64 cause_read(__u64 who, struct task_struct *task)
{
	struct cause_call call = {};
	struct gn_cause_rec *r;
	struct file *file = NULL;
	__u32 zero = 0, fd;
	int several = 0;
	enum gn_cause_op op;

	if (!task)
		return 0;
	call_read(&call, task);
	op = gn_call_op(call.nr, &several);
	r = bpf_map_lookup_elem(&cause_scratch, &zero);
	if (!r)
		return 0;
	__builtin_memset(&r->of, 0, sizeof(r->of));
	r->of.op = op;
	fd = call.arg[0];
	if (gn_call_is_futex(call.nr)) {
		if (lock_tell(r, who, task) == BLOCKER_AGAIN)
			return r->id;
	} else if (op == GN_OP_NONE) {
		return 0;
	} else if (several && call.arg[1] != 1) {
		r->of.kind = GN_CAUSE_POLL;
		r->of.count = call.arg[1];
	} else if (!several || !poll_read(task, call.arg[0], &fd, &r->of.op)) {
		file = file_of(task, fd);
		if (!file)
			return 0;
		file_read(r, file);
	}
	if (!r->of.kind)
		return 0;
	r->id = cause_id_of(&r->of, who >> 32);
	cause_send(r, who, file);
	return r->id;
}

static __always_inline bool state_has_cause(__u32 state)
{
	return gn_causes && (state == GN_ST_SLEEP || state == GN_ST_DISK || state == GN_ST_UNSEEN);
}

/* Tells whether the thread may wait for a Java object. */
static __always_inline bool is_in_futex(struct task_struct *task)
{
	struct cause_call call = {};

	call_read(&call, task);
	return gn_call_is_futex(call.nr);
}

/*
 * The id of what `task`, whose tgid << 32 | tid is `who`, waits for, or 0. It is off the CPU in
 * `state`, or just leaving it.
 */
static __always_inline __u64 cause_of(__u64 who, struct task_struct *task, __u32 state)
{
	if (!state_has_cause(state))
		return 0;
	return cause_read(who, task);
}

#endif
