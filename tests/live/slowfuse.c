// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file whose reads take a known time: slowfuse DIR FILE DELAY_US mounts a file system at DIR with one file, "disk",
 * that has FILE's contents. Each read sleeps DELAY_US before it is answered; standard output gets a line with its
 * begin and end (CLOCK_MONOTONIC, ns). Ends when it is unmounted. Speaks the protocol of /dev/fuse itself, so that the
 * test needs no library.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { FILE_NODE = 2, BUFFER_BYTES = 1 << 20, LONG_S = 1 << 20 };

struct server {
	int fuse, file;
	off_t size;
	useconds_t delay_us;
	char data[BUFFER_BYTES];
};

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

static void reply(const struct server *s, const struct fuse_in_header *in, int error,
		  const void *data, size_t size)
{
	struct fuse_out_header out = {.len = (uint32_t)(sizeof(out) + size),
				      .error = error,
				      .unique = in->unique};
	struct iovec iov[] = {{&out, sizeof(out)}, {(void *)data, size}};

	if (writev(s->fuse, iov, size ? 2 : 1) < 0 && errno != ENOENT) {
		perror("slowfuse: reply");
		exit(1);
	}
}

static struct fuse_attr attr_of(const struct server *s, uint64_t node)
{
	bool dir = node != FILE_NODE;

	return (struct fuse_attr){.ino = node,
				  .size = dir ? 0 : (uint64_t)s->size,
				  .mode = dir ? S_IFDIR | 0755 : S_IFREG | 0644,
				  .nlink = 1,
				  .blksize = 4096};
}

static void answer_read(struct server *s, const struct fuse_in_header *in)
{
	const struct fuse_read_in *arg = (const void *)(in + 1);
	size_t size = arg->size < sizeof(s->data) ? arg->size : sizeof(s->data);
	unsigned long long begin = now_ns();
	ssize_t n = pread(s->file, s->data, size, (off_t)arg->offset);

	usleep(s->delay_us);
	printf("%llu %llu\n", begin, now_ns());
	reply(s, in, n < 0 ? -errno : 0, s->data, n < 0 ? 0 : (size_t)n);
}

static void answer(struct server *s, const struct fuse_in_header *in)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_write = 1 << 17};
	struct fuse_entry_out entry = {.nodeid = FILE_NODE,
				       .entry_valid = LONG_S,
				       .attr_valid = LONG_S,
				       .attr = attr_of(s, FILE_NODE)};
	struct fuse_attr_out attr = {.attr_valid = LONG_S, .attr = attr_of(s, in->nodeid)};
	struct fuse_open_out open = {.open_flags = FOPEN_DIRECT_IO};

	switch (in->opcode) {
	case FUSE_INIT:
		return reply(s, in, 0, &init, sizeof(init));
	case FUSE_LOOKUP:
		return strcmp((const char *)(in + 1), "disk")
			       ? reply(s, in, -ENOENT, NULL, 0)
			       : reply(s, in, 0, &entry, sizeof(entry));
	case FUSE_GETATTR:
		return reply(s, in, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return reply(s, in, 0, &open, sizeof(open));
	case FUSE_READ:
		return answer_read(s, in);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		return;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_FSYNC:
		return reply(s, in, 0, NULL, 0);
	default:
		return reply(s, in, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static struct server s;
	static _Alignas(struct fuse_in_header) char request[BUFFER_BYTES];
	char options[128];
	struct stat st;
	ssize_t n;

	if (argc != 4) {
		fprintf(stderr, "usage: slowfuse DIR FILE DELAY_US\n");
		return 2;
	}
	s.fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	s.file = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (s.fuse < 0 || s.file < 0 || fstat(s.file, &st)) {
		perror("slowfuse: open");
		return 1;
	}
	s.size = st.st_size;
	s.delay_us = (useconds_t)atoi(argv[3]);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 s.fuse);
	if (mount("slowfuse", argv[1], "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("slowfuse: mount");
		return 1;
	}
	setlinebuf(stdout);
	printf("ready\n");
	while ((n = read(s.fuse, request, sizeof(request))) >= 0 || errno == EINTR ||
	       errno == ENOENT)
		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			answer(&s, (const void *)request);
	return errno == ENODEV ? 0 : 1; /* it was unmounted */
}
