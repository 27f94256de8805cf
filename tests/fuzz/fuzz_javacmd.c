/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/target/javacmd.c user/target/jvmproc.c user/target/procfs.c user/target/cgroup.c
// FUZZ-LINK: user/target/container.c user/base/buffer.c user/base/inroot.c
// FUZZ-LINK: user/base/utf8.c user/base/digest.c
// FUZZ-LINK: user/base/log.c user/broker/broker.c user/broker/workers.c user/base/fdmsg.c user/base/shared.c user/broker/grants.c user/base/rights.c user/broker/opening.c user/broker/reader.c user/broker/file.c user/base/beat.c
/* What a Java process chooses: command line, what the JVM tells, release file, names in its maps.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/javacmd.h"
#include "target/jvmproc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_command(const char *s, size_t n)
{
	struct java_cmd c = {0};
	struct proc_args a;

	if (proc_args_parse(s, n, &a))
		return;
	for (int launcher = 0; launcher < 2; launcher++) {
		java_cmd_parse(&a, launcher, &c);
		if ((c.kind == JAVA_MAIN_NONE && c.main[0]) || strpbrk(c.main, "\n\033"))
			abort();
	}
	if (a.n)
		java_options_parse(a.v[0], &c.flags);
	proc_args_free(&a);
}

/* What a JVM says of itself. */
static void parse_told(const char *s, size_t n)
{
	char *text = strndup(s, n);
	struct java_cmd c = {0};

	java_command_parse(text, &c);
	if ((c.kind == JAVA_MAIN_NONE) != !c.main[0] || strpbrk(c.main, "\n\033"))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data + 1;
	struct jvm_release r;
	struct jvm_image img;

	if (!size)
		return 0;
	switch (data[0] % 4) {
	case 0:
		parse_command(s, size - 1);
		break;
	case 1:
		parse_told(s, size - 1);
		break;
	case 2:
		if (jvm_image_find(s, size - 1, &img) && img.start >= img.end)
			abort();
		break;
	default:
		if (jvm_release_parse(s, size - 1, &r) && !r.version[0])
			abort();
		jvm_release_scan(s, size - 1, &r);
	}
	return 0;
}
