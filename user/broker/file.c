/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/file.h"

#include <errno.h>
#include <sys/stat.h>

static uint64_t time_of(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int broker_identify(int fd, struct broker_file *file)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*file = (struct broker_file){
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_ns = time_of(st.st_mtim),
		.ctime_ns = time_of(st.st_ctim),
		.uid = st.st_uid,
	};
	return S_ISREG(st.st_mode) ? 0 : -EINVAL;
}
