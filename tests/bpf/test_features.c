/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel can do: all that the programs take of it is tried, what is taken away is missed
 * by name, the programs load without it, and who may not load programs hears that and nothing else.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/btf.h>

#include "capture/capture.h"
#include "capture/features.h"
#include "capture/refusal.h"
#include "gnomon.skel.h"

#define MS 1000000ull

static void without(const char *names)
{
	if (names)
		setenv("GNOMON_WITHOUT", names, 1);
	else
		unsetenv("GNOMON_WITHOUT");
	features_forget();
}

static int setup(void **state)
{
	without(NULL);
	return 0;
}

static int feature_named(const char *name)
{
	const struct feature_info *f;

	for (int i = 0; (f = feature_info(i)); i++)
		if (!strcmp(f->name, name))
			return i;
	return -1;
}

/* ---- nothing is taken that is not tried ---- */

/* In every kernel that has BTF: the youngest is of Linux 4.20. */
static bool is_old_helper(int id)
{
	static const int old[] = {
		BPF_FUNC_map_lookup_elem, BPF_FUNC_map_update_elem, BPF_FUNC_map_delete_elem,
		BPF_FUNC_ktime_get_ns, BPF_FUNC_get_prandom_u32, BPF_FUNC_get_smp_processor_id,
		BPF_FUNC_tail_call, BPF_FUNC_get_current_pid_tgid, BPF_FUNC_map_push_elem,
		BPF_FUNC_map_pop_elem, BPF_FUNC_map_peek_elem, BPF_FUNC_get_current_task,
		/* of 5.15; what calls them needs bpf_task_from_pid() of 6.10 */
		BPF_FUNC_timer_init, BPF_FUNC_timer_set_callback, BPF_FUNC_timer_start};

	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++)
		if (old[i] == id)
			return true;
	return false;
}

/* libbpf's, in place of a look at what this kernel has not: it is never reached. */
#define POISON 0xbad2310

static bool is_tried(enum feature_kind kind, int id)
{
	const struct feature_info *f;

	for (int i = 0; (f = feature_info(i)); i++)
		if (f->kind == kind && f->id == id)
			return true;
	return false;
}

static void helpers_check(const struct bpf_program *p)
{
	const struct bpf_insn *insn = bpf_program__insns(p);

	for (size_t i = 0; i < bpf_program__insn_cnt(p); i++)
		if (insn[i].code == (BPF_JMP | BPF_CALL) && !insn[i].src_reg &&
		    insn[i].imm != POISON && !is_old_helper(insn[i].imm) &&
		    !is_tried(FEATURE_OF_HELPERS, insn[i].imm))
			fail_msg("'%s' calls helper %d, which is not tried", bpf_program__name(p),
				 insn[i].imm);
}

static void hook_check(const struct bpf_program *p)
{
	const char *name = bpf_program__section_name(p);
	char program[64];

	snprintf(program, sizeof(program), "%s program", name);
	if (feature_named(name) < 0 && feature_named(program) < 0)
		fail_msg("'%s' is not tried", name);
}

static void test_all_is_tried(void **state)
{
	struct gnomon *skel = gnomon__open();
	struct bpf_program *p;
	struct bpf_map *m;
	int programs = 0;

	assert_non_null(skel);
	refusal_listen();
	skel->rodata->gn_can_switch = features_can_switch();
	skel->rodata->gn_run_queue = feature_has(FEATURE_RUN_QUEUE);
	skel->rodata->gn_stolen = feature_has(FEATURE_STOLEN);
	skel->rodata->gn_sched_info = feature_has(FEATURE_SCHED_INFO);
	skel->rodata->gn_wall_ns = skel->rodata->gn_cpu_ns = MS;
	bpf_program__set_autoload(skel->progs.wall_switch, features_can_switch());
	bpf_program__set_autoload(skel->progs.switch_walk, features_can_switch());
	bpf_program__set_autoload(skel->progs.switch_visit,
				  features_can_switch() && feature_has(FEATURE_TASK_FIND));
	bpf_program__set_autoload(skel->progs.remote_tick, feature_has(FEATURE_TASK_FIND));
	bpf_program__set_autoload(skel->progs.lock_tick, feature_has(FEATURE_TASK_FIND));
	bpf_object__for_each_map(m, skel->obj)
	{
		int type = (int)bpf_map__type(m);

		if (type != BPF_MAP_TYPE_HASH && type != BPF_MAP_TYPE_ARRAY &&
		    !is_tried(FEATURE_OF_MAPS, type))
			fail_msg("map '%s' of type %d is not tried", bpf_map__name(m), type);
	}
	assert_int_equal(gnomon__load(skel), 0); /* then they have their subprograms, too */
	bpf_object__for_each_program(p, skel->obj)
	{
		hook_check(p);
		helpers_check(p);
		programs++;
	}
	assert_true(programs >= 14);
	gnomon__destroy(skel);
}

static void test_names(void **state)
{
	const struct feature_info *f;

	for (int i = 0; (f = feature_info(i)); i++) {
		assert_int_equal(feature_named(f->name), i);
		assert_null(strchr(f->name, ','));
		assert_true(f->use[0] && f->remedy[0]);
		assert_true((f->need == FEATURE_BETTER) == (i < FEATURE_OPTIONAL));
		assert_true((f->without != NULL) == (i < FEATURE_OPTIONAL));
	}
}

/* ---- taken away ---- */

/* Each feature alone: it is missing, and others are as they were. */
static void test_taken(void **state)
{
	const struct feature_info *f;

	for (int i = 0; (f = feature_info(i)); i++) {
		int other = i == FEATURE_SCHED_INFO ? FEATURE_RUN_QUEUE : FEATURE_SCHED_INFO, rc;

		without(NULL);
		rc = feature_try(other);
		without(f->name);
		assert_int_equal(feature_try(i), -EOPNOTSUPP);
		assert_int_equal(feature_try(other), rc);
		assert_int_equal(features_taken(true), f->need != FEATURE_BETTER);
		assert_int_equal(features_taken(false), f->need == FEATURE_FOR_ALL);
	}
}

/* Who needs it says so, and what to do. */
static void test_told(void **state)
{
	static const char *const names[] = {"BTF", "iter.s/task", "bpf_loop", "ring buffer"};
	struct error e;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		e = (struct error){0};
		without(names[i]);
		assert_true(capture_trial(true, &e));
		assert_int_equal(e.exit, EXIT_KERNEL);
		assert_non_null(strstr(e.msg, names[i]));
		assert_non_null(strstr(e.hint, feature_info(feature_named(names[i]))->remedy));
	}
	e = (struct error){0};
	without("iter.s/task"); /* of wall samples alone */
	assert_int_equal(capture_trial(false, &e), 0);
	without("bpf_loop,no such feature");
	assert_true(capture_trial(true, &e));
	assert_int_equal(e.exit, EXIT_USAGE);
}

/*
 * All programs of a recording, without anything that there is another way for. (Without each alone:
 * test_fallbacks.c.)
 */
static void test_other_ways(void **state)
{
	char names[512] = "";
	struct error e = {0};

	for (int f = 0; f < FEATURE_OPTIONAL; f++) {
		strcat(names, names[0] ? "," : "");
		strcat(names, feature_info(f)->name);
	}
	without(names);
	for (int f = 0; f < FEATURE_OPTIONAL; f++)
		assert_false(feature_has(f));
	if (capture_trial(true, &e))
		fail_msg("without '%s': %s", names, e.msg);
}

/* ---- fields that a kernel does not have ---- */

/* The kernel's types with other names for some members, in a file. */
static char *types_without(const char *const *names)
{
	static char path[] = "/tmp/gnomon-types.XXXXXX";
	FILE *in = fopen("/sys/kernel/btf/vmlinux", "re"), *out;
	size_t cap = 64 << 20, size;
	char *types = malloc(cap);
	const struct btf_header *h = (const void *)types;

	assert_non_null(in);
	assert_non_null(types);
	size = fread(types, 1, cap, in);
	fclose(in);
	assert_true(size > sizeof(*h) && size < cap);
	for (; *names; names++) {
		char *s = types + h->hdr_len + h->str_off, *end = s + h->str_len;
		int found = 0;

		for (; s < end; s += strlen(s) + 1)
			if (!strcmp(s, *names)) {
				s[0] = '_';
				found++;
			}
		assert_true(found > 0);
	}
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	out = fdopen(mkstemp(path), "we");
	assert_non_null(out);
	assert_int_equal(fwrite(types, 1, size, out), size);
	fclose(out);
	free(types);
	return path;
}

/* Load all without these members: `known` says whether that is known of the kernel. */
static int loaded_without(const char *feature, const char *const *members, bool known,
			  struct error *e)
{
	struct capture_config cfg = {
		.cpu_ns = MS, .wall_ns = 10 * MS, .start_ns = 1, .btf = types_without(members)};
	struct capture *c = NULL;
	int rc;

	without(known ? feature : NULL);
	rc = capture_open(&c, &cfg, e);
	if (!rc)
		rc = capture_attach(c, e);
	if (!rc)
		rc = capture_can_switch(c);
	capture_close(c);
	unlink(cfg.btf);
	return rc;
}

static void test_fields(void **state)
{
	static const char *const sched_info[] = {"last_arrival", "last_queued", "run_delay", NULL};
	static const char *const run_queue[] = {"cfs_rq", NULL};
	static const char *const stolen[] = {"prev_steal_time_rq", NULL};
	struct error e = {0};

	if (!features_can_switch())
		skip(); /* they are not there to be taken away */
	if (loaded_without("task_struct.sched_info", sched_info, true, &e) ||
	    loaded_without("cfs_rq.rq", run_queue, true, &e))
		fail_msg("%s", e.msg);
	if (feature_has(FEATURE_STOLEN) &&
	    loaded_without("rq.prev_steal_time_rq", stolen, true, &e) < 0)
		fail_msg("%s", e.msg);
	/* they are gone indeed, and then that is the verifier's refusal, which is no lack of rights
	 */
	assert_true(loaded_without("task_struct.sched_info", sched_info, false, &e) < 0);
	assert_int_equal(e.exit, EXIT_KERNEL);
	assert_non_null(strstr(e.msg, "does not load"));
	assert_non_null(strchr(e.msg, '\''));
	assert_true(loaded_without("cfs_rq.rq", run_queue, false, &e) < 0);
	assert_int_equal(e.exit, EXIT_KERNEL);
}

/* ---- refused, or not permitted ---- */

/* -EACCES as the verifier says it: memory beyond the context. */
static void test_refused(void **state)
{
	static const struct probe_place at = {.kind = PROBE_PERF};
	const struct bpf_insn beyond[] = {PROBE_LOAD(BPF_REG_0, BPF_REG_1, 4096, BPF_DW),
					  PROBE_EXIT};

	assert_int_equal(probe_load(NULL, &at, beyond, 2, NULL, 0), -EACCES);
	assert_int_equal(features_permitted(), 0);
}

/* Whether anybody may make maps; distributions have that turned off. */
static bool maps_for_anybody(void)
{
	FILE *f = fopen("/proc/sys/kernel/unprivileged_bpf_disabled", "re");
	int off = 1;

	if (f) {
		if (fscanf(f, "%d", &off) != 1)
			off = 1;
		fclose(f);
	}
	return !off;
}

/*
 * What the kernel's types lack is known to anybody; where anybody may use BPF, so is what it took
 * no rights to try; the rest is not known.
 */
static bool is_unknown(int f, int rc)
{
	return feature_try(f) == -EPERM || f == FEATURE_CLOCKS_IN_STEP ||
	       f == feature_named("BTF") ||
	       ((rc == -EOPNOTSUPP || maps_for_anybody()) && feature_try(f) == rc);
}

static void test_not_permitted(void **state)
{
	int status, rc[128] = {0};
	pid_t pid;

	for (int i = 0; feature_info(i); i++)
		rc[i] = feature_try(i);
	features_forget();
	pid = fork();

	if (!pid) {
		struct error e = {0};

		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(2);
		if (features_permitted() != -EPERM)
			_exit(3);
		for (int i = 0; feature_info(i); i++)
			if (!is_unknown(i, rc[i]))
				_exit(10 + i);
		if (features_missing(true) >= 0)
			_exit(4);
		_exit(capture_trial(true, &e) && e.exit == EXIT_PERMISSION ? 0 : 5);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* As libbpf 1.1 prints them. */
static void test_refusal(void **state)
{
	char why[256];

	refusal_note("libbpf: Error in bpf_object__probe_loading():Operation not permitted(1)\n");
	assert_false(refusal_told(why, sizeof(why)));
	refusal_note("libbpf: prog 'one': BPF program load failed: Permission denied\n");
	assert_true(refusal_told(why, sizeof(why)));
	assert_string_equal(why, "'one': BPF program load failed: Permission denied");
	refusal_note("libbpf: prog 'two': -- BEGIN PROG LOAD LOG --\n"
		     "0: R1=ctx(off=0,imm=0) R10=fp0\n"
		     "; struct task_struct *task = bpf_task_from_pid(tid);\n"
		     "calling kernel function bpf_task_from_pid is not allowed\n"
		     "processed 9 insns (limit 1000000) max_states_per_insn 0\n"
		     "-- END PROG LOAD LOG --\n");
	assert_true(refusal_told(why, sizeof(why)));
	assert_string_equal(why, "'two': calling kernel function bpf_task_from_pid is not allowed");
	refusal_note("libbpf: prog 'three': -- BEGIN PROG LOAD LOG --\n");
	assert_true(refusal_told(why, sizeof(why)));
	assert_string_equal(why, "'three': ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_refusal, setup),
		cmocka_unit_test_setup(test_names, setup),
		cmocka_unit_test_setup(test_all_is_tried, setup),
		cmocka_unit_test_setup(test_taken, setup),
		cmocka_unit_test_setup(test_told, setup),
		cmocka_unit_test_setup(test_other_ways, setup),
		cmocka_unit_test_setup(test_fields, setup),
		cmocka_unit_test_setup(test_refused, setup),
		cmocka_unit_test_setup(test_not_permitted, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
