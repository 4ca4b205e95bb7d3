/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For exporter/page*.c only. */
#ifndef HOSTRACE_EXPORTER_PAGE_PRIVATE_H
#define HOSTRACE_EXPORTER_PAGE_PRIVATE_H

#include "exporter/page.h"

struct page {
	struct metric_text text;
	const struct export_state *state;
	const struct family *family; /* whose samples are being written */
};

struct family {
	const char *name, *type, *help;

	/* Writes a VM's samples; where it serves several families, of the uint64_t at this offset of its object. */
	void (*write)(struct page *p, const struct exported_vm *e);
	size_t at;
	bool needs_kvm_exit;
};

/* The uint64_t at its place in an object, for the family being written; ns where the unit is seconds. */
void page_value(struct page *p, const struct metric_labels *l, const void *object);

/* page_devices.c, page_downtime.c; the last one has no name. */
extern const struct family device_families[], downtime_families[];

/* The families of the host's stops. */
void page_downtime_write(struct page *p);

/* A dump of a flight recorder: its trigger, the reason or device that it was about, the vCPUs. */
struct exemplar_query {
	const char *trigger, *what;
	unsigned int first_vcpu, last_vcpu;
};

/* The newest such dump of the VM, in `ret`. NULL: there is none. */
const struct metric_exemplar *page_exemplar(const struct page *p, const struct exported_vm *e,
					    const struct exemplar_query *q,
					    struct metric_exemplar *ret);

/* EXPORT_BUCKETS - 1 of them. */
void export_bounds_make(uint64_t *ret);

#endif
