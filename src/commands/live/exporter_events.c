// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exporter --queues, --downtime: requests of virtio devices, and stops of VMs, from probes of QEMU. They are attached
 * to each VM, also to those that start later.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/read_full.h"
#include "base/safe_path.h"
#include "commands/common/command.h"
#include "commands/live/exporter.h"
#include "commands/live/queue_events.h"
#include "commands/live/record.h"
#include "exporter/httpd_messages.h"
#include "fetch/http.h"

/*
 * Probes may be refused at first: no descriptor was free, or the process was not yet QEMU. They are tried again after
 * 1, 2, 4, ... seconds.
 */
enum { ATTACH_TRIES = 7 };
#define ATTACH_PAUSE_NS NS_PER_S

/* pidfd: another process may get its pid. */
struct probed_vm {
	pid_t pid;
	int pidfd;
	bool ended;
	bool devices, downtime; /* are watched */
	unsigned int tries;
	uint64_t again_ns; /* not before */
};

struct exporter_events {
	struct queue_events events;
	struct exported_devices *devices;   /* NULL: not wanted */
	struct exported_downtime *downtime; /* the same */
	struct probed_vm *vm;
	unsigned int nr;
	json_t *probes; /* event: is it attached to all of the VMs? */
};

/* ---- probes ---- */

static int exporter_file_read(const char *path, char *text, size_t size);

static bool is_attached(const json_t *probe)
{
	return strcmp(json_string_value(json_object_get(probe, "how")), "absent") != 0;
}

/* Without these two, nothing is known of requests. */
static bool devices_need(const char *event)
{
	return !strcmp(event, "virtqueue_pop") || !strcmp(event, "virtqueue_fill");
}

static struct probed_vm *vm_of(const struct exporter_events *e, pid_t pid)
{
	return array_find(e->vm, e->nr, i, e->vm[i].pid == pid);
}

static int probe_note(struct exporter_events *e, const json_t *probe)
{
	const char *event = json_string_value(json_object_get(probe, "event"));
	struct probed_vm *vm = vm_of(e, (pid_t)json_integer_value(json_object_get(probe, "pid")));
	const json_t *others = json_object_get(e->probes, event);
	bool attached = is_attached(probe);

	if (!vm || !collector_vm_probes(e->events.collector, vm->pid)) /* no QEMU: its requests are not followed */
		return 0;
	if (devices_need(event))
		vm->devices &= attached;
	if (!strcmp(event, "vm_state"))
		vm->downtime &= attached;
	return json_object_set_new(e->probes, event,
				   json_boolean(attached && !json_is_false(others)));
}

static int probes_note(struct exporter_events *e)
{
	json_t *all = collector_probes(e->events.collector), *probe;
	int err = all && e->probes ? json_object_clear(e->probes) : -1;
	size_t i;

	for (i = 0; i < e->nr; i++) {
		bool probed = collector_vm_probes(e->events.collector, e->vm[i].pid);

		e->vm[i].devices = probed && e->devices;
		e->vm[i].downtime = probed && e->downtime;
	}
	json_array_foreach(all, i, probe)
		err |= probe_note(e, probe);
	json_decref(all);
	return err ? fail(-ENOMEM, "out of memory") : 0;
}

bool exporter_events_probe(struct exporter_events *e, unsigned int i, struct export_probe *ret)
{
	void *at = json_object_iter(e->probes);

	while (at && i--)
		at = json_object_iter_next(e->probes, at);
	if (at)
		*ret = (struct export_probe){json_object_iter_key(at),
					     json_is_true(json_object_iter_value(at))};
	return at;
}

/* ---- VMs ---- */

static bool any_has_ended(struct exporter_events *e)
{
	bool any = false;

	for (unsigned int i = 0; i < e->nr; i++) {
		struct pollfd p = {.fd = e->vm[i].pidfd, .events = POLLIN};

		e->vm[i].ended = poll(&p, 1, 0) > 0;
		any |= e->vm[i].ended;
	}
	return any;
}

static void vm_forget(struct exporter_events *e, const struct probed_vm *vm)
{
	collector_vm_end(e->events.collector, vm->pid);
	if (e->devices)
		exported_devices_forget(e->devices, vm->pid);
	if (e->downtime)
		exported_downtime_forget(e->downtime, vm->pid);
	close(vm->pidfd);
}

/* Its last events come first. */
static int ended_forget(struct exporter_events *e)
{
	int err = exporter_events_drain(e);
	unsigned int left = 0;

	for (unsigned int i = 0; i < e->nr && !err; i++)
		if (e->vm[i].ended)
			vm_forget(e, &e->vm[i]);
		else
			e->vm[left++] = e->vm[i];
	if (!err)
		e->nr = left;
	return err;
}

static void vm_attach(struct exporter_events *e, struct probed_vm *p, const struct vm *vm)
{
	if (collector_vm_add(e->events.collector, vm))
		debug("attach", "%s", error_text());
	else
		collector_vm_follow(e->events.collector, vm->pid, false);
	p->again_ns = monotonic_ns() + (ATTACH_PAUSE_NS << p->tries++);
}

static int vm_add(struct exporter_events *e, const struct vm *vm)
{
	int err = array_room(e->vm, e->nr);

	if (err)
		return err;
	e->vm[e->nr] = (struct probed_vm){.pid = vm->pid, .pidfd = vm_pidfd(vm)};
	if (e->vm[e->nr].pidfd >= 0) /* else it has ended */
		vm_attach(e, &e->vm[e->nr++], vm);
	return 0;
}

static bool attach_is_due(const struct exporter_events *e, const struct probed_vm *p)
{
	bool lacks = (e->devices && !p->devices) || (e->downtime && !p->downtime);

	return lacks && p->tries < ATTACH_TRIES && monotonic_ns() >= p->again_ns;
}

int exporter_events_follow(struct exporter_events *e, const struct top_vms *vms)
{
	bool changed = any_has_ended(e);
	int err = changed ? ended_forget(e) : 0;

	for (unsigned int i = 0; i < vms->nr && !err; i++) {
		const struct vm *vm = &vms->vm[i].vm;
		struct probed_vm *p = vm_of(e, vm->pid);

		if (p && !attach_is_due(e, p))
			continue;
		if (p)
			vm_attach(e, p, vm);
		else
			err = vm_add(e, vm);
		changed = true;
	}
	return err || !changed ? err : probes_note(e);
}

bool exporter_events_watch_devices(const struct exporter_events *e, pid_t pid)
{
	const struct probed_vm *vm = vm_of(e, pid);

	return vm && vm->devices;
}

bool exporter_events_watch_downtime(const struct exporter_events *e, pid_t pid)
{
	const struct probed_vm *vm = vm_of(e, pid);

	return vm && vm->downtime;
}

/* ---- events ---- */

int exporter_events_pause_ms(const struct exporter_events *e)
{
	return (int)(collector_pause_ns(e->events.collector) / NS_PER_MS) + 1;
}

static int on_event(void *arg, const struct event *ev)
{
	struct exporter_events *e = arg;
	int err = e->devices ? exported_devices_event(e->devices, ev) : 0;

	return err || !e->downtime ? err : exported_downtime_event(e->downtime, ev);
}

int exporter_events_drain(struct exporter_events *e)
{
	return queue_events_read(&e->events, on_event, e);
}

int exporter_events_read(struct exporter_events *e, struct export_state *ret)
{
	int err = exporter_events_drain(e);

	if (!err && e->devices)
		err = exported_devices_read(e->devices, e->events.watermark_ns);
	if (!err && e->downtime)
		err = exported_downtime_read(e->downtime, e->events.watermark_ns);
	ret->devices = e->devices;
	ret->downtime = e->downtime;
	ret->lost_device_events = collector_counts(e->events.collector)->lost;
	return err;
}

/* ---- start and end ---- */

static int events_choose_wanted(const struct exporter_events_options *o, bool wants[EV_LIMIT])
{
	int err = o->queues ? events_choose_for("leaks", wants) : 0;

	if (o->queues)
		wants[EV_virtio_queue_notify] = wants[EV_virtio_notify] = true;
	if (o->downtime)
		wants[EV_vm_state] = wants[EV_migrate_step] = true;
	return err;
}

static int analyzers_make(struct exporter_events *e, const struct exporter_events_options *o)
{
	e->probes = json_object();
	if (!e->probes)
		return fail(-ENOMEM, "out of memory");
	if (o->queues && !(e->devices = exported_devices_new(o->devices_max)))
		return error_code();
	if (o->downtime && !(e->downtime = exported_downtime_new()))
		return error_code();
	return 0;
}

int exporter_events_open(const struct exporter_events_options *o, struct exporter_events **ret)
{
	struct exporter_events *e = calloc(1, sizeof(*e));
	bool wants[EV_LIMIT] = {0};
	int err = e ? analyzers_make(e, o) : fail(-ENOMEM, "out of memory");

	if (!err)
		err = events_choose_wanted(o, wants);
	if (!err)
		err = queue_events_follow(wants, &e->events);
	if (err)
		exporter_events_close(e);
	else
		*ret = e;
	return err;
}

void exporter_events_close(struct exporter_events *e)
{
	if (!e)
		return;
	queue_events_close(&e->events);
	exported_devices_free(e->devices);
	exported_downtime_free(e->downtime);
	for (unsigned int i = 0; i < e->nr; i++)
		close(e->vm[i].pidfd);
	free(e->vm);
	json_decref(e->probes);
	free(e);
}

/*
 * exporter --otlp: sends the figures to a receiver of OpenTelemetry's protocol at intervals, through hostrace-http. One
 * request is on its way at a time; the exporter does not wait for it. A request that fails is not repeated: all figures
 * are totals, so that the next one has what it had.
 */

/* As OpenTelemetry's exporters wait for an answer. */
#define ANSWER_NS (10 * NS_PER_S)

enum { ANSWER_BYTES = 16384, HEADERS_BYTES = 16384, WHY_BYTES = HTTP_MESSAGE_MAX };

struct exporter_push {
	struct http *http;
	struct http_transfer transfer;
	char *url, *headers;
	uint64_t interval_ns, due_ns;
	bool sending;
	char answer[ANSWER_BYTES];
	size_t answer_len;
	char trouble[WHY_BYTES]; /* of the last request, as reported; "": none */
	struct export_pushes counts;
};

/* ---- start ---- */

/* A URL without a path gets that of the protocol. */
static char *url_make(const char *text)
{
	const char *host = strstr(text, "://");
	char *url = NULL;

	if (host && strchr(host + 3, '/'))
		return strdup(text);
	return asprintf(&url, "%s/v1/metrics", text) < 0 ? NULL : url;
}

/* Each line "NAME: VALUE"; in a file, as values may be secret. */
static int headers_read(struct exporter_push *p, const char *path)
{
	int err;

	p->headers = calloc(1, HEADERS_BYTES);
	if (!p->headers)
		return fail(-ENOMEM, "out of memory");
	err = exporter_file_read(path, p->headers, HEADERS_BYTES);
	for (const char *at = p->headers; !err && *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strcspn(at, "\n") && strcspn(at, ":") > strcspn(at, "\n"))
			err = fail(-EINVAL, "%s: a line is no header \"NAME: VALUE\"", path);
	return err;
}

static int answer_keep(void *arg, uint32_t status, const void *data, size_t len)
{
	struct exporter_push *p = arg;
	size_t room = sizeof(p->answer) - p->answer_len;

	(void)status;
	len = len < room ? len : room;
	memcpy(p->answer + p->answer_len, data, len);
	p->answer_len += len;
	return 0;
}

static int push_init(struct exporter_push *p, const struct exporter_push_options *o)
{
	int err = o->headers ? headers_read(p, o->headers) : 0;

	p->interval_ns = o->interval_ns;
	p->due_ns = monotonic_ns() + o->interval_ns;
	p->url = url_make(o->url);
	if (err || !p->url)
		return err ? err : fail(-ENOMEM, "out of memory");
	p->transfer = (struct http_transfer){.method = "POST",
					     .url = p->url,
					     .content_type = "application/x-protobuf",
					     .body = answer_keep,
					     .arg = p};
	p->http = http_open(&(struct http_options){.cacert = o->cacert,
						   .headers = p->headers,
						   .timeout_ns = ANSWER_NS,
						   .unprivileged = true});
	return p->http ? http_start(p->http) : error_code();
}

int exporter_push_open(const struct exporter_push_options *o, struct exporter_push **ret)
{
	struct exporter_push *p = calloc(1, sizeof(*p));
	int err = p ? push_init(p, o) : fail(-ENOMEM, "out of memory");

	if (err)
		exporter_push_close(p);
	*ret = err ? NULL : p;
	return err;
}

void exporter_push_close(struct exporter_push *p)
{
	if (!p)
		return;
	http_close(p->http);
	free(p->url);
	free(p->headers);
	free(p);
}

/* ---- requests ---- */

int exporter_push_pause_ms(const struct exporter_push *p, int most)
{
	uint64_t now_ns = monotonic_ns(), left_ns = p->due_ns > now_ns ? p->due_ns - now_ns : 0;

	if (p->sending || left_ns >= (uint64_t)most * NS_PER_MS)
		return most;
	return (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS);
}

int exporter_push_send(struct exporter_push *p, const void *data, size_t len)
{
	uint64_t now_ns = monotonic_ns();

	while (p->due_ns <= now_ns) /* intervals that an answer took are left out */
		p->due_ns += p->interval_ns;
	p->transfer.post = data;
	p->transfer.post_bytes = len;
	p->answer_len = 0;
	p->sending = true;
	return http_send(p->http, &p->transfer);
}

int exporter_push_fd(const struct exporter_push *p)
{
	return p->sending ? http_fd(p->http) : -1;
}

/* As otlp_answer_read(). */
static int result_of(const struct exporter_push *p, const struct http_end *end, char *why,
		     size_t size)
{
	if (end->err)
		snprintf(why, size, "%s", *end->why ? end->why : end->message);
	else if (end->status < 200 || end->status >= 300)
		snprintf(why, size, "the server replied with status %u", end->status);
	else
		return otlp_answer_read(p->answer, p->answer_len, why, size);
	text_sanitize(why);
	return -EIO;
}

static void result_report(struct exporter_push *p, int result, const char *why)
{
	if (!strcmp(why, p->trouble))
		return;
	if (result)
		command_note("warning: %s: %s%s", p->url, why,
			     result < 0 ? "; the next request has these figures, too" : "");
	else
		command_note("%s accepts the figures again", p->url);
	snprintf(p->trouble, sizeof(p->trouble), "%s", why);
}

int exporter_push_receive(struct exporter_push *p)
{
	struct http_end end = {0};
	char why[WHY_BYTES];
	int result, ret = http_receive(p->http, &p->transfer, &end);

	if (ret <= 0)
		return ret;
	p->sending = false;
	result = result_of(p, &end, why, sizeof(why));
	result_report(p, result, why);
	p->counts.accepted += !result;
	p->counts.partial += result > 0;
	p->counts.failed += result < 0;
	return 0;
}

struct export_pushes exporter_push_counts(const struct exporter_push *p)
{
	return p->counts;
}

pid_t exporter_push_pid(const struct exporter_push *p)
{
	return http_pid(p->http);
}

/* Starts hostrace-httpd for `exporter`. The files are read here, so that it has to open none. */

/* Reads a text file of less than `size` bytes, terminated. 0 or -errno with the error message set. */
static int exporter_file_read(const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -errno : read_full(fd, text, size);

	if (len < 0)
		return fail((int)len, "cannot read %s: %s", path, strerror((int)-len));
	if ((size_t)len == size || memchr(text, '\0', (size_t)len))
		return fail(-EINVAL, "%s: not a text file of less than %zu bytes", path, size);
	text[len] = '\0';
	return 0;
}

static int file_send(struct helper *httpd, unsigned int kind, const char *path, char *message)
{
	int err = path ? exporter_file_read(path, message, HELPER_MESSAGE_MAX) : 0;

	if (!err && path)
		err = helper_send(httpd, kind, message, strlen(message) + 1);
	explicit_bzero(message, HELPER_MESSAGE_MAX);
	return err;
}

int exporter_server_start(const struct exporter_server *s, struct helper *httpd, void *message)
{
	unsigned int kind = s->insecure ? HTTPD_LISTEN_INSECURE : HTTPD_LISTEN;
	struct helper_head head = {0};
	int err = helper_start(httpd, "hostrace-httpd");

	if (!err)
		err = file_send(httpd, HTTPD_CERT, s->cert, message);
	if (!err)
		err = file_send(httpd, HTTPD_KEY, s->key, message);
	if (!err)
		err = file_send(httpd, HTTPD_USERS, s->passwords, message);
	for (unsigned int i = 0; !err && i < s->hosts.nr; i++)
		err = helper_send(httpd, HTTPD_HOST, s->hosts.item[i],
				  strlen(s->hosts.item[i]) + 1);
	if (!err)
		err = helper_send(httpd, kind, s->listen, strlen(s->listen) + 1);
	if (!err)
		err = helper_receive(httpd, &head, message);
	if (err)
		return err;
	if (!head.len || ((char *)message)[head.len - 1])
		return fail(-EPROTO, "hostrace-httpd sent an unknown message");
	return head.kind == HTTPD_READY ? 0 : fail(-EADDRNOTAVAIL, "%s", (char *)message);
}

int exporter_socket_note(const struct exporter_server *s, struct exporter_socket *ret)
{
	struct stat st;
	int err;

	if (strncmp(s->listen, "unix:", 5))
		return 0;
	err = safe_path_follow(s->listen + 5, &ret->path, &st);
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	return err;
}

void exporter_socket_remove(struct exporter_socket *s)
{
	struct stat st;

	if (s->path && !lstat(s->path, &st) && st.st_dev == s->dev && st.st_ino == s->ino)
		safe_path_unlink(s->path);
	free(s->path);
	s->path = NULL;
}
