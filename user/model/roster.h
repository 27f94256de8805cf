/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of one target and what they are called. Records of one thread come by the rings of
 * several CPUs and so in any order: a birth may be heard of after the thread's name, its samples
 * and its end.
 */
#ifndef GNOMON_MODEL_ROSTER_H
#define GNOMON_MODEL_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <uthash.h>

struct roster;
struct resolved_thread;

/* Wall ticks of one long time off the CPU that are not written yet. */
struct wait {
	uint64_t time_ns;	/* of the first tick */
	uint64_t span_ns;	/* time off the CPU that these ticks stand for */
	uint32_t ticks;		/* 0: there is nothing to write */
	uint32_t thread, stack; /* ids in the file */
	uint32_t state;		/* enum jfr_state */
	uint32_t level;		/* of its ticks, kern/abi.h */
	uint64_t cause;		/* id, 0 none or not known */
	uint64_t context;	/* likewise */
};

/* At which stack a thread is, and since when, as of its last sample. */
struct hold {
	uint64_t since_ns, until_ns; /* until_ns 0: not known */
	uint64_t cause;		     /* the lock that it waits for, 0: none */
	uint64_t tick;		     /* the last one at which it did */
	uint32_t stack;		     /* id in the file, 0: none */
	uint32_t watch;		     /* struct stack's */
	uint16_t watched;	     /* likewise */
	bool sleeps;
	pid_t owner; /* of that lock, 0: not known */
};

/* CPU time as it was when it was last told, of a thread that has run. */
struct thread_load {
	uint64_t user_ns, system_ns;
	bool known; /* these are */
	bool ran;   /* since */
};

struct member {
	pid_t tid;
	uint32_t jfr;	 /* its id in the file; 0: not written under this name yet */
	char comm[16];	 /* the kernel's name; "": not known, or it has to be read: roster_comm() */
	bool unread;	 /* it has to be */
	char *java;	 /* the full Java name; NULL: not known */
	char *groups;	 /* with `java`: struct java_thread's (jvm/threads.h); NULL: not known */
	int64_t java_id; /* with `java` */
	/* when the JVM had been asked last; 0: not since it has this name */
	uint64_t asked_ns;
	bool again;		 /* it could not tell then: it is to be asked again */
	struct wait wait;	 /* kept for the roster's user */
	struct thread_load load; /* likewise */
	struct hold hold;	 /* likewise */
	/*
	 * The roster's own: when it was first heard of; when it was born, if it has not named
	 * itself since; when it got the name it has; when it ended, 0 if it has not.
	 */
	uint64_t seen_ns, born_ns, named_ns, ended_ns;
	UT_hash_handle hh;
};

/*
 * Asks the JVM what the thread is called, now or at some time from `since` on: 0, -ENOENT: not a
 * Java thread, or not known yet; -EAGAIN: to be asked again.
 */
typedef int (*roster_java_fn)(void *ctx, pid_t tid, uint64_t since, struct resolved_thread *out);

typedef void (*roster_member_fn)(void *ctx, struct member *m);

/* Reads what the kernel calls a thread now, NUL-terminated. 0, or -errno where there is none. */
typedef int (*roster_comm_fn)(pid_t tgid, pid_t tid, char *comm, size_t cap);

/* `gone` is told of each thread that is about to be forgotten. */
struct roster *roster_new(pid_t tgid, roster_comm_fn comm, roster_java_fn java,
			  roster_member_fn gone, void *ctx);
void roster_free(struct roster *r);

/* NULL: never heard of it. */
struct member *roster_find(struct roster *r, pid_t tid);

/* The thread, taken in if it is new. `time` is that of what was heard. NULL: out of memory. */
struct member *roster_get(struct roster *r, pid_t tid, uint64_t time);

/* The same, but its name is left to who asks for it: of many threads that are soon to be told of.
 */
struct member *roster_meet(struct roster *r, pid_t tid, uint64_t time);

/* What the kernel calls it, read if need be; "": not known. */
const char *roster_comm(const struct roster *r, struct member *m);

/* It was there at `time`, before anything else was heard of it, and called `comm`. */
void roster_found(struct roster *r, pid_t tid, uint64_t time, const char *comm);

/* The same as roster_get(), but NULL also of one that is not known and has ended: its name is not
 * to be had. */
struct member *roster_living(struct roster *r, pid_t tid, uint64_t time);

/* It was created, and carries `comm`, its creator's name, until it gives itself its own. */
struct member *roster_born(struct roster *r, pid_t tid, uint64_t time, const char *comm);

/*
 * The JVM tells what a thread is called now, and records of names come late: the name may be one
 * that the thread gave itself since. So a name is read as soon as it is heard that one was given,
 * though it is not that record's turn yet; and should the thread turn out to have named itself
 * again before that was read, it is nobody's: the thread then has the kernel's name alone.
 */
void roster_hear(struct roster *r, pid_t tid, uint64_t time);

/*
 * It was given a name: another thread of the file from now on, with the Java name that was read
 * when roster_hear() was told of it.
 */
struct member *roster_named(struct roster *r, pid_t tid, uint64_t time, const char *comm);

/* It has ended: forgotten by the roster_expire() some seconds later. */
void roster_ended(struct roster *r, pid_t tid, uint64_t time);
void roster_expire(struct roster *r, uint64_t now_ns);

/* What was told of threads may have been lost: read their names, and who has ended, from /proc. */
void roster_reread(struct roster *r, uint64_t now_ns);

/*
 * Asks the JVM for the thread's Java name if that is to be done. Returns whether what was heard at
 * `time` had better wait a little: the thread's own name is still to come, or whether it had that
 * name already is not known. `heard_ns`: roster_hear() was told of all names given before; 0: not
 * known.
 */
bool roster_learn(struct roster *r, struct member *m, uint64_t time, uint64_t heard_ns);

/* Ask once more for the Java name, if it is not known and can be. */
void roster_ask(struct roster *r, struct member *m);

void roster_each(struct roster *r, roster_member_fn fn, void *ctx);

/* Forget all ids of the file. */
void roster_forget_ids(struct roster *r);

/* Returns the number of threads that there were so far. */
uint64_t roster_count(const struct roster *r);

#endif
