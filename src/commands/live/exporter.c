// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace exporter: the counters of `top` of all VMs as Prometheus metrics. hostrace-httpd answers requests; this
 * process attaches, follows VMs and writes pages, and reads nothing that comes from the network.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/helper.h"
#include "base/version.h"
#include "collector/collector.h"
#include "commands/common/command.h"
#include "commands/live/top.h"
#include "confine/confine.h"
#include "exporter/httpd_messages.h"
#include "exporter/page.h"

static struct {
	const char *listen;
	struct export_limits limits;
} opt = {
	.listen = "127.0.0.1:9972",
	.limits = {.ports = 10, .vcpus_per_group = 8, .series = 20000},
};

/* clang-format off */
static const struct option_row options[] = {
	{0, "listen",     OPT_TEXT, &opt.listen,                 "ADDR:PORT", "address to listen on, or unix:PATH (default: 127.0.0.1:9972)"},
	{0, "vcpu-group", OPT_U64,  &opt.limits.vcpus_per_group, "N",         "N vCPUs share a histogram of exits (default: 8)"},
	{0, "max-ports",  OPT_U64,  &opt.limits.ports,           "N",         "ports of a VM with series of their own (default: 10)"},
	{0, "max-series", OPT_U64,  &opt.limits.series,          "N",         "series of all VMs; VMs beyond are left out (default: 20000)"},
	{0},
};
/* clang-format on */

enum { LOOK_MS = 1000, PORTS_MAX = 256, SERIES_MAX = 10000000 };

struct exporter {
	struct top_vms vms;
	struct exported_vm *vm;
	unsigned int nr;
	struct helper httpd;
	void *message;
	struct stat_probe probe[STAT_PROBES_MAX];
	struct export_probe exported[STAT_PROBES_MAX];
	struct export_state state;
	int signals;
	bool quit;
};

/* ---- VMs ---- */

static struct exported_vm *exported_find(struct exporter *x, uint64_t number)
{
	for (unsigned int i = 0; i < x->nr; i++)
		if (x->vm[i].number == number)
			return &x->vm[i];
	return NULL;
}

static const struct top_watched *watched_find(const struct exporter *x, uint64_t number)
{
	for (unsigned int i = 0; i < x->vms.nr; i++)
		if (x->vms.vm[i].number == number)
			return &x->vms.vm[i];
	return NULL;
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
	void *more = reallocarray(x->vm, x->nr + 1, sizeof(*x->vm));
	int err;

	if (!more)
		return fail(-ENOMEM, "out of memory");
	x->vm = more;
	err = exported_vm_init(&x->vm[x->nr], &w->vm, &opt.limits);
	if (err)
		return err;
	x->vm[x->nr++].number = w->number;
	return 0;
}

/* The exported VMs become those that are watched. */
static int vms_follow(struct exporter *x)
{
	int err = top_vms_look(&x->vms, NULL);

	ended_remove(x);
	for (unsigned int i = 0; i < x->vms.nr && !err; i++)
		if (x->vms.vm[i].at.nr && !exported_find(x, x->vms.vm[i].number))
			err = exported_add(x, &x->vms.vm[i]);
	return err;
}

/* ---- pages ---- */

static const struct stat_vcpu *vcpu_at(void *arg, unsigned int index)
{
	const struct exporter *x = ((void **)arg)[0];
	const struct top_watched *w = ((void **)arg)[1];

	return stat_vcpu(x->vms.stat, w->at.first + index);
}

static int vms_read(struct exporter *x)
{
	int err = vms_follow(x);

	for (unsigned int i = 0; i < x->nr && !err; i++) {
		const struct top_watched *w = watched_find(x, x->vm[i].number);
		void *arg[] = {x, (void *)w};

		err = exported_vm_read(&x->vm[i], &w->vm,
				       &(struct exported_counters){
					       .nr_vcpus = w->at.nr,
					       .nr_cells = stat_nr_cells(x->vms.stat),
					       .vcpu = vcpu_at,
					       .arg = arg});
	}
	x->state.now_ns = monotonic_ns();
	x->state.missed_exits = stat_missed(x->vms.stat);
	x->state.vms_no_capacity = x->vms.refused;
	return err;
}

static int page_make(struct exporter *x, char **ret, size_t *ret_len)
{
	FILE *f = open_memstream(ret, ret_len);
	int err;

	if (!f)
		return fail(-ENOMEM, "out of memory");
	err = vms_read(x);
	if (!err)
		err = metrics_page_write(&x->state, &opt.limits, x->vm, x->nr, f);
	if (fclose(f) && !err)
		err = fail(-ENOMEM, "out of memory");
	return err;
}

static int page_send(struct exporter *x, const char *page, size_t len)
{
	int err = 0;

	while (len && !err) {
		size_t part = len < HELPER_MESSAGE_MAX ? len : HELPER_MESSAGE_MAX;

		err = helper_send(&x->httpd, HTTPD_PART, page, part);
		page += part;
		len -= part;
	}
	return err ? err : helper_send(&x->httpd, HTTPD_END, NULL, 0);
}

static int request_answer(struct exporter *x)
{
	struct helper_head head;
	char *page = NULL;
	size_t len = 0;
	int err = helper_receive(&x->httpd, &head, x->message);

	if (!err && head.kind != HTTPD_WANTED)
		err = fail(-EPROTO, "hostrace-httpd sent an unknown message %u", head.kind);
	if (!err)
		err = page_make(x, &page, &len);
	if (!err)
		err = page_send(x, page, len);
	free(page);
	return err;
}

/* ---- the loop ---- */

static int loop(struct exporter *x)
{
	struct pollfd p[2] = {{.fd = x->signals, .events = POLLIN},
			      {.fd = x->httpd.fd, .events = POLLIN}};
	int err = 0;

	while (!err) {
		int nr = poll(p, 2, LOOK_MS);

		if (nr < 0 && errno != EINTR)
			return fail(-errno, "poll: %s", strerror(errno));
		if (nr > 0 && p[0].revents)
			return 0;
		err = nr > 0 && p[1].revents ? request_answer(x) : vms_follow(x);
	}
	return err;
}

static int signals_open(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? fail(-errno, "signalfd: %s", strerror(errno)) : fd;
}

/* ---- start ---- */

static int httpd_start(struct exporter *x)
{
	struct helper_head head = {0};
	int err = helper_start(&x->httpd, "hostrace-httpd");

	if (!err)
		err = helper_send(&x->httpd, HTTPD_LISTEN, opt.listen, strlen(opt.listen) + 1);
	if (!err)
		err = helper_receive(&x->httpd, &head, x->message);
	if (err)
		return err;
	if (!head.len || ((char *)x->message)[head.len - 1])
		return fail(-EPROTO, "hostrace-httpd sent an unknown message");
	x->state.helper = x->httpd.pid;
	if (head.kind == HTTPD_READY)
		return 0;
	return fail(-EADDRNOTAVAIL, "%s", (char *)x->message);
}

static void state_init(struct exporter *x)
{
	struct export_state *s = &x->state;

	s->nr_probes = stat_probes(x->vms.stat, x->probe);
	for (unsigned int i = 0; i < s->nr_probes; i++)
		x->exported[i] =
			(struct export_probe){x->probe[i].name, x->probe[i].attached};
	s->probe = x->exported;
	s->userspace_only = stat_span(x->vms.stat) == STAT_USERSPACE_EXIT;
	s->has_causes = stat_has_causes(x->vms.stat);
	s->has_ports = stat_has_ports(x->vms.stat);
	s->version = HOSTRACE_VERSION;
	s->map_bytes = stat_bytes(x->vms.stat);
	s->start_unix_s = (uint64_t)time(NULL);
}

static int start(struct exporter *x)
{
	struct confinement c = {.phase = CONFINE_WATCH, .keep = CAPS_KEPT_TO_LOOK, .sends = true};
	int err = privileges_check();

	if (!err)
		err = httpd_start(x);
	if (!err)
		err = top_vms_open(&x->vms, NULL, false);
	if (err)
		return err;
	state_init(x);
	err = confine(&c);
	if (!err)
		command_note("listening on %s; stop with ^C", (char *)x->message);
	return err;
}

static int usage_check(int argc, char **argv, char **rest)
{
	if (argc || rest)
		return command_usage("unexpected argument '%s'", argc ? argv[0] : "--");
	if (!opt.limits.vcpus_per_group || opt.limits.vcpus_per_group > VM_VCPUS_MAX)
		return command_usage("invalid --vcpu-group %" PRIu64 " (1 to %d)",
				     opt.limits.vcpus_per_group, VM_VCPUS_MAX);
	if (opt.limits.ports > PORTS_MAX)
		return command_usage("invalid --max-ports %" PRIu64 " (at most %d)",
				     opt.limits.ports, PORTS_MAX);
	if (opt.limits.series > SERIES_MAX)
		return command_usage("invalid --max-series %" PRIu64 " (at most %d)",
				     opt.limits.series, SERIES_MAX);
	return 0;
}

static int run(int argc, char **argv, char **rest)
{
	struct exporter x = {.signals = -1};
	int err = usage_check(argc, argv, rest);

	if (err)
		return err;
	x.message = malloc(HELPER_MESSAGE_MAX);
	x.signals = x.message ? signals_open() : fail(-ENOMEM, "out of memory");
	err = x.signals < 0 ? x.signals : start(&x);
	if (!err)
		err = loop(&x);
	helper_stop(&x.httpd);
	for (unsigned int i = 0; i < x.nr; i++)
		exported_vm_deinit(&x.vm[i]);
	free(x.vm);
	top_vms_close(&x.vms);
	free(x.message);
	close(x.signals);
	return err ? command_failed() : EXIT_FINE;
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
		"ports, steal of vCPUs, from counters that are kept in the kernel, as 'top' does.\n"
		"VMs that start later are followed. Runs until ^C.",
	.examples = "  hostrace exporter\n"
		    "  hostrace exporter --listen 192.0.2.1:9972 --vcpu-group 1\n"
		    "  hostrace exporter --listen unix:/run/hostrace/metrics.sock",
	.options = (const struct option_row *const[]){options, NULL},
	.run = run,
};
