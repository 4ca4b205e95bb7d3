// SPDX-License-Identifier: GPL-2.0-or-later
/* Saving a guest's stream to a file: by socket, shared memory, or the file that another program writes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fetch/source.h"
#include "guestside/agent/stream.h"
#include "guestside/agent/stream_shm.h"

#include "dir_util.h" /* after ours: cmocka has a fail() too */

static uint8_t bytes[65536];
static size_t len;

static void frame(unsigned int kind, const char *text)
{
	size_t n = strlen(text);

	stream_head_write(bytes + len, (uint8_t)kind, 0, text, (uint32_t)n);
	memcpy(bytes + len + STREAM_HEAD, text, n);
	len += STREAM_HEAD + n;
}

static json_int_t source_figure(struct guest_source *s, const char *key)
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
	assert_int_equal(source_figure(s, "units"), 3);
	assert_int_equal(source_figure(s, "damaged"), 2);
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
		assert_int_equal(source_figure(s, "units"), 1 + whole);
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
	assert_int_equal(source_figure(s, "units"), 2);
	h->head = h->tail + size; /* a lie */
	guest_source_round(s);
	guest_source_stop(s);
	assert_int_equal(source_figure(s, "units"), 2);
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
	assert_int_equal(source_figure(s, "bytes"), 0);
	assert_int_equal(fwrite(text + sizeof(text) / 2, 1, sizeof(text) / 2, f), sizeof(text) / 2);
	fclose(f);
	guest_source_stop(s);
	assert_int_equal(source_figure(s, "bytes"), sizeof(text));
	guest_source_close(s);
	f = fopen(in_dir("e.guest"), "r");
	assert_non_null(f);
	assert_int_equal(fread(copy, 1, sizeof(copy), f), sizeof(text));
	assert_memory_equal(copy, text, sizeof(text));
	fclose(f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_checks),
		cmocka_unit_test(over_a_socket),
		cmocka_unit_test(in_shared_memory),
		cmocka_unit_test(the_other_end_goes),
		cmocka_unit_test(addresses_that_are_none),
		cmocka_unit_test(a_file),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
