// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that writes its trace into a guest ring buffer in /dev/shm (or in the file given as argument). hostrace
 * reads the file while the program runs, or after it ended.
 *
 *   cc -O2 -fno-omit-frame-pointer -finstrument-functions \
 *     -I../../src -o program program.c ../../src/guestside/ring/ring.c
 *   ./program out.ring && hostrace list -i out.ring
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static struct ring *trace; /* NULL until it is ready */

#define RING_FUNCTIONS_RING   trace
#define RING_FUNCTIONS_CPU    0
#define RING_FUNCTIONS_THREAD 1
#include "guestside/ring/ring_functions.h"

static struct ring ring;
static int work_event;

static unsigned int collatz(unsigned int n)
{
	return n % 2 ? 3 * n + 1 : n / 2;
}

static void work(unsigned int n)
{
	uint64_t args[3] = {n, 0}, frames[4];
	const void *stack_end = (char *)__builtin_frame_address(0) + 128;

	for (unsigned int at = n; at != 1; at = collatz(at))
		args[1]++;
	ring_text(args + 2, 1, args[1] > 20 ? "long" : "short");
	ring_write_long(&ring, 0, 1, (uint16_t)work_event, args, 3, frames,
			ring_backtrace(frames, 4, stack_end));
}

int main(int argc, char **argv)
{
	static const struct ring_event work_desc = {
		.nr_fields = 3, .nr_frames = 4, .name = "work",
		.field = {{"n", RING_DEC, 1}, {"steps", RING_DEC, 1}, {"what", RING_TEXT, 1}},
	};
	const char *path = argc > 1 ? argv[1] : "/dev/shm/example.ring";
	size_t bytes = ring_bytes(1, 1024, 16);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	void *mem;

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return perror(path), 1;
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED || ring_init(&ring, mem, bytes, 1, 16, RING_OVERWRITE, "example"))
		return perror(path), 1;
	work_event = ring_event_add(&ring, &work_desc);
	ring_functions_init(&ring);
	trace = &ring;
	for (unsigned int n = 1; n <= 12; n++)
		work(n);
	trace = NULL;
	printf("%s: %llu slots written\n", path, (unsigned long long)ring.cpus[0].head);
	return 0;
}
