/* SPDX-License-Identifier: Apache-2.0 */
/* floor OBJECT: the programs of OBJECT, which is floor.bpf.c, compiled, are attached until SIGINT.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

int main(int argc, char **argv)
{
	struct bpf_object *obj = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *p;

	signal(SIGINT, SIG_DFL); /* shells have it ignored by what they start in the background */
	if (!obj || bpf_object__load(obj)) {
		fprintf(stderr, "floor: cannot load '%s': %s\n", argc == 2 ? argv[1] : "",
			strerror(errno));
		return 1;
	}
	bpf_object__for_each_program(p, obj)
	{
		if (!bpf_program__attach(p)) {
			fprintf(stderr, "floor: cannot attach %s: %s\n", bpf_program__name(p),
				strerror(errno));
			return 1;
		}
	}
	for (;;)
		pause();
}
