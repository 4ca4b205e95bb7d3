/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * USDT probes ("static probes"): a program built with <sys/sdt.h> has a nop at each mark, and for
 * each nop a note with its name and the locations of its arguments. QEMU's are made by
 * --enable-trace-backends=dtrace. The format of the notes is SystemTap's:
 * https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation.
 */
#ifndef HOSTRACE_USDT_H
#define HOSTRACE_USDT_H

#include "collector/elf.h"

enum {
	USDT_MARKS_MAX = 65536, /* notes of one file that are kept; QEMU 10 has 2,200 */
};

struct usdt_mark {
	const char *provider, *name, *args; /* args: "8@%rdi -4@8(%rsp)"; point into the file */
	uint64_t address;		    /* of the nop, as linked */
	uint64_t semaphore;		    /* address of its counter; 0: none */
};

struct usdt_marks {
	struct usdt_mark *mark;
	unsigned int nr;
	unsigned int broken; /* notes that could not be read */
};

/* All marks of a file; none is not an error. Valid while the file is open. -ENOMEM. */
int usdt_read(const struct elf_file *e, struct usdt_marks *ret);
void usdt_free(struct usdt_marks *marks);

/*
 * Can libbpf read the first nr arguments of a mark? It supports registers, memory at a register with
 * an offset, and constants; not "8@(%r8,%rdx,8)" and not "8@symbol(%rip)".
 */
bool usdt_args_readable(const char *args, unsigned int nr);

#endif
