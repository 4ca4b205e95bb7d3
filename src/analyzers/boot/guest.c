// SPDX-License-Identifier: GPL-2.0-or-later
/* What the guest does in its boot that can be seen from outside: ports, the serial console, virtio devices. */
#include <string.h>

#include "analyzers/boot/internal.h"
#include "base/array.h"
#include "event/records.h"

enum {
	PORT_POST = 0x80,
	PORT_SERIAL = 0x3f8,
	PORT_DEBUG = 0x402,
	STATUS_DRIVER = 2, /* virtio 1.2, 2.1 */
	POSTS_MAX = 256,
};

static const uint64_t linux_text = 0xffffffff80000000;

static void marker_seen(struct boot *b, struct machine *m, unsigned int i, uint64_t ns, bool line)
{
	struct boot_point *p;

	if (!m->has_begun || m->markers & UINT64_C(1) << i)
		return;
	m->markers |= UINT64_C(1) << i;
	if (line ? boot_phase_begin_line(b, m, BOOT_MARKER + i, ns)
		 : boot_phase_begin(b, m, BOOT_MARKER + i, ns)) {
		p = boot_point_add(b, m, BOOT_AT_MARKER, line ? m->console.since_ns : ns, i);
		boot_point_text(b, p, b->marker[i].text);
	}
}

/* ---- the console ---- */

static void line_begin(struct boot *b, struct machine *m, uint64_t ns)
{
	boot_time_account(b, m, ns);
	m->line.phase = m->phase;
	memcpy(m->line.causes, m->vm.causes[m->phase], sizeof(m->line.causes));
}

static void line_grow(struct boot *b, struct machine *m, uint64_t ns)
{
	const struct boot_console *c = &m->console;

	if (!m->has_begun)
		return;
	if (boot_console_has(c, "Decompressing Linux") || boot_console_has(c, "Linux version"))
		boot_phase_begin_line(b, m, BOOT_KERNEL, ns);
	else if (boot_console_has(c, "as init process") && strstr(c->line, "Run /"))
		boot_phase_begin_line(b, m, BOOT_INIT, ns);
	for (unsigned int i = 0; i < b->nr_markers; i++)
		if (b->marker[i].line && boot_console_has(c, b->marker[i].line))
			marker_seen(b, m, i, ns, true);
}

static void line_end(struct boot *b, struct machine *m)
{
	struct boot_point *p = boot_point_add(b, m, BOOT_AT_CONSOLE, m->console.since_ns, 0);

	if (p)
		p->has_guest_ns = boot_line_time(m->console.line, &p->guest_ns);
	boot_point_text(b, p, m->console.line);
}

static void console_write(struct boot *b, struct machine *m, uint32_t reg, uint32_t value,
			  uint64_t ns)
{
	switch (boot_console_write(&m->console, reg, value, ns)) {
	case CONSOLE_BEGINS:
		line_begin(b, m, ns);
		line_grow(b, m, ns);
		break;
	case CONSOLE_GROWS:
		line_grow(b, m, ns);
		break;
	case CONSOLE_ENDS:
		line_end(b, m);
		break;
	case CONSOLE_NOTHING:
		break;
	}
}

/* ---- ports ---- */

static void port_written(struct boot *b, struct machine *m, uint64_t ns, uint32_t port,
			 uint32_t value)
{
	if (port == PORT_POST && m->nr_posts < POSTS_MAX) {
		m->nr_posts++;
		boot_point_add(b, m, BOOT_AT_POST, ns, value);
	} else if (port == PORT_DEBUG && !m->has_debug) {
		m->has_debug = true;
		boot_point_add(b, m, BOOT_AT_DEBUG, ns, value);
	} else if (port >= PORT_SERIAL && port < PORT_SERIAL + 8) {
		console_write(b, m, port - PORT_SERIAL, value, ns);
	}
}

static void port_accessed(struct boot *b, struct machine *m, const struct event *ev, uint32_t port,
			  bool write, uint32_t value)
{
	if (!m->has_port) {
		m->has_port = true;
		boot_point_add(b, m, BOOT_AT_PORT, ev->time_ns, port);
	}
	for (unsigned int i = 0; i < b->nr_markers; i++) {
		const struct boot_marker *k = &b->marker[i];

		if (!k->line && k->port == port && (!k->has_value || (write && k->value == value)))
			marker_seen(b, m, i, ev->time_ns, false);
	}
	if (write)
		port_written(b, m, ev->time_ns, port, value);
}

void boot_on_kvm_pio(struct boot *b, struct machine *m, const struct event *ev)
{
	RECORD(kvm_pio, r, ev);

	m->has_kvm_pio = true;
	b->strings |= r->write && r->count > 1 && r->port == PORT_SERIAL;
	port_accessed(b, m, ev, r->port, r->write, r->val);
}

/* Under TCG; with KVM, kvm_pio has it. */
void boot_on_qemu_pio(struct boot *b, struct machine *m, const struct event *ev)
{
	RECORD(qemu_pio, r, ev);

	if (m->has_kvm_pio)
		return;
	boot_vcpu_runs(b, m, ev, ev->vcpu);
	port_accessed(b, m, ev, r->port, r->write, r->val);
}

void boot_on_exit(struct boot *b, struct machine *m, const struct event *ev)
{
	RECORD(kvm_exit, r, ev);

	if (m->has_begun && r->rip >= linux_text)
		boot_phase_begin(b, m, BOOT_KERNEL, ev->time_ns);
}

/* ---- virtio ---- */

static struct boot_device *device_get(struct machine *m, uint64_t vdev)
{
	struct boot_device *d =
		array_find(m->device, m->nr_devices, i, m->device[i].vdev == vdev);

	if (d || m->nr_devices == BOOT_DEVICES_MAX)
		return d;
	d = &m->device[m->nr_devices++];
	*d = (struct boot_device){.vdev = vdev};
	return d;
}

void boot_on_kind(struct boot *b, struct machine *m, const struct event *ev)
{
	RECORD(virtio_kind, r, ev);
	struct boot_device *d = device_get(m, r->vdev);

	(void)b;
	if (d)
		RECORD_TEXT(r, kind, d->kind);
}

static void device_point(struct boot *b, struct machine *m, struct boot_device *d,
			 enum boot_point_kind kind, uint64_t ns)
{
	boot_point_text(b, boot_point_add(b, m, kind, ns, 0), *d->kind ? d->kind : "virtio device");
}

void boot_on_status(struct boot *b, struct machine *m, const struct event *ev)
{
	RECORD(virtio_set_status, r, ev);
	struct boot_device *d = device_get(m, r->vdev);

	if (!d || d->has_driver || !(r->status & STATUS_DRIVER))
		return;
	d->has_driver = true;
	device_point(b, m, d, BOOT_AT_DRIVER, ev->time_ns);
}

static void request_seen(struct boot *b, struct machine *m, uint64_t vdev, uint64_t ns)
{
	struct boot_device *d = device_get(m, vdev);

	if (!d || d->has_request)
		return;
	d->has_request = true;
	device_point(b, m, d, BOOT_AT_REQUEST, ns);
}

void boot_on_notify(struct boot *b, struct machine *m, const struct event *ev)
{
	RECORD(virtio_queue_notify, r, ev);

	if (r->vdev)
		request_seen(b, m, r->vdev, ev->time_ns);
}

void boot_on_pop(struct boot *b, struct machine *m, const struct event *ev)
{
	RECORD(virtqueue_pop, r, ev);

	request_seen(b, m, r->vdev, ev->time_ns);
}
