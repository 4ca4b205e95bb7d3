/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's command line, as far as it describes the VM. The words come from /proc/PID/cmdline, which
 * the process can rewrite: nothing in them is trusted, lengths are bounded and control characters
 * replaced.
 */
#ifndef HOSTRACE_VM_CMDLINE_H
#define HOSTRACE_VM_CMDLINE_H

#include <jansson.h>
#include <stdint.h>

enum {
	CMDLINE_WORDS_MAX = 4096,
	CMDLINE_TEXT_MAX = 512, /* of a name, a device, ... ; longer ones are cut */
	CMDLINE_DEVICES_MAX = 256,
};

struct vm_cmdline {
	char *name;    /* "" if not given */
	char *uuid;    /* "" if not given */
	char *machine; /* "" if not given */
	char *accel;   /* as given: "kvm", "kvm:tcg"; "" if not given */
	char *gdb;     /* path of the gdb stub's UNIX socket; "" if there is none */
	uint64_t memory_bytes;
	unsigned int cpus;
	char **devices;
	unsigned int nr_devices;
};

/* words: argv, words[0] is the program. 0 or -ENOMEM. What is not understood is skipped. */
int vm_cmdline_parse(char *const *words, unsigned int nr, struct vm_cmdline *ret);
void vm_cmdline_free(struct vm_cmdline *c);

/*
 * {"KEY": "VALUE"} of an option's value: of a list, whose first value may be of the key `implied` (NULL: of none), or
 * of JSON, whose members of members are "KEY.KEY" and "KEY.0". A new reference.
 */
json_t *vm_option_values(const char *value, const char *implied);

/* One line that a shell would read back to the same words; control bytes replaced. Allocated; NULL: no memory. */
char *vm_cmdline_quote(char *const *words, unsigned int nr);

#endif
