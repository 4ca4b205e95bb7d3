/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records that BPF writes and C reads, generated from events.def. Included by both compilers, as are ring.h and
 * statmap.h.
 *
 *   0        8     12    16     18     20    22     24
 *   +--------+-----+-----+------+------+-----+------+-----------------
 *   | time   | pid | tid | type | size | cpu | vcpu | fields of `type`
 *   +--------+-----+-----+------+------+-----+------+-----------------
 *
 * All integers are little-endian, and the length of all records, header included, is a multiple of 8 bytes.
 */
#ifndef HOSTRACE_RECORD_H
#define HOSTRACE_RECORD_H

#ifdef __bpf__
typedef unsigned char      hr_u8;
typedef unsigned short     hr_u16;
typedef unsigned int       hr_u32;
typedef unsigned long long hr_u64;
typedef signed char        hr_s8;
typedef int                hr_s32;
typedef long long          hr_s64;
#else
#include <stdint.h>
typedef uint8_t  hr_u8;
typedef uint16_t hr_u16;
typedef uint32_t hr_u32;
typedef uint64_t hr_u64;
typedef int8_t   hr_s8;
typedef int32_t  hr_s32;
typedef int64_t  hr_s64;
#endif

#define RECORD_NO_VCPU 0xffff /* the thread is not a vCPU, or it is unknown yet */
#define RECORD_DECLARED_FIRST 256 /* types that are not in events.def: the file declares them */
#define RECORD_CPU_UNKNOWN 0xffff /* texts of other tools may not say it; a recording of ours does */
#define RECORD_NO_CPU  0xffffffffu /* of a loss: no buffer was full, the kernel did not run the program */
#define RECORD_NOT_WRITTEN 0xfffffffeu /* likewise: the event was recorded, but could not be written into the file */

struct record_hdr {
	hr_u64 time; /* host CLOCK_MONOTONIC, ns */
	hr_u32 pid;  /* the VM: QEMU's process id */
	hr_u32 tid;  /* the thread in which it happened */
	hr_u16 type; /* enum event_id, or an id that the file's schema declares */
	hr_u16 size; /* bytes of the whole record */
	hr_u16 cpu;  /* host CPU, or RECORD_CPU_UNKNOWN */
	hr_u16 vcpu; /* vCPU index of tid, or RECORD_NO_VCPU */
};

_Static_assert(sizeof(struct record_hdr) == 24, "the header is part of the file format");

/* enum event_id: EV_kvm_exit = 1, ... */
#define EVENT(id, name, doc) EV_##name = id,
#define FIELD(type, name, fmt, doc)
#define TEXT(len, name, doc)
#define PAD(bytes)
#define END(name)
enum event_id {
	EV_none = 0,
#include "events.def"
	EV_LIMIT = 192 /* all ids of events.def are below; the length of tables indexed by id */
};
#undef EVENT
#undef FIELD
#undef TEXT
#undef PAD
#undef END

/* struct rec_kvm_exit { struct record_hdr hdr; ... }; */
#define EVENT(id, name, doc)	    struct rec_##name { struct record_hdr hdr;
#define FIELD(type, name, fmt, doc) hr_##type name;
#define TEXT(len, name, doc)	    char name[len];
#define PAD(bytes)		    hr_u8 pad_[bytes];
#define END(name)                                                                                  \
	}                                                                                          \
	__attribute__((packed, aligned(8)));                                                       \
	_Static_assert(sizeof(struct rec_##name) % 8 == 0, #name);
#include "events.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef PAD
#undef END

#endif
