// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads our own reports as a user's script would: by `-f json`. See demo_check.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/process.h"
#include "commands/live/demo.h"
#include "guestside/demo/workload.h"

/*
 * The demo's proof: what the reports count against what the guest is known to have done.
 */

enum { REPORT_WORDS_MAX = 12, REPORT_TIMEOUT_S = 60 };

json_t *report_json(const char *report, const char *trace)
{
	char words[128], self[PATH_MAX], *argv[REPORT_WORDS_MAX + 8] = {self_path(self)};
	json_error_t error;
	int pipes[2], nr = 1;

	snprintf(words, sizeof(words), "%s", report);
	for (char *save, *w = strtok_r(words, " ", &save); w && nr < REPORT_WORDS_MAX;
	     w = strtok_r(NULL, " ", &save))
		argv[nr++] = w;
	argv[nr++] = "-f";
	argv[nr++] = "json";
	argv[nr++] = "-i";
	argv[nr++] = (char *)trace;
	if (pipe2(pipes, O_CLOEXEC)) {
		fail(-errno, "pipe: %s", strerror(errno));
		return NULL;
	}
	pid_t pid = process_start(argv, -1, pipes[1], -1, SIGKILL);
	close(pipes[1]);
	_cleanup_fclose_ FILE *f = fdopen(pipes[0], "r");
	if (pid < 0 || !f)
		return NULL;
	json_t *json = json_loadf(f, 0, &error);
	int status = process_wait(pid, REPORT_TIMEOUT_S);
	if (json && !status)
		return json;
	json_decref(json);
	fail(-EPROTO, "'hostrace %s -f json' failed, exit status %d%s%s", report, status,
	     json ? "" : ": ", json ? "" : error.text);
	return NULL;
}

/*
 * isa-debug-exit ends QEMU at once up to 8.2. Newer releases stop the VM first and then complete
 * what the throttle held: what the guest had lost must be requested before that.
 */
const char *leaks_words(const char *trace, char *buf, size_t size)
{
	json_t *list = report_json("list --event vm_state", trace), *row;
	size_t i;

	snprintf(buf, size, "leaks");
	json_array_foreach (json_object_get(list, "rows"), i, row) {
		const json_t *running = json_object_get(json_object_get(row, "fields"), "running");

		if (running && !json_integer_value(running))
			snprintf(buf, size, "leaks --until %" JSON_INTEGER_FORMAT "ns",
				 json_integer_value(json_object_get(row, "time_ns")));
	}
	json_decref(list);
	return buf;
}

void check_add(struct demo_checks *c, const char *what, json_int_t expected, json_int_t counted)
{
	bool ok = expected == counted;

	c->wrong |= !ok;
	fprintf(c->out,
		"known workload: %" JSON_INTEGER_FORMAT " %s: counted %" JSON_INTEGER_FORMAT
		"  %s\n",
		expected, what, counted, ok ? "OK" : "DIFFERS");
	json_array_append_new(c->rows, json_pack("{s:s, s:I, s:I, s:b}", "what", what, "expected",
						 expected, "counted", counted, "ok", ok));
}

/* Accesses of one byte. */
static json_int_t count_port(const json_t *report, const char *dir, json_int_t port)
{
	json_int_t sum = 0;
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(report, "rows"), i, row)
		if (!strcmp(text_of(row, "dir"), dir) && number_of(row, "port") == port)
			sum += number_of(row, "count");
	return sum;
}

static int check_ports(struct demo_checks *c, const char *trace)
{
	char what[64];
	json_t *report = report_json("ports", trace);

	if (!report)
		return -EPROTO;
	snprintf(what, sizeof(what), "outb to port 0x%x", WORK_PORT);
	check_add(c, what, WORK_OUTB, count_port(report, "out", WORK_PORT));
	snprintf(what, sizeof(what), "inb from port 0x%x", WORK_PORT);
	check_add(c, what, WORK_INB, count_port(report, "in", WORK_PORT));
	snprintf(what, sizeof(what), "bytes by rep outsb to port 0x%x", WORK_STRING_PORT);
	check_add(c, what, WORK_OUTSB, count_port(report, "out", WORK_STRING_PORT));
	json_decref(report);
	return 0;
}

static int check_mmio(struct demo_checks *c, const char *trace)
{
	json_t *report = report_json("mmio --exact", trace), *row;
	json_int_t sum = 0;
	char what[64], addr[32];
	size_t i;

	if (!report)
		return -EPROTO;
	snprintf(addr, sizeof(addr), "0x%x", WORK_MMIO_ADDR);
	json_array_foreach (json_object_get(report, "rows"), i, row)
		if (!strcmp(text_of(row, "addr"), addr) && strcmp(text_of(row, "dir"), "out"))
			sum += number_of(row, "count");
	snprintf(what, sizeof(what), "MMIO reads of %s", addr);
	check_add(c, what, WORK_MMIO, sum);
	json_decref(report);
	return 0;
}

/* The address of a device, as the event virtio_device names it; "" if none. */
static const char *device_address(const json_t *list, const char *name)
{
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(list, "rows"), i, row) {
		const json_t *fields = json_object_get(row, "fields");

		if (!strcmp(text_of(row, "event"), "virtio_device") &&
		    strstr(text_of(fields, "path"), name))
			return text_of(fields, "vdev");
	}
	return "";
}

/* A read has two parts that the device writes (data, status), a write one: virtio 1.2, 5.2.6. */
static json_int_t count_requests(const json_t *list, const char *vdev, json_int_t device_writes)
{
	json_int_t sum = 0;
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(list, "rows"), i, row) {
		const json_t *fields = json_object_get(row, "fields");

		sum += !strcmp(text_of(row, "event"), "virtqueue_pop") &&
		       !strcmp(text_of(fields, "vdev"), vdev) &&
		       number_of(fields, "in_num") == device_writes;
	}
	return sum;
}

static int check_requests(struct demo_checks *c, const char *trace)
{
	json_t *list = report_json("list --event virtqueue_pop,virtio_device", trace);

	if (!list)
		return -EPROTO;
	const char *disk = device_address(list, "/disk/");
	check_add(c, "reads popped by disk 'disk'", WORK_READS, count_requests(list, disk, 2));
	check_add(c, "writes popped by disk 'disk'", WORK_WRITES, count_requests(list, disk, 1));
	json_decref(list);
	return 0;
}

/*
 * Leaked elements of queue 0 of the slow disk that are the guest's (it uses heads 0, 3, 6, ...,
 * each once), and all others that are reported as leaked.
 */
static void count_leaks(const json_t *report, unsigned int leaks, json_int_t *ours,
			json_int_t *others)
{
	uint64_t seen = 0;
	json_t *row;
	size_t i;

	*ours = *others = 0;
	json_array_foreach (json_object_get(report, "rows"), i, row) {
		json_int_t head = number_of(row, "head");
		bool wanted = strstr(text_of(row, "device"), "/slow/") &&
			      !number_of(row, "queue") && head >= 0 &&
			      head < 3 * (json_int_t)leaks && head % 3 == 0;

		if (strcmp(text_of(row, "verdict"), "leaked"))
			continue;
		if (wanted && !(seen & UINT64_C(1) << head / 3))
			++*ours;
		else
			++*others;
		if (wanted)
			seen |= UINT64_C(1) << head / 3;
	}
}

static int check_leaks(struct demo_checks *c, const char *trace, unsigned int leaks)
{
	char command[64];
	json_t *report = report_json(leaks_words(trace, command, sizeof(command)), trace);
	json_int_t ours, others;
	json_int_t through = WORK_READS + WORK_WRITES + 1; /* the slow disk answers its first */

	if (!report)
		return -EPROTO;
	json_t *totals = json_object_get(report, "totals");
	count_leaks(report, leaks, &ours, &others);
	check_add(c, "requests popped by both disks", through + leaks, number_of(totals, "popped"));
	check_add(c, "of them returned", through, number_of(totals, "returned"));
	check_add(c, "leaked on disk 'slow', queue 0: the guest's last", leaks, ours);
	check_add(c, "leaked elsewhere", 0, others);
	json_decref(report);
	return 0;
}

int check_reports(struct demo_checks *c, const char *trace, bool kvm, unsigned int leaks)
{
	int r = check_ports(c, trace);

	if (!r && kvm) /* a TCG guest's MMIO passes no tracepoint */
		r = check_mmio(c, trace);
	if (!r)
		r = check_requests(c, trace);
	return r ? r : check_leaks(c, trace, leaks);
}
