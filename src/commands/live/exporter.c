// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace exporter: the counters of `top` of all VMs as Prometheus metrics. hostrace-httpd answers requests; this
 * process attaches, follows VMs and writes pages, and reads nothing that comes from the network.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/version.h"
#include "collector/collector.h"
#include "commands/common/command.h"
#include "commands/common/vm_options.h"
#include "commands/live/exporter.h"
#include "confine/confine.h"
#include "event/exit_reason.h"
#include "exporter/hosts.h"
#include "exporter/httpd_messages.h"
#include "fetch/http.h"
#include "vm/cgroup_names.h"

static struct {
	struct exporter_server server;
	struct export_limits limits;
	bool queues, downtime;
	const char *dumps;
	struct exporter_push_options push;
} opt = {
	.server.listen = "127.0.0.1:9972",
	.push.interval_ns = 60 * NS_PER_S,
	.limits = {.ports = 10,
		   .pages = 10,
		   .devices = 16,
		   .cgroups = 10,
		   .vcpus_per_group = 8,
		   .series = 20000},
};

/* clang-format off */
static const struct option_row options[] = {
	{0, "listen",     OPT_TEXT, &opt.server.listen,          "ADDR:PORT", "address to listen on, or unix:PATH (default: 127.0.0.1:9972)"},
	{0, "host",       OPT_LIST, &opt.server.hosts,           "NAME",      "also answer requests whose Host header is NAME; repeatable (default: localhost, loopback addresses, the address of the connection)"},
	{0, "tls-cert",   OPT_TEXT, &opt.server.cert,            "FILE",      "use TLS: the certificate, with its chain (PEM)"},
	{0, "tls-key",    OPT_TEXT, &opt.server.key,             "FILE",      "the certificate's key (PEM)"},
	{0, "password-file", OPT_TEXT, &opt.server.passwords,    "FILE",      "users who may read the metrics: lines USER:HASH (htpasswd -B)"},
	{0, "insecure",   OPT_FLAG, &opt.server.insecure,        NULL,        "listen on any address, also without TLS and passwords"},
	{0, "queues",     OPT_FLAG, &opt.queues,                 NULL,        "also requests of virtio devices; probes QEMU, which costs each request some microseconds"},
	{0, "downtime",   OPT_FLAG, &opt.downtime,               NULL,        "also stops of VMs: pauses, migrations, errors; probes QEMU"},
	{0, "dumps",      OPT_TEXT, &opt.dumps,                  "DIR",       "name dumps of flight recorders in this directory as exemplars of slow exits"},
	{0, "vcpu-group", OPT_U64,  &opt.limits.vcpus_per_group, "N",         "N vCPUs share a histogram of exits (default: 8)"},
	{0, "otlp",       OPT_TEXT, &opt.push.url,               "URL",       "also send the figures to a receiver of OpenTelemetry's protocol, by HTTP"},
	{0, "otlp-interval", OPT_DURATION, &opt.push.interval_ns, "TIME",     "how often (default: 60s)"},
	{0, "otlp-cacert", OPT_TEXT, &opt.push.cacert,           "FILE",      "PEM file of the authority of its certificate (default: the system's)"},
	{0, "otlp-headers", OPT_TEXT, &opt.push.headers,         "FILE",      "send these headers to it: lines \"NAME: VALUE\""},
	{0, "otlp-exponential", OPT_FLAG, &opt.push.exponential, NULL,        "send it exponential histograms, which are more precise"},
	{0, "max-ports",  OPT_U64,  &opt.limits.ports,           "N",         "ports of a VM with series of their own (default: 10)"},
	{0, "max-pages",  OPT_U64,  &opt.limits.pages,           "N",         "pages of a VM's MMIO with series of their own (default: 10)"},
	{0, "max-devices", OPT_U64, &opt.limits.devices,         "N",         "with --queues: devices of a VM with series of their own (default: 16)"},
	{0, "max-cgroups", OPT_U64, &opt.limits.cgroups,         "N",         "cgroups with series of their own that a VM's vCPUs wait for (default: 10)"},
	{0, "max-series", OPT_U64,  &opt.limits.series,          "N",         "series of all VMs; VMs beyond are left out (default: 20000)"},
	{0},
};
/* clang-format on */

enum { CAUSES_S = 10, CAUSES_FIRST_S = 1 }; /* the first answer is soon after the start */
enum { LOOK_MS = 1000, SCAN_S = 5, LABELLED_MAX = 256, DEVICES_MAX = 1024, SERIES_MAX = 10000000 };

struct exporter {
	struct top_vms vms;
	struct top_causes *causes;
	struct top_model model;		/* for the causes */
	struct cgroup_names *cgroups;	/* NULL: not measured */
	struct exporter_events *events; /* NULL: none are wanted */
	struct exported_dumps *dumps;	/* the same */
	struct exported_vm *vm;
	unsigned int nr, max;
	struct exporter_push *push; /* the same */
	struct export_pushes pushes;
	struct helper httpd;
	struct exporter_socket socket;
	void *message;
	char host[HOST_NAME_MAX + 1];
	struct export_probe probe[STAT_PROBES_MAX + EV_LIMIT];
	struct export_state state;
	uint64_t scanned_ns, dumps_scanned_ns;
	bool scan_failed; /* the last one, as reported */
	int signals;
};

/* ---- VMs ---- */

static struct exported_vm *exported_find(struct exporter *x, uint64_t number)
{
	return array_find(x->vm, x->nr, i, x->vm[i].number == number);
}

static const struct top_watched *watched_find(const struct exporter *x, uint64_t number)
{
	return array_find(x->vms.vm, x->vms.nr, i, x->vms.vm[i].number == number);
}

/* Keeps the order, which decides which VMs a limit leaves out. */
static void ended_remove(struct exporter *x)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < x->nr; i++)
		if (watched_find(x, x->vm[i].number))
			x->vm[left++] = x->vm[i];
		else
			exported_vm_deinit(&x->vm[i]);
	x->nr = left;
}

static int exported_add(struct exporter *x, const struct top_watched *w)
{
	int err = array_room_kept(x->vm, x->nr, x->max);

	if (!err)
		err = exported_vm_init(&x->vm[x->nr], &w->vm, &opt.limits);
	if (err)
		return err;
	x->vm[x->nr++].number = w->number;
	return 0;
}

/* The exported VMs become those that are watched. */
static int vms_follow(struct exporter *x)
{
	int err = top_vms_look(&x->vms, &x->model);

	ended_remove(x);
	for (unsigned int i = 0; i < x->vms.nr && !err; i++)
		if (x->vms.vm[i].at.nr && !exported_find(x, x->vms.vm[i].number))
			err = exported_add(x, &x->vms.vm[i]);
	if (!err)
		err = top_causes_follow(x->causes, &x->vms);
	return err || !x->events ? err : exporter_events_follow(x->events, &x->vms);
}

/* ---- pages ---- */

static const struct stat_vcpu *vcpu_at(void *arg, unsigned int index)
{
	const struct exporter *x = ((void **)arg)[0];
	const struct top_watched *w = ((void **)arg)[1];

	return stat_vcpu(x->vms.stat, w->at.first + index);
}

static void probes_read(struct exporter *x)
{
	struct stat_probe counting[STAT_PROBES_MAX];
	unsigned int nr = stat_probes(x->vms.stat, counting), i;

	for (i = 0; i < nr; i++)
		x->probe[i] = (struct export_probe){counting[i].name, counting[i].attached};
	for (i = 0; x->events && i < EV_LIMIT; i++)
		if (!exporter_events_probe(x->events, i, &x->probe[nr]))
			break;
		else
			nr++;
	x->state.nr_probes = nr;
}

/* What the last CAUSES_S cost the VMs. Other intervals, as a scrape would make, would have other findings. */
static int causes_read(struct exporter *x)
{
	int err = top_vms_read(&x->vms, &x->model);

	if (err)
		return err;
	top_causes_read(x->causes, &x->vms, &x->model);
	for (unsigned int i = 0; i < x->nr; i++) {
		const struct top_node *vm =
			top_node_find(&x->model.host, TOP_VMS, (uint64_t)x->vm[i].pid);

		exported_vm_lost_add(&x->vm[i], vm ? vm->causes : NULL);
	}
	return 0;
}

static void watched_read(const struct exporter_events *e, struct exported_vm *vm)
{
	vm->devices_watched = exporter_events_watch_devices(e, vm->pid);
	vm->downtime_watched = exporter_events_watch_downtime(e, vm->pid);
}

static void cgroups_read(struct exporter *x)
{
	for (unsigned int i = 0; i < x->nr; i++)
		for (unsigned int k = 0; k < x->vm[i].steals.nr; k++)
			cgroup_names_want(x->cgroups, x->vm[i].steals.shown[k].key - 1);
	cgroup_names_read(x->cgroups);
}

static int vms_read(struct exporter *x)
{
	int err = vms_follow(x);

	for (unsigned int i = 0; i < x->nr && !err; i++) {
		const struct top_watched *w = watched_find(x, x->vm[i].number);
		void *arg[] = {x, (void *)w};

		err = exported_vm_read(
			&x->vm[i], &w->vm,
			&(struct exported_counters){.nr_vcpus = w->at.nr,
						    .nr_cells = stat_nr_cells(x->vms.stat),
						    .vcpu = vcpu_at,
						    .arg = arg});
		if (x->events)
			watched_read(x->events, &x->vm[i]);
	}
	if (x->cgroups)
		cgroups_read(x);
	if (x->events && !err)
		err = exporter_events_read(x->events, &x->state);
	probes_read(x);
	if (x->push)
		x->pushes = exporter_push_counts(x->push);
	x->state.sender.now_unix_ns = clock_read_ns(CLOCK_REALTIME);
	x->state.now_ns = monotonic_ns();
	x->state.missed_exits = stat_missed(x->vms.stat);
	x->state.vms_no_capacity = x->vms.refused;
	return err;
}

static int page_make(struct exporter *x, enum metric_format format, char **ret, size_t *ret_len)
{
	FILE *f = open_memstream(ret, ret_len);
	int err;

	if (!f)
		return fail(-ENOMEM, "out of memory");
	err = vms_read(x);
	if (!err)
		err = metrics_page_write(&x->state, &opt.limits, x->vm, x->nr, format, f);
	if (fclose(f) && !err)
		err = fail(-ENOMEM, "out of memory");
	return err;
}

static int request_answer(struct exporter *x)
{
	struct helper_head head;
	enum metric_format format;
	char *page = NULL;
	size_t len = 0;
	int err = helper_receive(&x->httpd, &head, x->message);

	if (!err && (head.kind != HTTPD_WANTED || head.len != 1))
		err = fail(-EPROTO, "hostrace-httpd sent an unknown message %u", head.kind);
	format = err ? METRIC_TEXT : *(uint8_t *)x->message;
	if (!err && format >= METRIC_FORMATS)
		err = fail(-EPROTO, "hostrace-httpd wants an unknown format %u", format);
	if (!err)
		err = page_make(x, format, &page, &len);
	if (!err)
		err = exporter_page_send(&x->httpd, page, len);
	free(page);
	return err;
}

static int push_if_due(struct exporter *x)
{
	_cleanup_free_ char *page = NULL;
	size_t len = 0;
	int err;

	if (exporter_push_pause_ms(x->push, 1))
		return 0;
	err = page_make(x, METRIC_OTLP, &page, &len);
	return err ? err : exporter_push_send(x->push, page, len);
}

/* ---- the loop ---- */

static int pause_ms(const struct exporter *x)
{
	int ms = x->events ? exporter_events_pause_ms(x->events) : LOOK_MS;

	ms = ms < LOOK_MS ? ms : LOOK_MS;
	return x->push ? exporter_push_pause_ms(x->push, ms) : ms;
}

/* What failed once, as there was no free descriptor, may not the next time. */
static void scan(struct exporter *x)
{
	bool failed = top_vms_scan(&x->vms) != 0;

	if (failed && !x->scan_failed)
		command_note("warning: VMs that have not run are not found: %s", error_text());
	x->scan_failed = failed;
	x->scanned_ns = monotonic_ns();
}

/*
 * VMs that run are noticed in the kernel. With --downtime one that waits for its state, as the destination of a
 * migration, must be known before it runs.
 */
static int exporter_look(struct exporter *x)
{
	uint64_t pause_s = x->model.now_ns > x->model.before_ns ? CAUSES_S : CAUSES_FIRST_S;
	int err = 0;

	if (x->dumps && monotonic_ns() - x->dumps_scanned_ns >= SCAN_S * NS_PER_S) {
		err = exported_dumps_scan(x->dumps);
		x->dumps_scanned_ns = monotonic_ns();
	}
	if (!err && monotonic_ns() - x->model.now_ns >= pause_s * NS_PER_S)
		err = causes_read(x);
	if (!err && opt.downtime && monotonic_ns() - x->scanned_ns >= SCAN_S * NS_PER_S)
		scan(x);
	return err ? err : vms_follow(x);
}

static int exporter_loop(struct exporter *x)
{
	struct pollfd p[3] = {{.fd = x->signals, .events = POLLIN},
			      {.fd = x->httpd.fd, .events = POLLIN},
			      {.fd = -1, .events = POLLIN}};
	uint64_t looked_ns = 0;
	int err = 0;

	while (!err) {
		int nr;

		p[2].fd = x->push ? exporter_push_fd(x->push) : -1;
		nr = poll(p, 3, pause_ms(x));

		if (nr < 0 && errno != EINTR)
			return fail(-errno, "poll: %s", strerror(errno));
		if (nr > 0 && p[0].revents)
			return 0;
		if (nr > 0 && p[1].revents)
			err = request_answer(x);
		else if (x->events)
			err = exporter_events_drain(x->events);
		if (!err && nr > 0 && p[2].revents)
			err = exporter_push_receive(x->push);
		if (!err && x->push)
			err = push_if_due(x);
		if (!err && monotonic_ns() - looked_ns >= LOOK_MS * NS_PER_MS) {
			err = exporter_look(x);
			looked_ns = monotonic_ns();
		}
	}
	return err;
}

/* ---- start ---- */

static void state_init(struct exporter *x)
{
	struct export_state *s = &x->state;

	s->probe = x->probe;
	s->userspace_only = stat_span(x->vms.stat) == STAT_USERSPACE_EXIT;
	s->has_causes = stat_has_causes(x->vms.stat);
	s->has_ports = stat_has_ports(x->vms.stat);
	s->has_pages = stat_has_pages(x->vms.stat);
	s->cgroups = x->cgroups;
	s->dumps = x->dumps;
	s->version = HOSTRACE_VERSION;
	s->map_bytes = stat_bytes(x->vms.stat);
	s->start_unix_s = (uint64_t)time(NULL);
	s->helper[0] = x->httpd.pid;
	if (!x->push)
		return;
	s->pushes = &x->pushes;
	s->helper[1] = exporter_push_pid(x->push);
	if (gethostname(x->host, sizeof(x->host) - 1))
		snprintf(x->host, sizeof(x->host), "unknown");
	s->sender = (struct otlp_sender){
		.version = s->version, .host = x->host, .exponential = opt.push.exponential};
}

static const char *exit_name(uint32_t reason)
{
	return exit_reason_name(reason, vm_host_isa());
}

static int causes_open(struct exporter *x)
{
	bool userspace = stat_span(x->vms.stat) == STAT_USERSPACE_EXIT;
	int err = top_model_open(&x->model, userspace ? userspace_reason_name : exit_name, false);

	x->model.has_causes = stat_has_causes(x->vms.stat);
	return err ? err : top_causes_open(&x->vms, &x->causes);
}

static int cgroups_open(struct exporter *x)
{
	char root[PATH_MAX];

	if (!stat_has_steals(x->vms.stat))
		return 0;
	x->cgroups = cgroup_names_new(cgroup_root_find(root, sizeof(root)) ? root : NULL);
	return x->cgroups ? 0 : error_code();
}

/* NULL paths: none are needed. */
static int paths_open(struct exporter *x, struct confine_paths **ret)
{
	int err = 0;

	if (opt.dumps && !(x->dumps = exported_dumps_new(opt.dumps)))
		return error_code();
	if (!opt.dumps && !x->socket.path)
		return 0;
	*ret = confine_paths_new();
	if (!*ret)
		return error_code();
	if (opt.dumps)
		err = confine_paths_read(*ret, opt.dumps);
	return err || !x->socket.path ? err : confine_paths_write(*ret, x->socket.path, false);
}

static int exporter_start(struct exporter *x)
{
	_cleanup_confine_paths_ struct confine_paths *paths = NULL;
	const struct exporter_events_options wanted = {
		.queues = opt.queues,
		.downtime = opt.downtime,
		.devices_max = (unsigned int)opt.limits.devices,
	};
	bool probes = opt.queues || opt.downtime;
	struct confinement c = {.phase = probes ? CONFINE_FOLLOW : CONFINE_WATCH,
				.keep = CAPS_KEPT_TO_LOOK | (probes ? collector_attach_caps() : 0),
				.sends = true};
	int err = privileges_check();

	if (!err && opt.push.url) /* its file may end the process, so before there is a socket to remove */
		err = exporter_push_open(&opt.push, &x->push);
	if (!err)
		err = exporter_server_start(&opt.server, &x->httpd, x->message);
	if (!err)
		err = exporter_socket_note(&opt.server, &x->socket);
	if (!err)
		err = top_vms_open_with_pages(&x->vms);
	if (!err)
		err = causes_open(x);
	if (!err && probes)
		err = exporter_events_open(&wanted, &x->events);
	if (!err)
		err = cgroups_open(x);
	if (!err)
		err = paths_open(x, &paths);
	if (err)
		return err;
	state_init(x);
	c.paths = paths;
	err = confine(&c);
	if (!err)
		command_note("listening on %s; stop with ^C", (char *)x->message);
	return err;
}

static int usage_check(int argc, char **argv)
{
	if (argc)
		return command_usage("unexpected argument '%s'", argv[0]);
	if (!opt.server.cert != !opt.server.key)
		return command_usage("--tls-cert and --tls-key are only useful together");
	if (opt.push.url && http_url_check(opt.push.url))
		return command_usage("--otlp: %s", error_text());
	if (opt.push.interval_ns < NS_PER_S)
		return command_usage("invalid --otlp-interval (at least 1s)");
	if (!opt.limits.vcpus_per_group || opt.limits.vcpus_per_group > VM_VCPUS_MAX)
		return command_usage("invalid --vcpu-group %" PRIu64 " (1 to %d)",
				     opt.limits.vcpus_per_group, VM_VCPUS_MAX);
	if (opt.limits.ports > LABELLED_MAX)
		return command_usage("invalid --max-ports %" PRIu64 " (at most %d)",
				     opt.limits.ports, LABELLED_MAX);
	if (opt.limits.pages > LABELLED_MAX)
		return command_usage("invalid --max-pages %" PRIu64 " (at most %d)",
				     opt.limits.pages, LABELLED_MAX);
	if (opt.limits.devices > DEVICES_MAX)
		return command_usage("invalid --max-devices %" PRIu64 " (at most %d)",
				     opt.limits.devices, DEVICES_MAX);
	if (opt.limits.cgroups > LABELLED_MAX)
		return command_usage("invalid --max-cgroups %" PRIu64 " (at most %d)",
				     opt.limits.cgroups, LABELLED_MAX);
	if (opt.limits.series > SERIES_MAX)
		return command_usage("invalid --max-series %" PRIu64 " (at most %d)",
				     opt.limits.series, SERIES_MAX);
	return 0;
}

static int cmd_exporter(int argc, char **argv)
{
	struct exporter x = {.signals = -1};
	int err = usage_check(argc, argv);

	if (err)
		return err;
	x.message = malloc(HELPER_MESSAGE_MAX);
	x.signals = x.message ? exporter_signals_open() : fail(-ENOMEM, "out of memory");
	err = x.signals < 0 ? x.signals : exporter_start(&x);
	if (!err)
		err = exporter_loop(&x);
	exporter_socket_remove(&x.socket);
	helper_stop(&x.httpd);
	exporter_push_close(x.push);
	for (unsigned int i = 0; i < x.nr; i++)
		exported_vm_deinit(&x.vm[i]);
	free(x.vm);
	exporter_events_close(x.events);
	top_causes_close(x.causes);
	top_model_close(&x.model);
	cgroup_names_free(x.cgroups);
	exported_dumps_free(x.dumps);
	top_vms_close(&x.vms);
	free(x.message);
	close(x.signals);
	return err ? command_failed() : EXIT_FINE;
}

static const struct option_rule rules[] = {
	{"max-devices", .with = "queues"},    {"otlp-interval", .with = "otlp"},
	{"otlp-cacert", .with = "otlp"},      {"otlp-headers", .with = "otlp"},
	{"otlp-exponential", .with = "otlp"}, {0},
};

static int check(void)
{
	const struct exporter_server *s = &opt.server;

	if (!strncmp(s->listen, "unix:", 5))
		return options_unused_check("host insecure", "on a UNIX socket");
	if (hosts_has(&(struct hosts){0}, s->listen, &(struct sockaddr){0}))
		return options_unused_check("insecure", "on a loopback address");
	return s->cert && s->key && s->passwords
		       ? options_unused_check("insecure",
					      "with --tls-cert, --tls-key and --password-file")
		       : 0;
}

extern const struct command exporter_command;

const struct command exporter_command = {
	.name = "exporter",
	.args = "",
	.summary = "Serve figures of all running VMs as Prometheus metrics.",
	.group = "Live (needs privileges)",
	.details =
		"Serves http://ADDR:PORT/metrics: exit latencies by reason, what their time went "
		"into,\n"
		"ports, MMIO, steal of vCPUs, from counters that are kept in the kernel, as 'top' "
		"does.\n"
		"VMs that start later are followed. Runs until ^C.",
	.examples = "  hostrace exporter\n"
		    "  hostrace exporter --queues --vcpu-group 1\n"
		    "  hostrace exporter --listen unix:/run/hostrace/metrics.sock\n"
		    "  hostrace exporter --otlp http://127.0.0.1:4318",
	.options = (const struct option_row *const[]){options, vm_user_options, NULL},
	.rules = rules,
	.check = check,
	.run = cmd_exporter,
};
