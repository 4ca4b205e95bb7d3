// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest that attacks the recorder: over a socket (virtio-serial; vsock is read by the same code) and through shared
 * memory. Only its own data may be lost: data of another guest is complete, each read is bounded, the recording ends in
 * time, and the file contains only valid frames.
 */
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
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "fetch/source_internal.h"
#include "guestside/agent/stream_shm.h"
#include "readers/ring/ring_image.h"

#include "dir_util.h" /* after ours: cmocka has a fail() too */

enum { ROUNDS = 60, SCRIBBLES = 20000, SHORT_MS = 100, LONG_MS = 20000, NAMES = 500 };

static volatile bool going;
static volatile unsigned int scribbled;

static size_t frame(uint8_t *to, unsigned int kind, const void *payload, size_t len)
{
	stream_head_write(to, (uint8_t)kind, 0, payload, (uint32_t)len);
	memmove(to + STREAM_HEAD, payload, len);
	return STREAM_HEAD + len;
}

static size_t begin(uint8_t *to)
{
	static const char text[] = STREAM_GREETING "version 1\n";

	return frame(to, STREAM_BEGIN, text, strlen(text));
}

static uint64_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* How many frames a file holds; all are whole and right, and the first one is BEGIN. */
static uint64_t frames_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END), at = 0;
	const uint8_t *mem = size ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	struct stream_head h = {0};
	uint64_t nr;

	assert_true(mem != MAP_FAILED);
	for (nr = 0; at < size; nr++, at += STREAM_HEAD + h.bytes) {
		assert_true(size - at >= STREAM_HEAD && stream_head_read(mem + at, &h));
		assert_true(size - at - STREAM_HEAD >= h.bytes);
		assert_true(stream_crc_right(mem + at, mem + at + STREAM_HEAD, h.bytes));
		assert_int_equal(h.kind == STREAM_BEGIN, !nr);
	}
	if (mem)
		munmap((void *)(uintptr_t)mem, (size_t)size);
	close(fd);
	return nr;
}

static json_int_t told(struct guest_source *s, const char *key)
{
	json_t *j = guest_source_json(s);
	json_int_t v = json_integer_value(json_object_get(j, key));

	json_decref(j);
	return v;
}

/* ---- who sends ---- */

static int listen_at(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

struct sender {
	int fd;
	pthread_t thread;
};

/* Until the host has read all of it or closes. */
static bool send_all(int fd, const uint8_t *data, size_t len)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

/* Noise with heads in it: right ones, wrong CRCs, the longest payloads, ends that never come. It reads nothing. */
static void *hostile_sends(void *arg)
{
	const struct sender *s = arg;
	uint8_t *buf = malloc(2 * (STREAM_HEAD + STREAM_PAYLOAD_MAX));
	uint64_t seed = 7;
	size_t len = begin(buf);

	while (going && send_all(s->fd, buf, len)) {
		size_t payload = random_next(&seed) % 5 ? random_next(&seed) % 300
							: random_next(&seed) % STREAM_PAYLOAD_MAX;

		for (size_t i = 0; i < STREAM_HEAD + payload; i++)
			buf[i] = (uint8_t)random_next(&seed);
		len = STREAM_HEAD + payload;
		if (random_next(&seed) % 3)
			frame(buf, 1 + (unsigned int)random_next(&seed) % 6, buf + 99, payload);
		buf[4] = buf[4] == STREAM_BEGIN ? STREAM_NAMES
						: buf[4]; /* and so its CRC is wrong */
		if (random_next(&seed) % 4 == 0)
			len /= 2;
	}
	free(buf);
	return NULL;
}

/* An agent as it should be: names, and the end when it is asked for. */
static void *honest_sends(void *arg)
{
	const struct sender *s = arg;
	uint8_t buf[256];
	char stop = 0;
	bool all = send_all(s->fd, buf, begin(buf));

	for (int i = 0; i < NAMES && all; i++)
		all = send_all(s->fd, buf, frame(buf, STREAM_NAMES, "1 init\n", 7));
	all = all && read(s->fd, &stop, 1) == 1 && stop == STREAM_STOP &&
	      send_all(s->fd, buf, frame(buf, STREAM_END, "host", 4));
	return all ? arg : NULL;
}

static struct guest_source *source_at(const char *way, const char *name, const char *out)
{
	static char text[4][256];
	static int n;
	struct guest_source *s;

	n = (n + 1) % 4;
	snprintf(text[n], sizeof(text[n]), "%s:%s", way, in_dir(name));
	assert_int_equal(guest_source_open(text[n], 0, in_dir(out), true, &s), 0);
	return s;
}

/* ---- the tests ---- */

static void one_floods_one_does_not(void **state)
{
	int bad_listener = listen_at(in_dir("bad")), good_listener = listen_at(in_dir("good"));
	struct guest_source *bad = source_at("serial", "bad", "bad.guest"),
			    *good = source_at("serial", "good", "good.guest");
	struct sender b = {.fd = accept(bad_listener, NULL, NULL)},
		      g = {.fd = accept(good_listener, NULL, NULL)};
	uint64_t begun;
	void *whole;

	(void)state;
	going = true;
	assert_int_equal(pthread_create(&b.thread, NULL, hostile_sends, &b), 0);
	assert_int_equal(pthread_create(&g.thread, NULL, honest_sends, &g), 0);
	for (int i = 0; i < ROUNDS || !bad->frames.damaged; i++) {
		uint64_t before = bad->bytes;

		guest_source_round(bad);
		guest_source_round(good);
		assert_true(bad->bytes - before <= GUEST_SOURCE_ROUND_BYTES + FRAMES_ROOM);
	}
	bad->stop_ms = SHORT_MS; /* it never comes to its end, whatever it is asked */
	begun = monotonic_ms();
	guest_source_stop(bad);
	assert_true(monotonic_ms() - begun < SHORT_MS + LONG_MS);
	guest_source_stop(good);
	going = false;
	shutdown(b.fd, SHUT_RDWR);
	pthread_join(b.thread, NULL);
	pthread_join(g.thread, &whole);
	assert_non_null(whole);
	assert_int_equal(told(good, "units"), NAMES + 2);
	assert_int_equal(told(good, "damaged"), 0);
	assert_int_equal(frames_of(in_dir("good.guest")), NAMES + 2);
	assert_int_equal(frames_of(in_dir("bad.guest")), told(bad, "units"));
	assert_true(told(bad, "damaged") > 0);
	guest_source_close(bad);
	guest_source_close(good);
	close(b.fd);
	close(g.fd);
	close(bad_listener);
	close(good_listener);
}

/* A head that promises what never comes holds the buffer, not the recorder. */
static void half_a_frame(void **state)
{
	int listener = listen_at(in_dir("half"));
	struct guest_source *s = source_at("serial", "half", "half.guest");
	int fd = accept(listener, NULL, NULL);
	uint8_t buf[256];
	size_t len = begin(buf);

	(void)state;
	stream_head_write(buf + len, STREAM_PAGE, 0, buf, 0);
	buf[len + 8 + 2] = 0x10; /* the longest payload */
	assert_true(send_all(fd, buf, len + STREAM_HEAD));
	for (int i = 0; i < 10; i++)
		guest_source_round(s);
	assert_int_equal(told(s, "units"), 1);
	s->stop_ms = SHORT_MS;
	guest_source_stop(s);
	assert_int_equal(frames_of(in_dir("half.guest")), 1);
	guest_source_close(s);
	close(fd);
	close(listener);
}

/* What is no stream is not "no data". */
static void no_stream_at_all(void **state)
{
	int listener = listen_at(in_dir("console"));
	struct guest_source *s = source_at("serial", "console", "console.guest");
	int fd = accept(listener, NULL, NULL);
	static const uint8_t login[] = "Debian GNU/Linux 12 web1 ttyS1\r\n\r\nweb1 login: ";

	(void)state;
	assert_true(send_all(fd, login, sizeof(login)));
	guest_source_round(s);
	s->stop_ms = SHORT_MS;
	guest_source_stop(s);
	assert_int_equal(told(s, "units"), 0);
	assert_non_null(strstr(s->error, "47 bytes received, among them no beginning"));
	guest_source_close(s);
	close(fd);
	close(listener);
}

static void the_disk_is_not_filled(void **state)
{
	int listener = listen_at(in_dir("much"));
	struct guest_source *s = source_at("serial", "much", "much.guest");
	int fd = accept(listener, NULL, NULL);
	uint8_t buf[256];
	size_t len = begin(buf);

	(void)state;
	assert_int_equal(s->max_bytes, 1ull << 30); /* without --guest-size */
	guest_source_limit(s, len + 10);
	len += frame(buf + len, STREAM_NAMES, "1 init\n", 7);
	assert_true(send_all(fd, buf, len));
	guest_source_round(s);
	assert_true(s->failed);
	assert_non_null(strstr(s->error, "--guest-size"));
	guest_source_stop(s);
	assert_int_equal(frames_of(in_dir("much.guest")), 1);
	guest_source_close(s);
	close(fd);
	close(listener);
}

static struct stream_shm *region(const char *name, int *ret_fd)
{
	int fd = open(in_dir(name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct stream_shm *h;

	assert_int_equal(ftruncate(fd, STREAM_SHM_MIN), 0);
	h = mmap(NULL, STREAM_SHM_MIN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(h != MAP_FAILED);
	h->magic[0] = STREAM_SHM_MAGIC0;
	h->magic[1] = STREAM_SHM_MAGIC1;
	h->version = STREAM_SHM_VERSION;
	h->data_bytes = STREAM_SHM_MIN - STREAM_SHM_HEAD;
	h->state = STREAM_SHM_WAITING;
	*ret_fd = fd;
	return h;
}

/* Writes anywhere into the region while the host looks, its own half of the header and the host's. */
static void *hostile_scribbles(void *arg)
{
	volatile uint8_t *mem = arg;
	volatile struct stream_shm *h = arg;
	uint64_t seed = 11;

	for (; going; scribbled++) {
		uint64_t r = random_next(&seed);

		if (r % 8 == 0)
			h->state = STREAM_SHM_STREAMING;
		else if (r % 8 < 4) /* plausible values */
			h->head = h->tail + r % (STREAM_SHM_MIN - STREAM_SHM_HEAD);
		else if (r % 512 == 5)
			mem[16 + r / 8 % 200] = (uint8_t)(r >> 8);
		else
			mem[STREAM_SHM_HEAD + r / 8 % (STREAM_SHM_MIN - STREAM_SHM_HEAD)] =
				(uint8_t)(r >> 16);
	}
	return NULL;
}

static void memory_is_scribbled_on(void **state)
{
	(void)state;
	for (int session = 0; session < 4; session++) {
		int fd;
		struct stream_shm *h = region("scribbled", &fd);
		uint8_t *data = (uint8_t *)h + STREAM_SHM_HEAD;
		struct guest_source *s = source_at("shm", "scribbled", "scribbled.guest");
		pthread_t thread;
		size_t len = begin(data);

		for (int i = 0; i < 40; i++)
			len += frame(data + len, STREAM_NAMES, "1 init\n", 7);
		h->head = len;
		h->state = STREAM_SHM_STREAMING;
		guest_source_round(s);
		scribbled = 0;
		going = true;
		assert_int_equal(pthread_create(&thread, NULL, hostile_scribbles, h), 0);
		for (int i = 0; i < ROUNDS || scribbled < SCRIBBLES; i++)
			guest_source_round(s);
		s->stop_ms = SHORT_MS;
		guest_source_stop(s);
		going = false;
		pthread_join(thread, NULL);
		assert_true(told(s, "units") >= 41);
		assert_int_equal(frames_of(in_dir("scribbled.guest")), told(s, "units"));
		guest_source_close(s);
		munmap(h, STREAM_SHM_MIN);
		close(fd);
		unlink(in_dir("scribbled"));
	}
}

/* The file behind the memory is made shorter: a mapping would be the recorder's death. */
static void memory_goes_away(void **state)
{
	int fd;
	struct stream_shm *h = region("shorter", &fd);
	struct guest_source *s = source_at("shm", "shorter", "shorter.guest");

	(void)state;
	h->head = begin((uint8_t *)h + STREAM_SHM_HEAD);
	h->state = STREAM_SHM_STREAMING;
	guest_source_round(s);
	assert_int_equal(told(s, "units"), 1);
	h->head += 1000;
	munmap(h, STREAM_SHM_MIN);
	assert_int_equal(ftruncate(fd, STREAM_SHM_HEAD), 0);
	guest_source_round(s);
	assert_true(s->failed);
	guest_source_stop(s);
	assert_int_equal(frames_of(in_dir("shorter.guest")), 1);
	guest_source_close(s);
	close(fd);
}

/* One vCPU of thousands wrote much: every vCPU has as many slots, and the file must stay one that can be read. */
static int size_put(void *arg, const void *data, size_t len)
{
	(void)data;
	*(uint64_t *)arg += len;
	return 0;
}

static uint8_t *ring_mem;

static int ring_mem_read(void *arg, uint64_t offset, void *to, size_t len)
{
	(void)arg;
	memcpy(to, ring_mem + offset, len);
	return 0;
}

static void a_ring_of_many(void **state)
{
	enum { CPUS = RING_CPUS_MAX, SLOTS = 16, RECORDS = 8192 };
	size_t size = ring_bytes(CPUS, SLOTS, 1);
	struct ring_follow *f;
	struct ring ring;
	uint64_t bytes = 0;

	(void)state;
	ring_mem = aligned_alloc(RING_ALIGN, (size + RING_ALIGN - 1) / RING_ALIGN * RING_ALIGN);
	assert_int_equal(ring_init(&ring, ring_mem, size, CPUS, 1, RING_OVERWRITE, "many"), 0);
	assert_int_equal(ring_follow_new(ring_mem_read, NULL, NULL, "many", &f), 0);
	for (unsigned int i = 0; i < RECORDS; i++) {
		ring_trace(&ring, 5, 1, 0, i);
		if (i % SLOTS == SLOTS - 1)
			assert_int_equal(ring_follow_look(f, false), 0);
	}
	assert_int_equal(ring_follow_records(f), RECORDS);
	assert_int_equal(ring_follow_write(f, size_put, &bytes), 0);
	assert_true(bytes <= RING_FILE_MAX);
	ring_follow_free(f);
	free(ring_mem);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_floods_one_does_not), cmocka_unit_test(half_a_frame),
		cmocka_unit_test(no_stream_at_all),	   cmocka_unit_test(the_disk_is_not_filled),
		cmocka_unit_test(memory_is_scribbled_on),  cmocka_unit_test(memory_goes_away),
		cmocka_unit_test(a_ring_of_many),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
