/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probe sites of each event: whether an event is available here, how, and if not, why not.
 * Made once from probes/kvm.def, qemu.def and inside.def for the running kernel and a VM's QEMU executable;
 * `record` attaches to them, `doctor` prints them, the trace file stores them.
 *
 * BPF programs are found by name: fn_EVENT (function entry), ret_EVENT (function return),
 * usdt_EVENT (mark), tp_EVENT (tracepoint or its best form).
 */
#ifndef HOSTRACE_PLAN_H
#define HOSTRACE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/helper.h"

enum probe_how {
	PROBE_ABSENT, /* see reason */
	PROBE_TRACEPOINT,
	PROBE_USDT,
	PROBE_FUNCTION,
};

enum { PLACES_MAX = 8 }; /* qemu_pio has six: three widths, two directions */

struct probe_place {
	char program[64];     /* BPF program: "fn_virtqueue_pop", ... */
	const char *instead;  /* more expensive program with the same data, if the kernel rejects that one; or NULL */
	char function[64];    /* symbol, or "kvm:kvm_exit" for a tracepoint; "" for a mark */
	char mark[64];	      /* USDT probe, provider is qemu; "" for a function */
	uint64_t offset;      /* from the function's start */
	uint64_t file_offset; /* what the kernel wants: offset of the instruction in the file */
	bool at_return;	      /* attach as uretprobe */
	char insn[16];	      /* mnemonic at the probe site */
	bool emulated;	      /* the kernel emulates it (cheap); false: it single-steps (expensive) */
	unsigned int sites;   /* of a mark: its sites in the file, all of which are attached */
};

struct probe_plan {
	const char *event; /* name in events.def */
	const char *group; /* "virtqueues", "block", "kvm", ... */
	const char *about; /* what the group is about */
	enum probe_how how;
	char reason[256]; /* absent: why, and what would help; else what this kind of probe lacks; ""
			   */
	struct probe_place place[PLACES_MAX];
	unsigned int nr_places;
	bool doubtful; /* it can be attached but may never fire; the reason says why */
};

/* Offsets of the fields that BPF reads in QEMU's structs; from probes/qemu.def, by version. */
struct qemu_layout {
	uint32_t vq_vdev, vq_queue, vq_inuse, vdev_path, vq_host_notifier;
	uint32_t elem_head, elem_ndescs, elem_out, elem_in;
};

struct plan {
	struct probe_plan *probe;
	unsigned int *users; /* plans that share `probe` */
	unsigned int nr;
	struct qemu_layout layout;
	bool is_qemu;
	char version[32]; /* QEMU's, "" if unknown */
	char note[160];	  /* what is doubtful about the whole, e.g. a QEMU newer than the layouts;
			     else "" */
	char layout_note[192]; /* how far the layout is confirmed; "" without a QEMU */

	/* The variable of that name, as linked; 0 if not found. A PIE adds its load bias from /proc/PID/maps. */
	uint64_t address_space_io;

	/* QEMU's global mutex, as linked; 0 if not found. */
	uint64_t global_mutex;
	uint64_t entry;	     /* where the executable begins, as linked */
	char lock_note[160]; /* how the mutex was found, or why not; "" without a QEMU */
};

/* Plans QEMU's probes for a binary (NULL: only the kernel's). 0 or -errno with the error message set. */
int plan_make(const char *qemu_exe, struct plan *ret);

/* The same without the kernel's, by a hostrace-decode (decoder.h) that is running: a confined process starts none. */
int plan_make_qemu(const char *qemu_exe, struct helper *decoder, struct plan *ret);

/* Another user of a plan, for a VM of the same binary; each calls plan_free(). */
struct plan plan_share(const struct plan *plan);
void plan_free(struct plan *plan);

/* Is this file a QEMU executable? */
bool plan_exe_is_qemu(const char *exe);

/* The programs that this event may need in some QEMU executable. Returns their number, at most max. */
unsigned int plan_programs(const char *event, const char **ret, unsigned int max);

/* Plans to record of exits their reason only, where that costs less: on Intel. The plan must not be shared yet. */
void plan_exit_reasons(struct plan *plan);

/* Does KVM use SVM or VMX here, and have BTF for its struct vcpu_svm or vcpu_vmx? */
bool plan_svm(void);
bool plan_vmx(void);

/* The plan of one event; NULL if events.def has it but no probe table row does. */
const struct probe_plan *plan_of(const struct plan *plan, const char *event);

/* "virtqueue_pop+21 jne, return +21 jne"; "mark virtqueue_pop, 2 sites". Returns buf. */
const char *plan_where(const struct probe_plan *probe, char *buf, size_t size);

/* "tracepoint", "usdt", "function" or "absent". */
const char *plan_how(const struct probe_plan *probe);

/* Of user probes: "cheap" if all sites are emulated, else "expensive"; "" for others. */
const char *plan_cost(const struct probe_plan *probe);

/*
 * [{"event","group","how","where","cost":"cheap|expensive|","reason"}], for QEMU's with
 * "places":[{"function","mark","offset","file_offset","insn","return","cheap"}].
 */
json_t *plan_json(const struct plan *plan);

#endif
