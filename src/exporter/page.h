/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page that Prometheus reads. doc/man/hostrace-exporter.1.scd lists its metrics. */
#ifndef HOSTRACE_EXPORTER_PAGE_H
#define HOSTRACE_EXPORTER_PAGE_H

#include "analyzers/downtime/downtime.h"
#include "event/event.h"
#include "exporter/vm.h"

enum {
	DUMP_FILE_MAX = 119, /* bytes of a file's name, with its end: an exemplar has 128 characters */
	DUMP_TEXT_MAX = 128,
};

struct exported_dump {
	char file[DUMP_FILE_MAX];
	pid_t pid; /* of the VM */
	char vm[DUMP_TEXT_MAX], uuid[DUMP_TEXT_MAX];
	char trigger[DUMP_TEXT_MAX]; /* "exit-latency" */
	char what[DUMP_TEXT_MAX];    /* the exit's reason, the request's device; "": none */
	unsigned int vcpu;	     /* UINT_MAX: another thread of the VM */
	uint64_t value_ns; /* how long it took, or had taken when it was noticed */
	uint64_t unix_ms;  /* when */
};

struct exported_dumps;

/* Opens the directory. NULL with the error message set. */
struct exported_dumps *exported_dumps_new(const char *dir);
void exported_dumps_free(struct exported_dumps *d);
DEFINE_CLEANUP(exported_dumps, struct exported_dumps *, exported_dumps_free);

/* Reads new files, a few at a time, and forgets those that are gone. 0 or -ENOMEM with the error message set. */
int exported_dumps_scan(struct exported_dumps *d);

/* Dumps that can be exemplars; other files *.hrt: damaged, of another owner, without a trigger, beyond the limit. */
unsigned int exported_dumps_nr(const struct exported_dumps *d);
unsigned int exported_dumps_ignored(const struct exported_dumps *d);

/* The newest one with the same VM, trigger and `what`, of vCPUs `first` to `last`. NULL: there is none. */
const struct exported_dump *exported_dumps_find(const struct exported_dumps *d,
						const struct exported_dump *like,
						unsigned int first, unsigned int last);

/* What the metadata say of its trigger and VM; `file` is not set. False: it cannot be an exemplar. */
bool exported_dump_parse(const json_t *meta, struct exported_dump *ret);

/* By QEMU's run state; the last one: states that are not known. */
enum { EXPORT_STATES = 17 };

struct exported_stops {
	uint64_t nr;
	uint64_t ns; /* with that of the stop that has not ended */
};

/* Of the stops that have ended, of all VMs of this host, also of those that have ended. */
struct exported_phases {
	uint64_t nr;
	uint64_t ns[STOP_RUNS]; /* by the phase's first point */
};

struct exported_downtime;

/* NULL: out of memory, error message set. */
struct exported_downtime *exported_downtime_new(void);
void exported_downtime_free(struct exported_downtime *d);
DEFINE_CLEANUP(exported_downtime, struct exported_downtime *, exported_downtime_free);

/* Events in the order of time. 0 or -ENOMEM with the error message set. */
int exported_downtime_event(struct exported_downtime *d, const struct event *ev);

/* Its series end; its pid may be another process's from now on. */
void exported_downtime_forget(struct exported_downtime *d, pid_t pid);

/* now_ns: all events before it have been passed. 0 or -ENOMEM with the error message set. */
int exported_downtime_read(struct exported_downtime *d, uint64_t now_ns);

/* As of the last reading. */
struct exported_stops exported_downtime_of(const struct exported_downtime *d, pid_t pid,
					   unsigned int state);
const struct exported_phases *exported_downtime_phases(const struct exported_downtime *d,
						       unsigned int state);

enum { EXPORT_DEVICE_MAX = 64 }; /* bytes of a name, with its end; longer ones are cut */

struct exported_device {
	pid_t pid; /* 0: the VM has ended */
	char name[EXPORT_DEVICE_MAX];
	uint64_t requests; /* returned to the guest */
	uint64_t kicks, interrupts;
	/* from pop to push; not where the pop may have been lost */
	uint64_t bucket[EXPORT_BUCKETS], native[EXPORT_NATIVES], total_ns;
	uint64_t in_flight, oldest_ns; /* as of exported_devices_read(); without time in which the VM was stopped */
};

struct exported_devices;

/* `max`: devices of a VM that have series of their own. NULL: out of memory, error message set. */
struct exported_devices *exported_devices_new(unsigned int max);
void exported_devices_free(struct exported_devices *d);
DEFINE_CLEANUP(exported_devices, struct exported_devices *, exported_devices_free);

/* Events in the order of time. 0 or -ENOMEM with the error message set. */
int exported_devices_event(struct exported_devices *d, const struct event *ev);

/* What it had is not shown any more: its pid may be another process's from now on. */
void exported_devices_forget(struct exported_devices *d, pid_t pid);

/* Determines what is in flight. 0 or -ENOMEM with the error message set. */
int exported_devices_read(struct exported_devices *d, uint64_t now_ns);

/* In the order in which they were first seen; NULL beyond the last. Valid until the next event. */
const struct exported_device *exported_devices_at(const struct exported_devices *d, unsigned int i);

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
	uint64_t attach_failures;		  /* the same */
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
