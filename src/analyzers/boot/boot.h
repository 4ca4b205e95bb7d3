/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The boot of a VM as phases that follow each other, from the execve of the VMM to a marker, and what the time of each
 * went into. A phase begins with the first event of:
 *
 *	vmm       execve of the program (the first that succeeds: of a wrapper script, that of the script)
 *	vm        ioctl(KVM_CREATE_VM)
 *	vcpus     the first ioctl(KVM_CREATE_VCPU)
 *	devices   the last one has returned
 *	firmware  the first KVM_RUN; under TCG, the guest's first port access
 *	kernel    "Decompressing Linux" or "Linux version" on the serial console, or an exit from the addresses of Linux
 *	init      "Run /sbin/init as init process"
 *	markers   what the user asks for, whenever they come; the last of the list ends the boot
 *
 * and lasts until the next that was seen: phases always sum to the whole. One that was not seen is part of the one
 * before. A line of the console counts from its first byte, as printing it may take longer than what it reports.
 *
 * The time is that of one thread, by model/threads.h: the VMM's main thread until the first KVM_RUN; from then on that
 * of the lowest-numbered vCPU that is not halted.
 */
#ifndef HOSTRACE_BOOT_H
#define HOSTRACE_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct event;

enum {
	BOOT_MARKERS_MAX = 16,
	BOOT_VMS_MAX = 4096,	   /* of all inputs; events of further ones are counted */
	BOOT_POINTS_MAX = 1 << 16, /* of all VMs; later ones are counted */
	BOOT_LINE_BYTES = 200,	   /* of a line of the console; the rest is cut off */
};

enum boot_phase {
	BOOT_VMM,
	BOOT_VM,
	BOOT_VCPUS,
	BOOT_DEVICES,
	BOOT_FIRMWARE,
	BOOT_KERNEL,
	BOOT_INIT,
	BOOT_MARKER, /* and those after it */
	BOOT_PHASES = BOOT_MARKER + BOOT_MARKERS_MAX
};

enum boot_cause {
	BOOT_GUEST,   /* in guest mode; without kvm_exit, in KVM_RUN */
	BOOT_KVM,     /* KVM handles an exit, or another ioctl of the VMM's */
	BOOT_VMM_RUN, /* the VMM's user space runs */
	BOOT_SYSCALL, /* ... or it is in a system call that is none of the others */
	BOOT_HALTED,  /* all vCPUs are halted */
	BOOT_DISK,    /* a system call sleeps so that no signal wakes it: it waits for the host's disk */
	BOOT_FAULT,   /* so does a page fault */
	BOOT_CPU,     /* it could run and has no CPU */
	BOOT_BQL,     /* QEMU's global mutex */
	BOOT_LOCK,    /* another futex: another thread of the VMM */
	BOOT_POLL,    /* its event loop waits */
	BOOT_STOPPED, /* by a signal or a tracer */
	BOOT_UNKNOWN,
	BOOT_CAUSES
};

struct boot_marker {
	const char *text;	 /* as given */
	const char *line;	 /* on the console; NULL: a port */
	uint32_t port, value;
	bool has_value;
};

enum boot_point_kind {
	BOOT_AT_EXEC,
	BOOT_AT_THREAD, /* number: its tid */
	BOOT_AT_VM,
	BOOT_AT_SLOT,
	BOOT_AT_VCPU,
	BOOT_AT_RUN,	 /* the first KVM_RUN of this vCPU */
	BOOT_AT_PORT,	 /* the first access to a port; number: the port */
	BOOT_AT_POST,	 /* a POST code, port 0x80; number: the code */
	BOOT_AT_DEBUG,	 /* the firmware's first byte of debug output, port 0x402 */
	BOOT_AT_CONSOLE, /* a line of the serial console */
	BOOT_AT_DRIVER,	 /* a driver has found this virtio device; text: its type */
	BOOT_AT_REQUEST, /* its first request */
	BOOT_AT_MARKER,
	BOOT_POINT_KINDS
};

struct boot_point {
	uint64_t ns, number;
	uint64_t guest_ns; /* of a line: the guest's own time in it */
	char *text;	   /* NULL: none */
	enum boot_point_kind kind;
	uint16_t vcpu;
	bool has_guest_ns;
};

struct boot_vm {
	uint32_t pid;
	uint64_t begin_ns, end_ns;
	bool has_end; /* the last marker was seen */
	uint64_t at[BOOT_PHASES]; /* 0: not seen */
	uint64_t causes[BOOT_PHASES][BOOT_CAUSES];
	struct boot_point *point; /* in order of time */
	size_t nr_points;
};

struct boot_notes {
	uint64_t losses;  /* times at which events were lost */
	uint64_t refused; /* events of VMs, and points, beyond the limits */
	bool exits;	  /* the recording has kvm_exit */
	bool strings;	  /* the console got bytes by rep outs, of which only the first ones are recorded */
};

/* "port:0x80", "port:0x80=0x42", "console:login:". 0, or -EINVAL with the error message set; borrows the text. */
int boot_marker_parse(const char *text, struct boot_marker *ret);

struct boot;

/* The markers are borrowed. NULL: out of memory. */
struct boot *boot_new(const struct boot_marker *marker, unsigned int nr_markers, bool foreign);
void boot_free(struct boot *b);
DEFINE_CLEANUP(boot, struct boot *, boot_free);

/* As struct read_hint has it. */
bool boot_wants(const char *event, void *arg);

/* All events in order of time; 0 or -ENOMEM with the error message set. */
int boot_event(struct boot *b, const struct event *ev);

/* After the last event: what goes on ends then. */
void boot_end(struct boot *b, uint64_t end_ns);

/* VMs whose boot is in the trace, in the order of their begin, borrowed; the array is to be freed. NULL: no memory. */
const struct boot_vm **boot_vms(const struct boot *b, size_t *ret_nr);
void boot_notes(const struct boot *b, struct boot_notes *ret);

extern const char *const boot_cause_names[BOOT_CAUSES];

/* Of a phase before BOOT_MARKER. */
extern const char *const boot_phase_names[BOOT_MARKER];

#endif
