// SPDX-License-Identifier: GPL-2.0-or-later
/* A QMP server that sends what the test needs: greeting, events, garbage, nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "vm/qmp.h"
#include "vm/virtq_state.h"

#include <cmocka.h>

#define GREETING "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n"
#define READY	 GREETING "{\"return\": {}, \"id\": 1}\r\n"

enum { SOON_MS = 60, PATIENT_MS = 20000, NEVER_MS = 1000000 };

static int other_end = -1;

/* The server's output is written in advance; `ends`: then it closes the connection. */
static int monitor(const char *says, bool ends, int patience_ms, struct qmp **ret)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(write(pair[1], says, strlen(says)), (ssize_t)strlen(says));
	if (ends)
		shutdown(pair[1], SHUT_WR);
	if (other_end >= 0)
		close(other_end);
	other_end = pair[1];
	*ret = NULL;
	return qmp_open_fd(pair[0], "monitor", patience_ms, ret);
}

static void greets_and_answers(void **state)
{
	struct qmp *q;
	json_t *value;
	char sent[256] = "";

	(void)state;
	assert_int_equal(monitor("{\"timestamp\": {}, \"event\": \"RESUME\"}\n" READY
				 "{\"event\": \"STOP\"}\n"
				 "{\"return\": \"of another question\", \"id\": 1}\n"
				 "{\"return\": [7], \"id\": 2}\n"
				 "{\"error\": {\"class\": \"GenericError\", \"desc\": \"no "
				 "\\u001b[1m\"}, \"id\": 3}\n"
				 "{\"error\": {\"class\": \"CommandNotFound\", \"desc\": \"x\"}, "
				 "\"id\": 4}\n",
				 false, PATIENT_MS, &q),
			 0);
	assert_int_equal(qmp_execute(q, "a", json_pack("{s:i}", "n", 5), &value), 0);
	assert_int_equal(json_integer_value(json_array_get(value, 0)), 7);
	json_decref(value);
	assert_int_equal(qmp_execute(q, "b", NULL, &value), -EREMOTEIO);
	assert_null(strchr(error_text(), '\033'));
	assert_int_equal(qmp_execute(q, "c", NULL, &value), -EOPNOTSUPP);
	assert_true(read(other_end, sent, sizeof(sent) - 1) > 0);
	assert_non_null(strstr(sent, "\"execute\":\"qmp_capabilities\""));
	assert_non_null(strstr(sent, "\"arguments\":{\"n\":5}"));
	qmp_close(q);
}

static void is_no_monitor(void **state)
{
	struct qmp *q;

	(void)state;
	assert_int_equal(monitor("SSH-2.0-OpenSSH\r\n", true, PATIENT_MS, &q), -EPROTO);
	assert_int_equal(monitor("[]\n", true, PATIENT_MS, &q), -EPROTO);
	assert_int_equal(monitor("", true, PATIENT_MS, &q), -ECONNRESET);
	assert_int_equal(monitor("{\"QMP\"", true, PATIENT_MS, &q), -ECONNRESET);
	assert_int_equal(monitor(GREETING "\xff\xfe\n", true, PATIENT_MS, &q), -EPROTO);
	assert_int_equal(monitor(GREETING, true, PATIENT_MS, &q), -ECONNRESET);
	assert_null(q);
}

static void keeps_silent(void **state)
{
	struct qmp *q;

	(void)state;
	assert_int_equal(monitor("", false, SOON_MS, &q), -ETIMEDOUT);
	assert_non_null(strstr(error_text(), "another client"));
	assert_int_equal(monitor(GREETING, false, SOON_MS, &q), -ETIMEDOUT);
	assert_int_equal(monitor(GREETING "{\"return\": 1, \"id\": 9}\n", false, SOON_MS, &q),
			 -ETIMEDOUT);
}

static void talks_without_end(void **state)
{
	struct qmp *q;
	char *much = malloc(64 * 1200 + 1), *at = much;

	(void)state;
	for (unsigned int i = 0; i < 1200; i++)
		at += sprintf(at, "{\"event\": \"x\", \"n\": %u}\n", i);
	assert_int_equal(monitor(much, true, PATIENT_MS, &q), -EPROTO);
	free(much);
}

static void queue_status(void **state)
{
	struct virtq_qmp v = {0};
	json_t *good =
		json_pack("{s:s, s:i, s:I, s:i, s:i}", "name", "virtio-blk", "vring-num", 128,
			  "vring-desc", (json_int_t)0x11c620, "last-avail-idx", 65535, "inuse", 6);
	json_t *bad = json_pack("{s:I}", "vring-num", (json_int_t)-1);

	(void)state;
	assert_true(virtq_qmp_parse(good, &v));
	assert_int_equal(v.size, 128);
	assert_int_equal(v.desc, 0x11c620);
	assert_int_equal(v.last_avail_idx, 65535);
	assert_int_equal(v.inuse, 6);
	assert_false(virtq_qmp_parse(bad, &v));
	assert_false(virtq_qmp_parse(NULL, &v));
	json_decref(good);
	json_decref(bad);
}

/*
 * A device in QEMU, in vhost, unplugged meanwhile, without a name; queues that lie about their size. A device's queue
 * is read from QEMU itself only if QEMU says that vhost does not serve it.
 */
static void queues_of_devices(void **state)
{
	char says[] = READY
		"{'id': 2, 'return': [{'path': '/a'}, {'path': '/v'}, {}, {'path': '/gone'}]}\n"
		"{'id': 3, 'error': {'class': 'GenericError',"
		" 'desc': 'Error: vhost device has not started yet'}}\n"
		"{'id': 4, 'return': {'name': 'virtio-net', 'vring-num': 256, 'vring-desc': 4096,"
		" 'vring-avail': 8192, 'vring-used': 12288, 'shadow-avail-idx': 7,"
		" 'used-idx': 5, 'signalled-used': 4}}\n"
		"{'id': 5, 'return': {'vring-num': 65536}}\n"
		"{'id': 6, 'error': {'class': 'GenericError', 'desc': 'no'}}\n"
		"{'id': 7, 'return': {'name': 'vhost-net', 'num': 512, 'desc-phys': 1,"
		" 'avail-phys': 2, 'used-phys': 3}}\n"
		"{'id': 8, 'return': {'num': 65536}}\n"
		"{'id': 9, 'error': {'class': 'GenericError', 'desc': 'no'}}\n"
		"{'id': 10, 'error': {'class': 'GenericError', 'desc': 'no'}}\n";
	char sent[2048] = "";
	unsigned int last = 0;
	struct virtq_qmp *list = NULL;
	unsigned int nr = 0;
	struct qmp *q;

	(void)state;
	for (char *p = says; (p = strchr(p, '\''));)
		*p = '"';
	assert_int_equal(monitor(says, false, PATIENT_MS, &q), 0);
	assert_int_equal(virtq_qmp_read(q, &list, &nr), 0);
	assert_int_equal(nr, 2);
	assert_string_equal(list[0].path, "/a");
	assert_string_equal(list[0].name, "virtio-net");
	assert_false(list[0].vhost);
	assert_int_equal(list[0].size, 256);
	assert_int_equal(list[0].avail, 8192);
	assert_int_equal(list[0].used, 12288);
	assert_int_equal(list[0].shadow_avail_idx, 7);
	assert_int_equal(list[0].used_idx, 5);
	assert_int_equal(list[0].signalled_used, 4);
	assert_string_equal(list[1].path, "/v");
	assert_string_equal(list[1].name, "vhost-net");
	assert_true(list[1].vhost);
	assert_int_equal(list[1].index, 0);
	assert_int_equal(list[1].size, 512);
	assert_int_equal(list[1].desc, 1);
	assert_int_equal(list[1].avail, 2);
	assert_int_equal(list[1].used, 3);
	free(list);
	assert_true(read(other_end, sent, sizeof(sent) - 1) > 0);
	assert_null(strstr(sent, "x-query-virtio-status")); /* aborts QEMU 11.1 */
	for (char *p = sent; (p = strstr(p, "\"id\":")); p++)
		last = (unsigned int)strtoul(p + 5, NULL, 10);
	assert_int_equal(last, 10); /* the device that is gone was asked once */
	qmp_close(q);
	list = NULL;
	strstr(says, "{\"id\": 3")[0] = '\0'; /* the connection ends there */
	assert_int_equal(monitor(says, true, PATIENT_MS, &q), 0);
	assert_int_equal(virtq_qmp_read(q, &list, &nr), -ECONNRESET);
	assert_null(list);
	qmp_close(q);
}

/* QEMU 11.1 rejects the question; older ones return an empty list. */
static void no_devices(void **state)
{
	struct virtq_qmp *list = NULL;
	unsigned int nr = 1;
	struct qmp *q;

	(void)state;
	assert_int_equal(monitor(READY "{\"id\": 2, \"error\": {\"class\": \"GenericError\", "
				       "\"desc\": \"No virtio devices found\"}}\n",
				 false, PATIENT_MS, &q),
			 0);
	assert_int_equal(virtq_qmp_read(q, &list, &nr), 0);
	assert_int_equal(nr, 0);
	assert_null(list);
	qmp_close(q);
}

/* What ^C or a service manager sends to a recorder, which blocks it and reads it from a signalfd later. */
static void stop_pending(bool pending)
{
	sigset_t set;
	int nr;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (pending)
		raise(SIGTERM);
	else
		sigwait(&set, &nr);
}

static void stopped_while_silent(void **state)
{
	int pair[2];
	struct qmp *q;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	alarm(30);
	stop_pending(true);
	assert_int_equal(qmp_open_fd(pair[0], "silent", NEVER_MS, &q), -EINTR);
	stop_pending(false);
	alarm(0);
	close(pair[1]);
}

/* connect() to a listener that accepts nobody waits for ever. */
static void full_listener(void **state)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/hostrace-test-XXXXXX";
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), client;
	struct qmp *q;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/qmp", dir);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 0), 0);
	client = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
	alarm(30);
	assert_int_equal(qmp_open(at.sun_path, SOON_MS, &q), -ETIMEDOUT);
	stop_pending(true);
	assert_int_equal(qmp_open(at.sun_path, NEVER_MS, &q), -EINTR);
	stop_pending(false);
	alarm(0);
	close(client);
	close(listener);
	unlink(at.sun_path);
	rmdir(dir);
}

/* Of QEMU 7.2; names are cut and made harmless, other views and RAM skipped. */
static void regions(void **state)
{
	static const char mtree[] =
		"FlatView #0\n AS \"memory\", root: system\n AS \"cpu-memory-0\", root: system\n"
		" Root memory region: system\n"
		"  0000000000000000-000000000009ffff (prio 0, ram): pc.ram owner:{obj "
		"path=/objects/pc.ram} KVM\n"
		"  00000000febc0000-00000000febdffff (prio 1, i/o): e1000-mmio owner:{dev "
		"id=eth1}\n"
		"  00000000fffc0000-00000000ffffffff (prio 0, rom): pc.bios parent:{obj "
		"path=/machine/unattached} KVM\n"
		"  8000000000000000-ffffffffffffffff (prio 0, i/o): beyond\n"
		"  0000000000000009-0000000000000001 (prio 0, i/o): backwards\n"
		"\nFlatView #1\n AS \"e1000\", root: bus master container\n"
		"  0000000000000000-0000000000000fff (prio 0, i/o): dma owner:{dev id=eth1}\n"
		"\nFlatView #2\n AS \"I/O\", root: io\n Root memory region: io\n"
		"  0000000000000071-0000000000000071 (prio 0, i/o): rtc @0000000000000001 "
		"owner:{dev path=/x}\r\n"
		"  0000000000000072-000000000000007d (prio 0, i/o): io @0000000000000072 "
		"parent:{obj path=/y}\n"
		"  00000000000001ce-00000000000001d1 (prio 0, i/o): vga ioports remapped "
		"owner:{dev id=\033[31m}\n"
		"  0000000000000200-0000000000000200 (prio 0, i/o): \n"
		"  junk\n";
	static const char good[] =
		"[[\"mmio\",4273733632,4273864703,\"e1000-mmio of eth1\"],"
		"[\"mmio\",4294705152,4294967295,\"pc.bios\"],[\"port\",113,113,\"rtc\"],"
		"[\"port\",462,465,\"vga ioports remapped of ?[31m\"]]";
	json_t *list;
	char *text;

	(void)state;
	assert_int_equal(qmp_regions_parse(mtree, &list), 0);
	text = json_dumps(list, JSON_COMPACT);
	assert_string_equal(text, good);
	free(text);
	json_decref(list);
	assert_int_equal(qmp_regions_parse("", &list), -EBADMSG);
	assert_int_equal(qmp_regions_parse("unknown command: 'info mtree'\n", &list), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greets_and_answers), cmocka_unit_test(is_no_monitor),
		cmocka_unit_test(keeps_silent),	      cmocka_unit_test(talks_without_end),
		cmocka_unit_test(queue_status),	      cmocka_unit_test(full_listener),
		cmocka_unit_test(queues_of_devices),
		cmocka_unit_test(no_devices),  cmocka_unit_test(stopped_while_silent),
		cmocka_unit_test(regions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
