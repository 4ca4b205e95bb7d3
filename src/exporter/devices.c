// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of virtio devices as the exporter shows them, from the events that `leaks` looks at, by its rules
 * (pairing/elements.h), and from kicks and interrupts. A request is an element of a virtqueue.
 *
 * The first devices of a VM have series of their own, further ones share "other". A device that is unplugged and
 * plugged in again under its name continues its series.
 */
#include <errno.h>
#include <limits.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "event/records.h"
#include "event/virtio_ids.h"
#include "exporter/page_private.h"
#include "output/table.h"
#include "pairing/elements.h"

enum { PATH_BYTES = 128 };

struct named_device {
	uint64_t key[2]; /* pid, address */
	uint64_t index;
};

struct exported_devices {
	struct elements *elements;
	struct element_watch watch;
	struct hash_table named;
	struct exported_device *list;
	unsigned int nr, max;
	int err;
};

/* ---- devices ---- */

static unsigned int nr_of_vm(const struct exported_devices *d, pid_t pid)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < d->nr; i++)
		nr += d->list[i].pid == pid;
	return nr;
}

static struct exported_device *device_find(struct exported_devices *d, pid_t pid, const char *name)
{
	return array_find(d->list, d->nr, i,
			  d->list[i].pid == pid && !strcmp(d->list[i].name, name));
}

static struct exported_device *device_add(struct exported_devices *d, pid_t pid, const char *name)
{
	d->err = array_room(d->list, d->nr);
	if (d->err)
		return NULL;
	d->list[d->nr] = (struct exported_device){.pid = pid};
	snprintf(d->list[d->nr].name, EXPORT_DEVICE_MAX, "%s", name);
	return &d->list[d->nr++];
}

/* NULL: out of memory */
static struct exported_device *device_named(struct exported_devices *d, pid_t pid, const char *name)
{
	struct exported_device *known = device_find(d, pid, name);

	if (!known && strcmp(name, "other") && nr_of_vm(d, pid) >= d->max)
		return device_named(d, pid, "other");
	return known ? known : device_add(d, pid, name);
}

static struct exported_device *device_of(struct exported_devices *d, uint32_t pid, uint64_t vdev)
{
	const struct named_device *n = hash_find_words(&d->named, (const uint64_t[]){pid, vdev});

	return n ? &d->list[n->index] : device_named(d, (pid_t)pid, "other");
}

static struct exported_device *device_of_event(struct exported_devices *d, const struct event *ev)
{
	return device_of(d, ev->pid, virtio_ids_of(ev).vdev);
}

/* Comes before the other events of the device; again if another one is at its address. */
static void device_learn(struct exported_devices *d, const struct event *ev)
{
	RECORD(virtio_device, r, ev);
	char text[PATH_BYTES], buf[PATH_BYTES], name[EXPORT_DEVICE_MAX];
	struct exported_device *device;
	struct named_device *n;

	if (!*RECORD_TEXT(r, path, text))
		return;
	snprintf(name, sizeof(name), "%s", path_print(text, buf, sizeof(buf)));
	device = device_named(d, (pid_t)ev->pid, name);
	n = device ? hash_add_words(&d->named, (const uint64_t[]){ev->pid, r->vdev}, NULL) : NULL;
	if (n)
		n->index = (uint64_t)(device - d->list);
}

/* ---- events ---- */

static unsigned int bucket_of(uint64_t ns)
{
	return export_bucket_of(ns > 1 ? 64u - (unsigned int)__builtin_clzll(ns - 1) : 0);
}

static void device_element_left(void *arg, const struct element *el, enum element_end how,
				const struct event *ev)
{
	struct exported_devices *d = arg;
	struct exported_device *device;
	uint64_t ns;

	if (how != ELEMENT_RETURNED)
		return;
	device = device_of(d, el->pid, el->vdev);
	if (!device)
		return;
	device->requests++;
	if (el->unknown)
		return;
	ns = ev->time_ns > el->popped_ns ? ev->time_ns - el->popped_ns : 0;
	device->bucket[bucket_of(ns)]++;
	device->native[export_native_of(ns)]++;
	device->total_ns += ns;
}

int exported_devices_event(struct exported_devices *d, const struct event *ev)
{
	struct exported_device *device;

	d->err = 0;
	if (ev->type->id == EV_virtio_device)
		device_learn(d, ev);
	if (ev->type->id != EV_virtio_queue_notify && ev->type->id != EV_virtio_notify) {
		elements_event(d->elements, ev);
		return d->err;
	}
	device = device_of_event(d, ev);
	if (device && ev->type->id == EV_virtio_notify)
		device->interrupts++;
	else if (device)
		device->kicks++;
	return d->err;
}

void exported_devices_forget(struct exported_devices *d, pid_t pid)
{
	for (unsigned int i = 0; i < d->nr; i++)
		if (d->list[i].pid == pid)
			d->list[i].pid = 0;
}

/* ---- readings ---- */

/* Not what a device keeps by design, and not what may have ended in an event that was lost. */
static bool is_in_flight(const struct element *el)
{
	return el->verdict == ELEMENT_IN_FLIGHT || el->verdict == ELEMENT_LEAKED ||
	       el->verdict == ELEMENT_BROKEN_DEVICE;
}

static void in_flight_add(struct exported_devices *d, const struct element *el)
{
	struct exported_device *device = device_of(d, el->pid, el->vdev);

	if (!device)
		return;
	device->in_flight++;
	if (el->age_ns > device->oldest_ns)
		device->oldest_ns = el->age_ns;
}

int exported_devices_read(struct exported_devices *d, uint64_t now_ns)
{
	struct element_totals totals;
	_cleanup_free_ struct element *list = NULL;
	size_t nr = 0;
	int err = elements_end(d->elements, now_ns, 0, &list, &nr, &totals);

	d->err = 0;
	for (unsigned int i = 0; i < d->nr; i++)
		d->list[i].in_flight = d->list[i].oldest_ns = 0;
	for (size_t i = 0; i < nr && !err; i++)
		if (is_in_flight(&list[i]))
			in_flight_add(d, &list[i]);
	return err ? err : d->err;
}

const struct exported_device *exported_devices_at(const struct exported_devices *d, unsigned int i)
{
	return i < d->nr ? &d->list[i] : NULL;
}

/* ---- start and end ---- */

struct exported_devices *exported_devices_new(unsigned int max)
{
	struct exported_devices *d = calloc(1, sizeof(*d));

	if (!d) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	d->max = max;
	d->named = HASH_TABLE(struct named_device, 2, ELEMENT_DEVICES_MAX);
	d->watch = (struct element_watch){.left = device_element_left, .arg = d};
	d->elements = elements_new();
	if (!d->elements) {
		free(d);
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	elements_watch(d->elements, &d->watch);
	return d;
}

void exported_devices_free(struct exported_devices *d)
{
	if (!d)
		return;
	elements_free(d->elements);
	hash_deinit(&d->named);
	free(d->list);
	free(d);
}

/* The families of a VM's virtio devices. */

static void watched_write(struct page *p, const struct exported_vm *e)
{
	metric_number(&p->text, &e->labels, e->devices_watched);
}

static void latency_write(struct page *p, const struct exported_vm *e,
			  const struct exported_device *d, const struct metric_labels *l)
{
	const struct exemplar_query q = {"request-age", d->name, 0, UINT_MAX};
	uint64_t bounds[EXPORT_BUCKETS];
	struct metric_exemplar exemplar;

	export_bounds_make(bounds);
	metric_histogram(&p->text, l,
			 &(struct metric_histogram){
				 .bound_ns = bounds,
				 .count = d->bucket,
				 .nr = EXPORT_BUCKETS,
				 .native = d->native,
				 .sum_ns = d->total_ns,
				 .exemplar = page_exemplar(p, e, &q, &exemplar)});
}

static void devices_write(struct page *p, const struct exported_vm *e)
{
	const struct exported_device *d;

	for (unsigned int i = 0;
	     e->devices_watched && (d = exported_devices_at(p->state->devices, i)); i++) {
		struct metric_labels l = e->labels;

		if (d->pid != e->pid)
			continue;
		metric_label(&l, "device", d->name);
		if (!strcmp(p->family->type, "histogram"))
			latency_write(p, e, d, &l);
		else
			page_value(p, &l, d);
	}
}

#define OF_DEVICES(member) devices_write, offsetof(struct exported_device, member)

const struct family device_families[] = {
	{"hostrace_vm_devices_watched", "gauge",
	 "1: the VM's virtio devices are watched; 0: it started later, or probes are missing.",
	 watched_write},
	{"hostrace_device_requests_total", "counter",
	 "Requests that a virtio device returned to the guest.", OF_DEVICES(requests)},
	{"hostrace_device_request_latency_seconds", "histogram",
	 "Time from when a device takes a request to its return.", OF_DEVICES(bucket)},
	{"hostrace_device_requests_in_flight", "gauge", "Requests that the device has.",
	 OF_DEVICES(in_flight)},
	{"hostrace_device_oldest_request_seconds", "gauge",
	 "Age of the oldest request that the device has; 0: it has none.", OF_DEVICES(oldest_ns)},
	{"hostrace_device_kicks_total", "counter",
	 "Notifications of the device by the guest that QEMU handled.", OF_DEVICES(kicks)},
	{"hostrace_device_interrupts_total", "counter",
	 "Notifications of the guest by the device.", OF_DEVICES(interrupts)},
	{0},
};
