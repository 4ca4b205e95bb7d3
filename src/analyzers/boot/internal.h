/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of this folder only. */
#ifndef HOSTRACE_BOOT_INTERNAL_H
#define HOSTRACE_BOOT_INTERNAL_H

#include "analyzers/boot/boot.h"
#include "base/hash.h"
#include "model/threads.h"

/* A serial console, from the writes to its UART (16550). */
struct boot_console {
	char line[BOOT_LINE_BYTES];
	unsigned int len;
	uint64_t since_ns; /* the line's first byte */
	bool divisor;	   /* LCR.DLAB: writes to the data port are none */
};

enum console_change { CONSOLE_NOTHING, CONSOLE_BEGINS, CONSOLE_GROWS, CONSOLE_ENDS };

/* A byte written to this register, 0 to 7. CONSOLE_ENDS: `line` is complete, until the next call. */
enum console_change boot_console_write(struct boot_console *c, uint32_t reg, uint32_t value,
				       uint64_t ns);

/* Does the line, so far, end with this text? */
bool boot_console_has(const struct boot_console *c, const char *text);

/* "[    1.234567] text": the time. */
bool boot_line_time(const char *line, uint64_t *ret_ns);

/* What the thread does now. in_call: it is in this system call; request: of ioctl; or -1. */
enum boot_cause boot_thread_cause(const struct model *m, const struct model_thread *t,
				  int64_t in_call, uint64_t request);

enum { BOOT_VCPUS_MAX = 64 /* of a VM, whose time is looked at */, BOOT_DEVICES_MAX = 64 };

struct boot_device {
	uint64_t vdev;
	char kind[24];
	bool has_driver, has_request;
};

struct machine {
	struct boot_vm vm;
	uint16_t source;
	bool has_begun, has_exec; /* has_exec: the execve that vm.at[BOOT_VMM] is of has succeeded */
	unsigned int phase;	  /* the newest */
	unsigned int stage;	  /* ... but for markers */
	uint64_t cursor_ns;	  /* the time up to here is accounted */
	uint64_t last_ns;
	struct model_thread *vcpu[BOOT_VCPUS_MAX]; /* that have run */
	unsigned int nr_vcpus;
	struct {
		uint64_t fd;
		uint16_t id;
	} made[BOOT_VCPUS_MAX]; /* file descriptors of vCPUs */
	unsigned int nr_made;
	bool has_calls, has_kvm_pio; /* there were such events */
	bool has_port, has_debug;
	unsigned int nr_posts;
	uint64_t markers; /* bit: seen */
	struct boot_console console;
	struct {
		unsigned int phase; /* when the console's line began */
		uint64_t causes[BOOT_CAUSES];
	} line;
	struct boot_device device[BOOT_DEVICES_MAX];
	unsigned int nr_devices;
};

struct machine_entry {
	uint64_t key; /* source, pid */
	struct machine *m;
};

struct boot_thread {
	struct model_thread model;
	struct machine *machine;
	bool in_call, has_run;
	uint32_t call;
	uint64_t request, arg; /* of ioctl */
};

/* Of one pass. */
struct boot {
	const struct boot_marker *marker;
	unsigned int nr_markers;
	struct model model;
	struct hash_table machines;
	struct machine *recent; /* of the newest event */
	size_t nr_points;
	uint64_t refused;
	bool strings; /* struct boot_notes */
	int err;
};


/* phases.c: the time up to now is accounted, by what threads do now. */
void boot_time_account(const struct boot *b, struct machine *m, uint64_t ns);

/* False: a later phase has begun, or the boot has ended. */
bool boot_phase_begin(const struct boot *b, struct machine *m, unsigned int phase, uint64_t ns);

/* The same, with the first byte of the console's line: what was accounted since then is the new phase's. */
bool boot_phase_begin_line(const struct boot *b, struct machine *m, unsigned int phase,
			   uint64_t ns);

/* Another vCPU is made: the previous one was not the last. */
void boot_vcpus_resume(const struct boot *b, struct machine *m, uint64_t ns);

/* NULL: not in the boot, or too many, or no memory (b->err). */
struct boot_point *boot_point_add(struct boot *b, struct machine *m, enum boot_point_kind kind,
				  uint64_t ns, uint64_t number);

/* Nothing if p is NULL. */
void boot_point_text(struct boot *b, struct boot_point *p, const char *text);

/* The event's thread. NULL: there are too many. */
struct boot_thread *boot_thread_of(struct boot *b, struct machine *m, const struct event *ev);

/* The thread runs this vCPU, or RECORD_NO_VCPU, perhaps for the first time. */
void boot_vcpu_runs(struct boot *b, struct machine *m, const struct event *ev, uint16_t vcpu);

/* guest.c: what the guest does that can be seen from outside. setup.c: system calls. */
void boot_on_exit(struct boot *b, struct machine *m, const struct event *ev);
void boot_on_kvm_pio(struct boot *b, struct machine *m, const struct event *ev);
void boot_on_qemu_pio(struct boot *b, struct machine *m, const struct event *ev);
void boot_on_kind(struct boot *b, struct machine *m, const struct event *ev);
void boot_on_status(struct boot *b, struct machine *m, const struct event *ev);
void boot_on_notify(struct boot *b, struct machine *m, const struct event *ev);
void boot_on_pop(struct boot *b, struct machine *m, const struct event *ev);
void boot_on_call(struct boot *b, struct machine *m, const struct event *ev);
void boot_on_call_end(struct boot *b, struct machine *m, const struct event *ev);

#endif
