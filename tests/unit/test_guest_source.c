// SPDX-License-Identifier: GPL-2.0-or-later
/* Fetching a guest's trace to a file: rings that are being written, page tables, streams by socket and memory. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "fetch/ring_follow.h"
#include "fetch/source.h"
#include "guestside/agent/stream.h"
#include "guestside/agent/stream_shm.h"
#include "readers/ring/ring_image.h"
#include "vm/space_qmp.h"

#include <cmocka.h> /* after ours: it has a fail() too */

/* ---- a ring that is followed ---- */

static struct ring ring;
static void *ring_mem;
static size_t ring_size;

static void ring_make(unsigned int cpus, unsigned int slots, enum ring_mode mode)
{
	ring_size = ring_bytes(cpus, slots, 8);
	free(ring_mem);
	assert_int_equal(posix_memalign(&ring_mem, RING_ALIGN, ring_size), 0);
	assert_int_equal(ring_init(&ring, ring_mem, ring_size, cpus, 8, mode, "test"), 0);
}

/* As another process's memory is read: word for word, while it may change. */
static int mem_read(void *arg, uint64_t offset, void *to, size_t len)
{
	(void)arg;
	if (offset >= ring.header->slots_offset) /* more would not fit into the buffer for it */
		assert_true(len <= RING_FOLLOW_WINDOW * sizeof(struct ring_slot));
	if (offset > ring_size || len > ring_size - offset)
		return -EFAULT;
	for (size_t i = 0; i < len / 8; i++) {
		uint64_t w = __atomic_load_n((uint64_t *)(void *)((uint8_t *)ring_mem + offset) + i,
					     __ATOMIC_ACQUIRE);

		memcpy((uint8_t *)to + 8 * i, &w, 8);
	}
	memcpy((uint8_t *)to + len / 8 * 8, (uint8_t *)ring_mem + offset + len / 8 * 8, len % 8);
	return 0;
}

static int mem_write(void *arg, uint64_t offset, const void *from, size_t len)
{
	(void)arg;
	memcpy((uint8_t *)ring_mem + offset, from, len);
	return 0;
}

static uint8_t *out;
static size_t out_len;

static int out_put(void *arg, const void *data, size_t len)
{
	(void)arg;
	out = realloc(out, out_len + len);
	memcpy(out + out_len, data, len);
	out_len += len;
	return 0;
}

/* What was written, read as a ring at rest. */
static void out_open(struct ring_follow *f, struct ring_image *img)
{
	out_len = 0;
	assert_int_equal(ring_follow_write(f, out_put, NULL), 0);
	assert_int_equal(ring_image_open(out, out_len, "out", img), 0);
}

static void longer_than_the_ring(void **state)
{
	uint64_t args[RING_ARGS_MAX] = {0}, n = 0;
	struct ring_cursor c = {0};
	struct ring_record rec;
	struct ring_follow *f;
	struct ring_image img;
	struct ring_event ev = {.nr_fields = 1, .name = "late", .field = {{"n", RING_DEC, 1}}};

	(void)state;
	ring_make(1, 64, RING_OVERWRITE);
	for (unsigned int i = 0; i < 500; i++) /* before anybody looks */
		ring_trace(&ring, 0, 1, 0, 99);
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), 0);
	assert_int_equal(ring_follow_look(f, false), 0);
	assert_int_equal(ring_follow_records(f), 64);
	for (unsigned int round = 0; round < 100; round++) {
		for (unsigned int i = 0; i < 20; i++, n++) {
			args[0] = n;
			assert_true(ring_write_long(&ring, 0, 2, 1, args, i % 2 ? 12 : 1, NULL, 0));
		}
		assert_int_equal(ring_follow_look(f, false), 0);
	}
	assert_int_equal(ring_event_add(&ring, &ev), 0); /* described late */
	assert_int_equal(ring_follow_look(f, true), 0);
	assert_int_equal(ring_follow_records(f), 64 + 2000);
	out_open(f, &img);
	assert_int_equal(ring_image_drops(&img, 0), 0);
	assert_true(ring_image_event(&img, 0, &ev));
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 1);
	for (n = 0; n < 2000; n++) {
		assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 1);
		assert_int_equal(rec.word[0], n);
		assert_int_equal(rec.nr_args, n % 20 % 2 ? 12 : 1);
	}
	assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 0);
	ring_follow_free(f);
}

/* More at once than are read at a time. */
static void longer_than_the_window(void **state)
{
	const unsigned int nr = 4 * RING_FOLLOW_WINDOW;
	struct ring_cursor c = {0};
	struct ring_record rec;
	struct ring_follow *f;
	struct ring_image img;

	(void)state;
	ring_make(1, nr, RING_OVERWRITE);
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), 0);
	assert_int_equal(ring_follow_look(f, false), 0);
	for (unsigned int i = 0; i < nr - 10; i++)
		ring_trace(&ring, 0, 1, 0, i);
	assert_int_equal(ring_follow_look(f, true), 0);
	assert_int_equal(ring_follow_records(f), nr - 10);
	out_open(f, &img);
	for (unsigned int i = 0; i < nr - 10; i++) {
		assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 1);
		assert_int_equal(rec.word[0], i);
	}
	ring_follow_free(f);
}

static void overwritten_is_counted(void **state)
{
	struct ring_follow *f;
	struct ring_image img;

	(void)state;
	ring_make(1, 64, RING_OVERWRITE);
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), 0);
	assert_int_equal(ring_follow_look(f, false), 0);
	for (unsigned int i = 0; i < 100; i++)
		ring_trace(&ring, 0, 1, 0, i);
	assert_int_equal(ring_follow_look(f, true), 0);
	assert_int_equal(ring_follow_records(f), 64);
	out_open(f, &img);
	assert_int_equal(ring_image_drops(&img, 0), 36);
	ring_follow_free(f);
}

/* A ring that keeps the oldest gets its room back where its memory can be written. */
static void room_is_given_back(void **state)
{
	struct ring_follow *f;

	(void)state;
	ring_make(1, 64, RING_DROP);
	assert_int_equal(ring_follow_new(mem_read, mem_write, NULL, "test", &f), 0);
	for (unsigned int i = 0; i < 640; i++) {
		assert_true(ring_trace(&ring, 0, 1, 0, i));
		if (i % 64 == 63)
			assert_int_equal(ring_follow_look(f, false), 0);
	}
	assert_int_equal(ring_follow_records(f), 640);
	assert_int_equal(ring.cpus[0].drops, 0);
	ring_follow_free(f);
}

static bool racing;

static void *writer(void *arg)
{
	uint64_t args[9];

	(void)arg;
	for (uint64_t n = 1; __atomic_load_n(&racing, __ATOMIC_RELAXED); n++) {
		for (unsigned int i = 0; i < 9; i++)
			args[i] = n;
		ring_write_long(&ring, 0, 1, 0, args, n % 3 ? 9 : 2, NULL, 0);
	}
	return NULL;
}

/* Whatever the writer does meanwhile: no record is a mixture, and they only grow. */
static void a_racing_writer(void **state)
{
	struct ring_cursor c = {0};
	struct ring_record rec;
	struct ring_follow *f;
	struct ring_image img;
	uint64_t last = 0;
	pthread_t thread;

	(void)state;
	ring_make(1, 1024, RING_OVERWRITE);
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), 0);
	racing = true;
	assert_int_equal(pthread_create(&thread, NULL, writer, NULL), 0);
	while (__atomic_load_n(&ring.cpus[0].head, __ATOMIC_RELAXED) < 5000)
		usleep(100);
	for (unsigned int i = 0; i < 300; i++)
		assert_int_equal(ring_follow_look(f, false), 0);
	__atomic_store_n(&racing, false, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(ring_follow_look(f, true), 0);
	assert_true(ring_follow_records(f) > 0);
	out_open(f, &img);
	while (ring_cursor_next(&img, 0, &c, &rec)) {
		assert_true(rec.word[0] > last);
		last = rec.word[0];
		for (unsigned int i = 1; i < rec.nr_args; i++)
			assert_int_equal(rec.word[i], last);
	}
	ring_follow_free(f);
}

static void lying_rings(void **state)
{
	struct ring_follow *f;

	(void)state;
	ring_make(1, 64, RING_OVERWRITE);
	ring.header->bytes = 1ull << 40;
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), -EFBIG);
	ring_make(1, 64, RING_OVERWRITE);
	ring.header->slots_offset = ring.header->bytes - 64;
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), -EBADMSG);
	ring_make(1, 64, RING_OVERWRITE);
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), 0);
	ring_trace(&ring, 0, 1, 0, 1);
	ring.cpus[0].head = UINT64_MAX - 3; /* and again, and back */
	assert_int_equal(ring_follow_look(f, false), 0);
	ring.cpus[0].head = 5;
	assert_int_equal(ring_follow_look(f, false), 0);
	memset(ring_mem, 0xff, ring_size);
	assert_int_equal(ring_follow_look(f, true), 0);
	ring_follow_free(f);
}

/* ---- page tables ---- */

static int ram = -1;

static void put64(uint64_t at, uint64_t v)
{
	assert_int_equal(pwrite(ram, &v, 8, (off_t)at), 8);
}

static void put32(uint64_t at, uint32_t v)
{
	assert_int_equal(pwrite(ram, &v, 4, (off_t)at), 4);
}

static int ram_read(const struct memory *m, uint64_t at, void *buf, size_t size)
{
	return pread(m->fd, buf, size, (off_t)at) == (ssize_t)size ? 0 : -EFAULT;
}

#define RAM_SIZE 0x110000000ull

static uint64_t walk(enum guest_paging paging, uint64_t cr3, uint64_t address)
{
	const struct guest_ram at_0 = {.base = 0x10000000, .low = 0xc0000000, .size = RAM_SIZE};
	const struct guest_space space = {paging, cr3};
	const struct memory m = {.read = ram_read, .fd = ram};
	uint64_t at = guest_address(&m, &at_0, &space, address);

	return at ? at - 0x10000000 : 0;
}

static void page_tables(void **state)
{
	const uint64_t base = 0x10000000;

	(void)state;
	ram = memfd_create("ram", MFD_CLOEXEC);
	assert_int_equal(ftruncate(ram, 0x20000000), 0);
	assert_int_equal(walk(GUEST_PHYSICAL, 0, 0x1234), 0x1234);
	assert_int_equal(walk(GUEST_PHYSICAL, 0, 0x100001234), 0xc0001234);
	/* four levels: 4 KiB, 2 MiB and 1 GiB pages, at 0xffff900012345000 and next to it */
	put64(base + 0x1000 + 8 * 288, 0x2000 | 3);
	put64(base + 0x2000, 0x3000 | 3);
	put64(base + 0x3000 + 8 * 145, 0x4000 | 3);
	put64(base + 0x4000 + 8 * 325, 0x8000000000077003 | 0x63);
	put64(base + 0x3000 + 8 * 146, 0x400000 | 0x83);
	put64(base + 0x2000 + 8, 0x40000000 | 0x83);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000 | 0x18, 0xffff900012345678), 0x77678);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900012345678 + 0x1000), 0);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900012412345), 0x412345);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900040000010), 0x40000010);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff800012345678), 0);
	/* five */
	put64(base + 0x5000 + 8 * 3, 0x1000 | 3);
	assert_int_equal(walk(GUEST_PAGING_5, 0x5000, 0x0003900012345678), 0x77678);
	/* PAE: four pointers anywhere at 32 bytes */
	put64(base + 0x6020 + 8 * 3, 0x3000 | 1);
	assert_int_equal(walk(GUEST_PAGING_PAE, 0x6020, 0xc0000000 + 0x12345678), 0x77678);
	assert_int_equal(walk(GUEST_PAGING_PAE, 0x6020, 0x12345678), 0);
	/* two levels: 4 KiB and 4 MiB */
	put32(base + 0x7000 + 4 * 768, 0x8000 | 3);
	put32(base + 0x8000 + 4 * 5, 0x99000 | 3);
	put32(base + 0x7000 + 4 * 769, 0x800000 | 0x83);
	assert_int_equal(walk(GUEST_PAGING_32, 0x7000, 0xc0005abc), 0x99abc);
	assert_int_equal(walk(GUEST_PAGING_32, 0x7000, 0xc0400010), 0x800010);
	assert_int_equal(walk(GUEST_PAGING_32, 0x7000, 0xc0006abc), 0);
	/* beyond RAM lies other memory of the process: a page, a large page, a table, and a hole below 4 GiB */
	put64(base + 0x4000 + 8 * 326, (RAM_SIZE + 0x40000000) | 3);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900012346000), 0);
	put64(base + 0x4000 + 8 * 326, (RAM_SIZE + 0x40000000 - 0x1000) | 3);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900012346000), RAM_SIZE - 0x1000);
	put64(base + 0x2000 + 8 * 2, 0xffffc0000000 | 0x83);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900080000000), 0);
	put64(base + 0x4000 + 8 * 327, 0xc0000000 | 3);
	assert_int_equal(walk(GUEST_PAGING_4, 0x1000, 0xffff900012347000), 0);
	assert_int_equal(walk(GUEST_PAGING_4, RAM_SIZE + 0x40000000, 0xffff900012345678), 0);
	assert_int_equal(walk(GUEST_PHYSICAL, 0, 0xfee00000), 0);
	close(ram);
}

static void registers(void **state)
{
	struct guest_space s;

	(void)state;
	assert_int_equal(
		qmp_space_parse("EAX=0\r\nCR0=80010033 CR2=00 CR3=0000000002a0c000 CR4=000006f0\r\n"
				"EFER=0000000000000d01\r\n",
				&s),
		0);
	assert_int_equal(s.paging, GUEST_PAGING_4);
	assert_int_equal(s.cr3, 0x2a0c000);
	qmp_space_parse("CR0=80010033 CR3=1000 CR4=000016f0 EFER=0d01", &s);
	assert_int_equal(s.paging, GUEST_PAGING_5);
	qmp_space_parse("CR0=80010033 CR3=1000 CR4=00000030 EFER=0000", &s);
	assert_int_equal(s.paging, GUEST_PAGING_PAE);
	qmp_space_parse("CR0=80010033 CR3=1000 CR4=00000010 EFER=0000", &s);
	assert_int_equal(s.paging, GUEST_PAGING_32);
	qmp_space_parse("CR0=00000033 CR3=0 CR4=0 EFER=0000", &s);
	assert_int_equal(s.paging, GUEST_PHYSICAL);
	assert_int_equal(qmp_space_parse("nothing", &s), -EBADMSG);
}

/* A monitor in use by another client accepts the connection but does not answer. */
static void patience(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct guest_space s;

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/guest-source.%d.qmp",
		 (int)getpid());
	unlink(address.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(qmp_space(address.sun_path, 20500000, &s), -ETIMEDOUT);
	assert_non_null(strstr(error_text(), "within 21 ms"));
	close(fd);
	unlink(address.sun_path);
}

/* ---- streams ---- */

static char dir[] = "/tmp/guest-source.XXXXXX";
static uint8_t bytes[65536];
static size_t len;

static void frame(unsigned int kind, const char *text)
{
	size_t n = strlen(text);

	stream_head_write(bytes + len, (uint8_t)kind, 0, text, (uint32_t)n);
	memcpy(bytes + len + STREAM_HEAD, text, n);
	len += STREAM_HEAD + n;
}

static const char *in_dir(const char *name)
{
	static char path[4][128];
	static int n;

	n = (n + 1) % 4;
	snprintf(path[n], sizeof(path[n]), "%s/%s", dir, name);
	return path[n];
}

static json_int_t told(struct guest_source *s, const char *key)
{
	json_t *j = guest_source_json(s);
	json_int_t v = json_integer_value(json_object_get(j, key));

	json_decref(j);
	return v;
}

static void the_checks(void **state)
{
	static const char *const bad[] = {"", "serial", "serial:", "nono:x", "serialx:/y"};

	(void)state;
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(guest_source_check(bad[i]), -EINVAL);
	assert_int_equal(guest_source_check("shm:x"), 0);
}

/* Asked to stop, it sends the end, and then what is not wanted any more. */
static void *agent_ends(void *arg)
{
	int fd = *(int *)arg;
	char stop = 0;

	if (read(fd, &stop, 1) != 1 || stop != STREAM_STOP)
		return NULL;
	len = 0;
	frame(STREAM_END, "host");
	frame(STREAM_NAMES, "3 three\n");
	return write(fd, bytes, len) == (ssize_t)len ? arg : NULL;
}

/* Noise before BEGIN, a damaged frame, noise between, what comes after END: only right frames are kept. */
static void over_a_socket(void **state)
{
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct guest_source *s;
	pthread_t agent;
	char source[256];
	size_t damaged;

	(void)state;
	snprintf(source, sizeof(source), "serial:%s", in_dir("socket"));
	assert_int_equal(guest_source_open(source, 0, in_dir("a.guest"), true, &s), -EAGAIN);
	assert_int_equal(guest_source_open(source, 0, in_dir("a.guest"), false, &s), 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", in_dir("socket"));
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	usleep(GUEST_SOURCE_RETRY_MS * 1000 + 50000);
	guest_source_round(s);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	len = 0;
	memcpy(bytes, "HRGF noise", 10);
	len = 10;
	frame(STREAM_NAMES, "of a stream that was begun before");
	frame(STREAM_BEGIN, STREAM_GREETING "version 1\n");
	damaged = len;
	frame(STREAM_NAMES, "1 init\n");
	bytes[damaged + STREAM_HEAD] ^= 1;
	memcpy(bytes + len, "xyz", 3);
	len += 3;
	frame(STREAM_NAMES, "2 two\n");
	for (size_t i = 0; i < len; i++) { /* byte by byte */
		assert_int_equal(write(fd, bytes + i, 1), 1);
		if (i % 7 == 0)
			guest_source_round(s);
	}
	assert_int_equal(pthread_create(&agent, NULL, agent_ends, &fd), 0);
	guest_source_stop(s);
	pthread_join(agent, NULL);
	assert_int_equal(told(s, "units"), 3);
	assert_int_equal(told(s, "damaged"), 2);
	guest_source_close(s);
	close(fd);
	close(listener);
}

/* The agent goes before it is asked to: what came stays, and the recorder lives. */
static void the_other_end_goes(void **state)
{
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct guest_source *s;
	char source[256];

	(void)state;
	for (int whole = 0; whole < 2; whole++) {
		snprintf(at.sun_path, sizeof(at.sun_path), "%s", in_dir("going"));
		unlink(at.sun_path);
		close(listener);
		listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
		assert_int_equal(listen(listener, 1), 0);
		snprintf(source, sizeof(source), "serial:%s", at.sun_path);
		assert_int_equal(guest_source_open(source, 0, in_dir("c.guest"), true, &s), 0);
		fd = accept(listener, NULL, NULL);
		len = 0;
		frame(STREAM_BEGIN, STREAM_GREETING "version 1\n");
		if (whole)
			frame(STREAM_END, "duration");
		assert_int_equal(write(fd, bytes, len), len);
		if (whole)
			guest_source_round(s);
		close(fd);
		guest_source_stop(s);
		assert_int_equal(told(s, "units"), 1 + whole);
		guest_source_close(s);
	}
	close(listener);
}

/* Any agent: its description of itself is bounded. */
static void in_shared_memory(void **state)
{
	size_t size = 1 << 20;
	int fd = open(in_dir("shm"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct stream_shm *h;
	struct guest_source *s;
	char source[256];

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	h = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	snprintf(source, sizeof(source), "shm:%s", in_dir("shm"));
	assert_int_equal(guest_source_open(source, 0, in_dir("b.guest"), true, &s), -EAGAIN);
	h->magic[0] = STREAM_SHM_MAGIC0;
	h->magic[1] = STREAM_SHM_MAGIC1;
	h->version = STREAM_SHM_VERSION;
	h->data_bytes = size - STREAM_SHM_HEAD;
	h->state = STREAM_SHM_WAITING;
	assert_int_equal(guest_source_open(source, 0, in_dir("b.guest"), true, &s), 0);
	assert_int_equal(h->host_state, STREAM_SHM_HERE);
	len = 0;
	frame(STREAM_BEGIN, STREAM_GREETING "version 1\n");
	frame(STREAM_NAMES, "1 init\n");
	h->state = STREAM_SHM_STREAMING;
	memcpy((uint8_t *)h + STREAM_SHM_HEAD, bytes, len);
	h->head = len;
	guest_source_round(s);
	assert_int_equal(h->tail, len);
	assert_int_equal(told(s, "units"), 2);
	h->head = h->tail + size; /* a lie */
	guest_source_round(s);
	guest_source_stop(s);
	assert_int_equal(told(s, "units"), 2);
	assert_int_equal(h->host_state, STREAM_SHM_NOBODY);
	guest_source_close(s);
	munmap(h, size);
	close(fd);
}

static void addresses_that_are_none(void **state)
{
	static const char *const bad[] = {"vsock:",
					  "vsock:3",
					  "vsock:3:",
					  "vsock:3:x",
					  "vsock:3:1024x",
					  "vsock:x:1024",
					  "vsock:4294967296:1024",
					  "vsock:3:4294967296"};
	char path[200] = "serial:/tmp/";
	struct guest_source *s = NULL;

	(void)state;
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(guest_source_open(bad[i], 0, in_dir("d.guest"), false, &s),
				 -EINVAL);
	memset(path + strlen(path), 'x', sizeof(path) - 1 - strlen(path));
	assert_int_equal(guest_source_open(path, 0, in_dir("d.guest"), true, &s), -ENAMETOOLONG);
	assert_int_equal(access(in_dir("d.guest"), F_OK), -1);
}

/* What another program writes is copied at the end, longer than one read. */
static void a_file(void **state)
{
	static char text[3 << 19], copy[sizeof(text) + 1];
	struct guest_source *s;
	char source[160];
	FILE *f;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 7 % 251);
	snprintf(source, sizeof(source), "file:%s", in_dir("written"));
	assert_int_equal(guest_source_open(source, 0, in_dir("e.guest"), true, &s), -EAGAIN);
	assert_int_equal(guest_source_open(source, 0, in_dir("e.guest"), false, &s), 0);
	f = fopen(in_dir("written"), "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, sizeof(text) / 2, f), sizeof(text) / 2);
	fflush(f);
	usleep(2 * GUEST_SOURCE_RETRY_MS * 1000);
	guest_source_round(s);
	assert_int_equal(told(s, "bytes"), 0);
	assert_int_equal(fwrite(text + sizeof(text) / 2, 1, sizeof(text) / 2, f), sizeof(text) / 2);
	fclose(f);
	guest_source_stop(s);
	assert_int_equal(told(s, "bytes"), sizeof(text));
	guest_source_close(s);
	f = fopen(in_dir("e.guest"), "r");
	assert_non_null(f);
	assert_int_equal(fread(copy, 1, sizeof(copy), f), sizeof(text));
	assert_memory_equal(copy, text, sizeof(text));
	fclose(f);
}

static int dir_make(void **state)
{
	(void)state;
	return !mkdtemp(dir);
}

static int dir_remove(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(longer_than_the_ring),
		cmocka_unit_test(longer_than_the_window), cmocka_unit_test(overwritten_is_counted),
		cmocka_unit_test(room_is_given_back),	cmocka_unit_test(a_racing_writer),
		cmocka_unit_test(lying_rings),		cmocka_unit_test(page_tables),
		cmocka_unit_test(registers),		cmocka_unit_test(patience),
		cmocka_unit_test(the_checks),		cmocka_unit_test(over_a_socket),
		cmocka_unit_test(in_shared_memory),	cmocka_unit_test(the_other_end_goes),
		cmocka_unit_test(addresses_that_are_none), cmocka_unit_test(a_file),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
