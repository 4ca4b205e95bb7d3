// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What QEMU's memory says of a virtio device besides its queues: VirtIODevice (include/hw/virtio/virtio.h), and the PCI
 * function that it belongs to. Members are found by what they are, not by offsets of one release: `vq` points to the
 * known array of queues, and name, status, isr and features are before it, in two arrangements from 4.2 to 11.1; the
 * PCI function is the parent of the device's bus, and its configuration space begins with virtio's vendor.
 */

#include "event/event.h"
#include "vm/virtq_requests.h"

enum {
	BUS_PARENT = 40,  /* BusState.parent, after its Object */
	DEVICE_BYTES = 512,
	FUNCTION_BYTES = 4096, /* of VirtIOPCIProxy, in which PCIDevice's members are */

	/* PCI 3.0, 6.1 and 6.8.2 */
	CONFIG_BYTES = 256,
	PCI_COMMAND = 4,
	PCI_COMMAND_MASTER = 4,
	PCI_COMMAND_INTX_OFF = 1 << 10,
	PCI_CAPABILITIES = 0x34,
	PCI_VENDOR_VIRTIO = 0x1af4,
	CAPABILITY_MSIX = 0x11,
	CAPABILITIES_MAX = 48,
	MSIX_ENTRY = 16,
	MSIX_CONTROL = 12,
	VECTORS_MAX = 64,
};

/*
 * Where members are before VirtIODevice.vq. The features that the driver has accepted are always some of those that the
 * device offers (virtio_set_features_nocheck()). Both are adjacent, but which is first differs between 7.2 and 10.0:
 * what they have in common is the accepted ones. 10.2 made them 128 bits long; the lower 64 come first.
 */
static const struct places {
	size_t name, status, isr, features[2];
} places[] = {
	{72, 64, 63, {56, 48}},
	{96, 88, 87, {80, 64}}, /* since 10.2 */
};

enum { NR_PLACES = sizeof(places) / sizeof(places[0]) };

static uint64_t u64_read(const struct memory *m, uint64_t at)
{
	uint8_t p[8];

	return memory_read(m, at, p, sizeof(p)) ? 0 : memory_le(p, 8);
}

static void text_read(const struct memory *m, uint64_t at, char *buf, size_t size)
{
	memset(buf, 0, size);
	for (size_t i = 0; i + 1 < size; i++)
		if (memory_read(m, at + i, buf + i, 1) || !buf[i])
			break;
}

/* vq: VirtIODevice.vq. *v is known if these are its places. */
static void places_read(const struct memory *m, const uint8_t *vq, const struct places *before,
			struct virtio_device *v)
{
	text_read(m, memory_le(vq - before->name, 8), v->name, sizeof(v->name));
	v->known = !strncmp(v->name, "virtio-", 7) || !strncmp(v->name, "vhost-", 6);
	v->status = *(vq - before->status);
	v->isr = *(vq - before->isr);
	v->features = memory_le(vq - before->features[0], 8) &
		      memory_le(vq - before->features[1], 8);
}

static void state_read(const struct memory *m, const struct virtq_device *d,
		       struct virtio_device *v)
{
	size_t at = places[0].name;
	uint8_t p[VDEV_BYTES];

	if (memory_read(m, d->vdev, p, sizeof(p)))
		return;
	while (at + 8 <= sizeof(p) && memory_le(p + at, 8) != d->array)
		at += 8;
	for (unsigned int i = 0; i < NR_PLACES && at + 8 <= sizeof(p) && !v->known; i++)
		if (at >= places[i].name)
			places_read(m, p + at, &places[i], v);
	if (!v->known)
		*v = (struct virtio_device){0};
	text_sanitize(v->name);
}

/* The device whose QOM path is that of this one less its last part: it owns the bus that this one is on. 0: unknown. */
static uint64_t parent_find(const struct memory *m, const struct virtq_device *d)
{
	const char *end = strrchr(d->path, '/');
	size_t len = end ? (size_t)(end - d->path) : 0;
	uint8_t p[DEVICE_BYTES];

	if (!len || memory_read(m, d->vdev, p, sizeof(p)))
		return 0;
	for (size_t at = VDEV_PATH + 8; at + 8 <= sizeof(p); at += 8) {
		uint64_t bus = memory_le(p + at, 8);
		uint64_t parent = bus && !(bus & 7) ? u64_read(m, bus + BUS_PARENT) : 0;
		uint64_t name = parent && !(parent & 7) ? u64_read(m, parent + VDEV_PATH) : 0;
		char path[VIRTQ_PATH_MAX];

		if (!name)
			continue;
		text_read(m, name, path, sizeof(path));
		if (strlen(path) == len && !memcmp(path, d->path, len))
			return parent;
	}
	return 0;
}

/* Where MSI-X is in the configuration space; 0: nowhere. A list that loops ends. */
static unsigned int msix_find(const uint8_t *config)
{
	unsigned int at = config[PCI_CAPABILITIES] & ~3u;

	for (unsigned int i = 0; i < CAPABILITIES_MAX && at >= 0x40 && at + 4 <= CONFIG_BYTES;
	     i++) {
		if (config[at] == CAPABILITY_MSIX)
			return at;
		at = config[at + 1] & ~3u;
	}
	return 0;
}

/*
 * PCIDevice keeps the table and the pending bits one after the other, after the number of vectors. A vector that was
 * never used has an address of 0; used ones have the local APIC's.
 */
static void vectors_read(const struct memory *m, const uint8_t *p, struct virtio_device *v)
{
	unsigned int nr = v->msix_vectors < VECTORS_MAX ? v->msix_vectors : VECTORS_MAX;
	uint8_t table[VECTORS_MAX * MSIX_ENTRY], pending[8] = {0};

	for (size_t at = 0; at + 24 <= FUNCTION_BYTES && !v->vectors_known; at += 8) {
		if ((memory_le(p + at, 4) != v->msix_vectors &&
		     memory_le(p + at + 4, 4) != v->msix_vectors) ||
		    memory_read(m, memory_le(p + at + 8, 8), table, nr * MSIX_ENTRY) ||
		    memory_read(m, memory_le(p + at + 16, 8), pending, (nr + 7) / 8))
			continue;
		v->vectors_known = true;
		for (unsigned int i = 0; i < nr; i++) {
			const uint8_t *entry = table + (size_t)i * MSIX_ENTRY;

			v->vectors_known &= memory_le(entry + MSIX_CONTROL, 4) <= 1 &&
					    (!memory_le(entry, 4) ||
					     memory_le(entry, 4) >> 20 == 0xfee);
			v->masked |= (memory_le(entry + MSIX_CONTROL, 4) & 1) << i;
		}
		v->pending = memory_le(pending, 8);
		if (!v->vectors_known)
			v->masked = v->pending = 0;
	}
}

static void config_read(const uint8_t *config, struct virtio_device *v)
{
	unsigned int at = msix_find(config),
		     command = config[PCI_COMMAND] | config[PCI_COMMAND + 1] << 8;

	v->pci = true;
	v->bus_master = command & PCI_COMMAND_MASTER;
	v->intx_disabled = command & PCI_COMMAND_INTX_OFF;
	if (!at)
		return;
	unsigned int control = config[at + 2] | config[at + 3] << 8;

	v->msix = control & 0x8000;
	v->msix_masked = control & 0x4000;
	v->msix_vectors = (uint16_t)((control & 0x7ff) + 1);
}

static void function_read(const struct memory *m, const struct virtq_device *d,
			  struct virtio_device *v)
{
	uint64_t parent = parent_find(m, d);
	uint8_t p[FUNCTION_BYTES], config[CONFIG_BYTES];

	if (!parent || memory_read(m, parent, p, sizeof(p)))
		return;
	for (size_t at = VDEV_PATH + 8; at + 16 <= DEVICE_BYTES && !v->pci; at += 8) {
		if (memory_read(m, memory_le(p + at, 8), config, sizeof(config)) ||
		    memory_le(config, 2) != PCI_VENDOR_VIRTIO)
			continue;
		config_read(config, v);
	}
	if (v->pci && v->msix_vectors)
		vectors_read(m, p, v);
}

void virtio_device_read(const struct memory *m, const struct virtq_device *d,
			struct virtio_device *ret)
{
	*ret = (struct virtio_device){0};
	state_read(m, d, ret);
	function_read(m, d, ret);
}
