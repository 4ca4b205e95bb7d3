// SPDX-License-Identifier: GPL-2.0-or-later
/* The families of a VM's virtio devices. */
#include <limits.h>

#include "exporter/page_private.h"

struct shown {
	const struct exported_vm *vm;
	const struct exported_device *device;
	struct metric_labels labels;
};

typedef void device_fn(struct page *p, const struct shown *s);

static void each_device(struct page *p, const struct exported_vm *e, device_fn *fn)
{
	const struct exported_device *d;

	if (!e->devices_watched)
		return;
	for (unsigned int i = 0; (d = exported_devices_at(p->state->devices, i)); i++) {
		struct shown s = {.vm = e, .device = d, .labels = e->labels};

		if (d->pid != e->pid)
			continue;
		metric_label(&s.labels, "device", d->name);
		fn(p, &s);
	}
}

static void watched_write(struct page *p, const struct exported_vm *e)
{
	metric_number(&p->text, &e->labels, e->devices_watched);
}

static void requests(struct page *p, const struct shown *s)
{
	metric_number(&p->text, &s->labels, s->device->requests);
}

static void requests_write(struct page *p, const struct exported_vm *e)
{
	each_device(p, e, requests);
}

static void latency(struct page *p, const struct shown *s)
{
	const struct exported_device *d = s->device;
	const struct exemplar_query q = {"request-age", d->name, 0, UINT_MAX};
	uint64_t bounds[EXPORT_BUCKETS];
	struct metric_exemplar exemplar;

	export_bounds_make(bounds);
	metric_histogram(&p->text, &s->labels,
			 &(struct metric_histogram){
				 .bound_ns = bounds,
				 .count = d->bucket,
				 .nr = EXPORT_BUCKETS,
				 .native = d->native,
				 .sum_ns = d->total_ns,
				 .exemplar = page_exemplar(p, s->vm, &q, &exemplar)});
}

static void latency_write(struct page *p, const struct exported_vm *e)
{
	each_device(p, e, latency);
}

static void in_flight(struct page *p, const struct shown *s)
{
	metric_number(&p->text, &s->labels, s->device->in_flight);
}

static void in_flight_write(struct page *p, const struct exported_vm *e)
{
	each_device(p, e, in_flight);
}

static void oldest(struct page *p, const struct shown *s)
{
	metric_seconds(&p->text, &s->labels, s->device->oldest_ns);
}

static void oldest_write(struct page *p, const struct exported_vm *e)
{
	each_device(p, e, oldest);
}

static void kicks(struct page *p, const struct shown *s)
{
	metric_number(&p->text, &s->labels, s->device->kicks);
}

static void kicks_write(struct page *p, const struct exported_vm *e)
{
	each_device(p, e, kicks);
}

static void interrupts(struct page *p, const struct shown *s)
{
	metric_number(&p->text, &s->labels, s->device->interrupts);
}

static void interrupts_write(struct page *p, const struct exported_vm *e)
{
	each_device(p, e, interrupts);
}

const struct family device_families[] = {
	{"hostrace_vm_devices_watched", "gauge",
	 "1: the VM's virtio devices are watched; 0: it started later, or probes are missing.",
	 watched_write},
	{"hostrace_device_requests_total", "counter",
	 "Requests that a virtio device returned to the guest.", requests_write},
	{"hostrace_device_request_latency_seconds", "histogram",
	 "Time from when a device takes a request to its return.", latency_write},
	{"hostrace_device_requests_in_flight", "gauge", "Requests that the device has.",
	 in_flight_write},
	{"hostrace_device_oldest_request_seconds", "gauge",
	 "Age of the oldest request that the device has; 0: it has none.", oldest_write},
	{"hostrace_device_kicks_total", "counter",
	 "Notifications of the device by the guest that QEMU handled.", kicks_write},
	{"hostrace_device_interrupts_total", "counter",
	 "Notifications of the guest by the device.", interrupts_write},
	{0},
};
