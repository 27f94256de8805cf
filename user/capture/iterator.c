/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/iterator.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/buffer.h"
#include "capture/reserve.h"

static int iterator_try(struct bpf_program *prog, pid_t tgid, struct bpf_link **link)
{
	union bpf_iter_link_info info = {.task.pid = (__u32)tgid};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	int fd, rc;

	*link = bpf_program__attach_iter(prog, tgid ? &opts : NULL);
	if (!*link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(*link));
	if (fd >= 0)
		return fd;
	rc = -errno;
	bpf_link__destroy(*link);
	*link = NULL;
	return rc;
}

int iterator_open(struct bpf_program *prog, pid_t tgid, struct bpf_link **link)
{
	int fd = iterator_try(prog, tgid, link);

	if (fd != -EMFILE)
		return fd;
	reserve_spend();
	return iterator_try(prog, tgid, link);
}

/* As iterator_run(); what it puts out is added to `out`, if any. */
static int run(int fd, size_t most, struct buffer *out)
{
	char buf[4096];

	while (most) {
		ssize_t n = read(fd, buf, most < sizeof(buf) ? most : sizeof(buf));

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!n)
			return 0;
		if (n > 0)
			most -= (size_t)n;
		if (n > 0 && out)
			buffer_add(out, buf, (size_t)n);
	}
	return 1;
}

int iterator_run(int fd, size_t most)
{
	return run(fd, most, NULL);
}

void iterator_close(int fd, struct bpf_link **link)
{
	close(fd);
	bpf_link__destroy(*link);
	*link = NULL;
	reserve_fill();
}

int iterator_collect(struct bpf_program *prog, pid_t tgid, struct buffer *out)
{
	struct bpf_link *link;
	int fd = iterator_open(prog, tgid, &link), rc;

	if (fd < 0)
		return fd;
	rc = run(fd, SIZE_MAX, out);
	iterator_close(fd, &link);
	return rc < 0 ? rc : 0;
}

int iterator_of(struct bpf_program *prog, pid_t tgid)
{
	return iterator_collect(prog, tgid, NULL);
}

int iterator_all(struct bpf_program *prog)
{
	return iterator_of(prog, 0);
}
