/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What people call a virtio device and its queues. */
#ifndef HOSTRACE_VIRTIO_NAMES_H
#define HOSTRACE_VIRTIO_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct event;

/* What the elements of a queue carry: only buffers that the device writes, or also some that it reads. */
enum virtio_data { VIRTIO_DATA_UNKNOWN, VIRTIO_DATA_IN, VIRTIO_DATA_OUT };

/* Of a virtqueue_pop. */
enum virtio_data virtio_data_of(const struct event *ev);

/* By the type's queues in the specification: "rx0", "ctrl"; NULL: not certain, or the type is unknown. */
const char *virtio_queue_name(const char *kind, uint32_t queue, enum virtio_data data, char *buf,
			      size_t size);

/* That, or the number, or "-" where there is none. Returns buf. */
const char *virtio_queue_label(const char *kind, uint32_t queue, enum virtio_data data, char *buf,
			       size_t size);

/* "/machine/peripheral/disk/virtio-backend": disk; of one without an id, ".../device[0]/...": virtio-blk[0]. */
const char *virtio_device_name(const char *path, const char *kind, char *buf, size_t size);

/* A type as a number from 1 on, and back; 0 and "": none that is known here. */
unsigned int virtio_kind_number(const char *kind);
const char *virtio_kind_name(unsigned int number);

#endif
