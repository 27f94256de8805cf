/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/javacmd.h"
#include "target/jvmproc.h"

/* ---- maps ------------------------------------------------------------------------------------ */

static void image(void **state)
{
	static const char maps[] =
		"7f0000000000-7f0000001000 r--p 00000000 08:01 42 /jdk/lib/server/libjvm.so\n"
		"7f0000001000-7f0000005000 r-xp 00001000 fe:0a 42   /my jdk/server/libjvm.so\n"
		"7f0000005000-7f0000006000 rw-p 00000000 00:00 0 \n";
	struct jvm_image i;

	assert_true(jvm_image_find(maps, strlen(maps), &i));
	assert_true(i.start == 0x7f0000001000 && i.end == 0x7f0000005000);
	assert_int_equal(i.offset, 0x1000);
	assert_int_equal(i.dev_major, 0xfe);
	assert_int_equal(i.dev_minor, 0x0a);
	assert_int_equal(i.inode, 42);
	assert_string_equal(i.path, "/my jdk/server/libjvm.so");
	assert_false(i.deleted);
}

static void image_deleted(void **state)
{
	static const char maps[] = "1000-2000 r-xp 0 08:01 42 /j/libjvm.so (deleted)";
	struct jvm_image i;

	assert_true(jvm_image_find(maps, strlen(maps), &i));
	assert_true(i.deleted);
	assert_string_equal(i.path, "/j/libjvm.so");
}

static void image_none(void **state)
{
	static const char *const maps[] = {
		"",
		"1000-2000 r--p 0 08:01 42 /j/libjvm.so\n",	/* not executable */
		"1000-2000 r-xp 0 08:01 42 /j/libjvm.so.bak\n", /* another name */
		"1000-2000 r-xp 0 08:01 42 /j/notlibjvm.so\n",
		"1000-2000 r-xp 0 00:00 0 [anon:/libjvm.so]\n",
		"2000-1000 r-xp 0 08:01 42 /j/libjvm.so\n",
		"/libjvm.so",
		"1000-2000 r-xp 0 08 42 /j/libjvm.so\n",
	};
	struct jvm_image i;

	for (size_t k = 0; k < sizeof(maps) / sizeof(maps[0]); k++)
		assert_false(jvm_image_find(maps[k], strlen(maps[k]), &i));
	assert_int_equal(jvm_proc_read(getpid(), &(struct jvm_proc){0}), -ENOEXEC);
}

/* ---- release --------------------------------------------------------------------------------- */

static void release(void **state)
{
	static const char t17[] = "IMPLEMENTOR=\"Debian\"\n"
				  "JAVA_RUNTIME_VERSION=\"17.0.15+6-Debian-1deb12u1\"\n"
				  "JAVA_VERSION=\"17.0.15\"\nMODULES=\"java.base a=b\"\n";
	static const char t8[] = "JAVA_VERSION=\"1.8.0_402\"\r\nOS_NAME=\"Linux\"\r\n";
	static const char j9[] = "JVM_VARIANT=\"Openj9\"\nJAVA_VERSION=\"21\"\n";
	struct jvm_release r;

	assert_true(jvm_release_parse(t17, strlen(t17), &r));
	assert_string_equal(r.version, "17.0.15");
	assert_string_equal(r.runtime, "17.0.15+6-Debian-1deb12u1");
	assert_string_equal(r.vendor, "Debian");
	assert_int_equal(r.major, 17);
	assert_false(r.openj9);
	assert_true(jvm_release_parse(t8, strlen(t8), &r));
	assert_int_equal(r.major, 8);
	assert_true(jvm_release_parse(j9, strlen(j9), &r));
	assert_true(r.openj9);
	assert_int_equal(r.major, 21);
	assert_false(jvm_release_parse("JAVA_VERSION=17\n", 16, &r));
	assert_false(jvm_release_parse("", 0, &r));
	assert_true(jvm_release_parse("JAVA_VERSION=\"1\x1b[2J7\"", 21, &r));
	assert_null(strchr(r.version, 0x1b));
}

static void release_in_image(void **state)
{
	static const char img[] = "\0x JRE (\0 JRE (not) linux-amd64 JRE (25.0.3+9-LTS), built on";
	static const char ea[] = " JRE (26-ea+5-123), b";
	struct jvm_release r;

	assert_true(jvm_release_scan(img, sizeof(img) - 1, &r));
	assert_string_equal(r.version, "25.0.3");
	assert_string_equal(r.runtime, "25.0.3+9-LTS");
	assert_int_equal(r.major, 25);
	assert_true(jvm_release_scan(ea, sizeof(ea) - 1, &r));
	assert_int_equal(r.major, 26);
	assert_false(jvm_release_scan(" JRE (17", 8, &r));
	assert_false(jvm_release_scan("", 0, &r));
}

static void info_in_image(void **state)
{
#define INFO                                                                                       \
	"OpenJDK 64-Bit Server VM (25.0.3+9-LTS) for linux-amd64 JRE (25.0.3+9-LTS), built on x"
	static const char img[] = "\0x JRE (\0y JRE (not)\0" INFO "\0z";
	char buf[sizeof(INFO)];

	assert_true(jvm_info_scan(img, sizeof(img) - 1, buf, sizeof(buf)));
	assert_string_equal(buf, INFO);
	/* no room for all of it; a piece that begins or ends elsewhere; one that has bytes of no
	 * text */
	assert_false(jvm_info_scan(img, sizeof(img) - 1, buf, sizeof(buf) - 1));
	assert_false(jvm_info_scan(INFO, sizeof(INFO), buf, sizeof(buf)));
	assert_false(jvm_info_scan(img, sizeof(img) - 3, buf, sizeof(buf)));
	assert_true(jvm_info_scan("\0\33[2J JRE (1)", 14, buf, sizeof(buf)));
	assert_string_equal(buf, "?[2J JRE (1)");
#undef INFO
}

/* ---- command lines --------------------------------------------------------------------------- */

static void parse(const char *line, size_t len, bool launcher, struct java_cmd *c)
{
	struct proc_args a;

	memset(c, 0, sizeof(*c));
	assert_int_equal(proc_args_parse(line, len, &a), 0);
	java_cmd_parse(&a, launcher, c);
	proc_args_free(&a);
}

#define L(s) s, sizeof(s) - 1

static const struct {
	const char *line;
	size_t len;
	enum java_main_kind kind;
	const char *main;
} lines[] = {
	{L("java\0-cp\0x.jar\0org.Main\0-jar\0no.jar"), JAVA_MAIN_CLASS, "org.Main"},
	{L("java\0-Xmx1g\0-jar\0/opt/app.jar\0-cp\0x"), JAVA_MAIN_JAR, "/opt/app.jar"},
	{L("java\0-jar\0-Xint\0app.jar"), JAVA_MAIN_JAR, "app.jar"},
	{L("java\0-jar\0-cp\0lib\0app.jar"), JAVA_MAIN_JAR, "app.jar"},
	{L("java\0-p\0mods\0-m\0mod/org.M\0x"), JAVA_MAIN_MODULE, "mod/org.M"},
	{L("java\0--module-path\0m\0--module=mod\0x"), JAVA_MAIN_MODULE, "mod"},
	{L("java\0--add-opens\0java.base/java.lang=ALL-UNNAMED\0M"), JAVA_MAIN_CLASS, "M"},
	{L("java\0--add-opens=java.base/java.lang=X\0M\0N"), JAVA_MAIN_CLASS, "M"},
	{L("java\0--enable-native-access\0ALL-UNNAMED\0M"), JAVA_MAIN_CLASS, "M"},
	{L("java\0--source\0"
	   "17\0Foo.java\0x"),
	 JAVA_MAIN_SOURCE, "Foo.java"},
	{L("java\0-Xint\0@/a/f\0org.Main\0a"), JAVA_MAIN_ARGFILE, "@/a/f"},
	{L("java\0org.Main\0@f"), JAVA_MAIN_CLASS, "org.Main"},
	{L("java\0--disable-@files\0@opts"), JAVA_MAIN_CLASS, "@opts"},
	{L("java\0@@odd"), JAVA_MAIN_CLASS, "@odd"},
	{L("java\0-cp"), JAVA_MAIN_PROGRAM, "java"},
	{L("java"), JAVA_MAIN_PROGRAM, "java"},
	{L("/usr/bin/java\0M\x1b[31m\n"), JAVA_MAIN_CLASS, "M?[31m?"},
	{L(""), JAVA_MAIN_NONE, ""},
};

static void mains(void **state)
{
	struct java_cmd c;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		parse(lines[i].line, lines[i].len, true, &c);
		assert_string_equal(c.main, lines[i].main);
		assert_int_equal(c.kind, lines[i].kind);
	}
}

static void embedded(void **state)
{
	struct java_cmd c;

	parse(L("/usr/bin/javac\0-J-XX:+DisableAttachMechanism\0X.java"), false, &c);
	assert_int_equal(c.kind, JAVA_MAIN_PROGRAM);
	assert_string_equal(c.main, "javac");
	assert_true(c.flags.disable_attach);
}

static void flags(void **state)
{
	struct java_cmd c;

	parse(L("java\0-XX:+DisableAttachMechanism\0-XX:-DisableAttachMechanism\0-Xrs\0-Xint\0"
		"-XX:+PreserveFramePointer\0-XX:-EnableDynamicAgentLoading\0-XX:+UseG1GC\0"
		"-XX:-UseZGC\0-Xmx512m\0M\0-XX:+DisableAttachMechanism"),
	      true, &c);
	assert_false(c.flags.disable_attach);
	assert_true(c.flags.reduce_signals);
	assert_true(c.flags.interpreted);
	assert_true(c.flags.preserve_fp);
	assert_int_equal(c.flags.agents, JAVA_AGENTS_FORBIDDEN);
	assert_string_equal(c.flags.gc, "G1");
	assert_string_equal(c.flags.max_heap, "512m");
	/* what an option of another kind names is no flag */
	parse(L("java\0-cp\0-XX:+DisableAttachMechanism\0M"), true, &c);
	assert_false(c.flags.disable_attach);
}

static void env_options(void **state)
{
	struct java_flags f = {0};

	java_options_parse("  -Dx='a -Xint' \"-XX:+DisableAttachMechanism\" -Xrs", &f);
	assert_true(f.disable_attach);
	assert_true(f.reduce_signals);
	assert_false(f.interpreted);
	java_options_parse("", &f);
	java_options_parse("'unterminated -Xint", &f);
	assert_false(f.interpreted);
}

static void command(const char *text, enum java_main_kind kind, const char *want)
{
	struct java_cmd c = {.kind = JAVA_MAIN_ARGFILE, .main = "@f"};

	java_command_parse(text, &c);
	assert_string_equal(c.main, want);
	assert_int_equal(c.kind, kind);
}

/* As the JVM tells it. */
static void commands(void **state)
{
	command("org.M x.jar", JAVA_MAIN_CLASS, "org.M");
	command("org.M", JAVA_MAIN_CLASS, "org.M");
	command("app.jar a b", JAVA_MAIN_JAR, "app.jar");
	command("/opt/my app.jar a.jar", JAVA_MAIN_JAR, "/opt/my app.jar");
	command("/opt/my app", JAVA_MAIN_MODULE, "/opt/my");
	command("mod/org.M x.jar", JAVA_MAIN_MODULE, "mod/org.M");
	command("jdk.compiler/com.sun.tools.javac.launcher.Main Foo.java x", JAVA_MAIN_SOURCE,
		"Foo.java");
	command("", JAVA_MAIN_ARGFILE, "@f");
	command("  ", JAVA_MAIN_ARGFILE, "@f");
	command("M\x1b[31m\n", JAVA_MAIN_CLASS, "M?[31m?");
}

/* ---- whose it is ----------------------------------------------------------------------------- */

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static uint64_t owner(uint32_t uid, const char *cgroup)
{
	struct jvm_proc j = {.uid = uid};

	container_parse(cgroup, strlen(cgroup), &j.container);
	return jvm_owner(&j).domain;
}

static void owners(void **state)
{
	uint64_t plain = owner(1000, "0::/user.slice/user-1000.slice/session-1.scope\n");
	uint64_t contained = owner(1000, "0::/system.slice/docker-" ID ".scope\n");
	uint64_t forged = owner(1000, "0::/user.slice/user-1000.slice/user@1000.service/docker-" ID
				      ".scope\n");

	assert_true(contained == owner(1000, "0::/system.slice/docker-" ID ".scope/x\n"));
	assert_true(contained != plain);
	assert_true(contained != owner(1001, "0::/system.slice/docker-" ID ".scope\n"));
	assert_true(plain != owner(1001, "0::/user.slice\n"));
	/* below his own service manager a user calls groups as he likes */
	assert_true(forged == plain);
	/* a container within one says nothing of others */
	assert_true(contained != owner(1000, "0::/lxc/a/docker-" ID ".scope\n"));
	/* nobody can work it out: FNV-1a of the id and the user was */
	assert_true(owner(0, "0::/\n") != 0xcbf29ce484222325u * 0x100000001b3u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(image),
		cmocka_unit_test(image_deleted),
		cmocka_unit_test(image_none),
		cmocka_unit_test(release),
		cmocka_unit_test(release_in_image),
		cmocka_unit_test(info_in_image),
		cmocka_unit_test(mains),
		cmocka_unit_test(embedded),
		cmocka_unit_test(flags),
		cmocka_unit_test(env_options),
		cmocka_unit_test(commands),
		cmocka_unit_test(owners),
	};

	return cmocka_run_group_tests_name("jvmproc", tests, NULL, NULL);
}
