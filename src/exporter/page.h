/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page that Prometheus reads. doc/man/hostrace-exporter.1.scd lists its metrics. */
#ifndef HOSTRACE_EXPORTER_PAGE_H
#define HOSTRACE_EXPORTER_PAGE_H

#include "exporter/cgroups.h"
#include "exporter/devices.h"
#include "exporter/downtime.h"
#include "exporter/dumps.h"
#include "exporter/vm.h"

struct export_probe {
	const char *name;
	bool attached;
};

/* Requests to a receiver of OpenTelemetry's. */
struct export_pushes {
	uint64_t accepted, partial, failed; /* partial: it rejected some of the samples */
};

/* What the exporter knows of itself. */
struct export_state {
	const struct export_probe *probe;
	unsigned int nr_probes;
	bool userspace_only; /* the KVM backend has no kvm_exit: spans are userspace exits */
	bool has_causes, has_ports, has_pages;
	const struct cgroup_names *cgroups; /* NULL: which of them steal is not measured */
	const struct exported_devices *devices;	  /* NULL: not measured */
	const struct exported_downtime *downtime; /* the same */
	const struct exported_dumps *dumps;	  /* NULL: no exemplars */
	uint64_t lost_device_events;		  /* of both */
	const char *version;
	uint64_t missed_exits; /* of vCPUs that are not counted */
	unsigned int vms_no_capacity;
	uint64_t map_bytes;    /* of the counters */
	uint64_t start_unix_s; /* of this process */
	struct otlp_sender sender; /* for METRIC_OTLP */
	uint64_t now_ns;       /* of the reading; monotonic */
	const struct export_pushes *pushes; /* NULL: nothing is sent */
	pid_t helper[2];       /* whose cost is added to ours; 0: none */
};

/*
 * Writes the page of these readings. VMs, in the order of the array, that would exceed limits->series are marked as
 * left out, and counted. 0 or -errno with the error message set.
 */
int metrics_page_write(const struct export_state *s, const struct export_limits *limits,
		       struct exported_vm *vms, unsigned int nr, enum metric_format format,
		       FILE *out);

#endif
