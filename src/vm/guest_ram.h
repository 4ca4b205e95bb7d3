/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's memory, read through the process that owns it, while the guest runs. Nothing is
 * stopped, nothing written.
 *
 * A VMM maps the guest's RAM somewhere in its own address space, and does not report where. KVM's memory slots say it
 * (vm/kvm_state.h). Without KVM, or the rights to read them, it is searched: each large writable mapping may be the
 * RAM; it is the one that has the expected data at the guest's address. Below 4 GiB a PC's RAM begins at guest address
 * 0; what does not fit below the PCI hole continues at 4 GiB.
 *
 * Virtual addresses go through the guest's page tables as the CPU would (Intel SDM vol. 3, chapter
 * 4; AMD APM vol. 2, chapter 5), read the same way.
 */
#ifndef HOSTRACE_GUEST_RAM_H
#define HOSTRACE_GUEST_RAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

struct memory_range {
	uint64_t start, end;
	bool read, write, exec, shared;
	bool file; /* of a file or a memfd */
	bool heap; /* "[heap]": brk */
	bool secret; /* of memfd_secret(2): only the process itself can read it */
	bool device; /* of a device passed through by VFIO, or of physical memory */
};

struct memory {
	/* Reads exactly size bytes into buf: 0, -EFAULT (not mapped), -ESRCH (the process has
	 * exited). NULL: not open. */
	int (*read)(const struct memory *m, uint64_t addr, void *buf, size_t size);
	int fd;		   /* /proc/PID/mem */
	FILE *maps;	   /* /proc/PID/maps, for memory_reread() */
	const void *image; /* for the `read` of a test */
	struct memory_range *range;
	unsigned int nr;
};

/*
 * start: when the process was started (vm/proc.h), so that a later one with its pid is not read; 0: unknown.
 * 0, or -errno with the error message set: -EPERM, -EACCES (the message names the right), -ESRCH.
 * Free with memory_close(); a zeroed one, and one that failed to open, may be closed too.
 */
int memory_open(pid_t pid, uint64_t start, struct memory *ret);
void memory_close(struct memory *m);

/* The mappings as they are now. Needs no rights, either. 0 or -errno with the error message set: -ESRCH. */
int memory_reread(struct memory *m);

static inline int memory_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	return m->read(m, addr, buf, size);
}

/* A number of `size` bytes in a copy of the process's memory; hosts are little-endian, as base/buffer.h assumes. */
static inline uint64_t memory_le(const uint8_t *p, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, p, size);
	return v;
}

/* One line of /proc/PID/maps. False if it is none. */
bool memory_range_parse(const char *line, struct memory_range *ret);

enum guest_paging {
	GUEST_PHYSICAL,	 /* no paging: an address is a physical one */
	GUEST_PAGING_32, /* two levels, 4 MiB pages with CR4.PSE */
	GUEST_PAGING_PAE,
	GUEST_PAGING_4, /* long mode */
	GUEST_PAGING_5,
};

enum { GUEST_PAGE = 4096, GUEST_RAM_TRIES = 256 };

/* A range of guest physical addresses and where the process has it: one of KVM's memory slots. */
struct guest_slot {
	uint64_t guest, process, size;
};

/*
 * Where the process has the RAM. By slots: sorted by guest address, without overlap, `size` bytes together. Without
 * any: `size` bytes from `base`; guest address g below `low` lies at base + g, from 4 GiB on at
 * base + low + (g - 4 GiB).
 *
 * "Offsets" count the bytes of RAM from its beginning: what follows in the guest, without holes.
 */
struct guest_ram {
	uint64_t base, low, size;
	const struct guest_slot *slot; /* borrowed */
	size_t nr_slots;
};

struct guest_ram guest_ram_of_slots(const struct guest_slot *slot, size_t nr);

/* Where the process has the RAM at this offset, and how many bytes follow there; 0: there is none. */
uint64_t guest_ram_at(const struct guest_ram *ram, uint64_t offset, uint64_t *ret_left);

/* Guest physical address of an offset within the RAM, and the other way round; false: no RAM is there. */
uint64_t guest_ram_physical(const struct guest_ram *ram, uint64_t offset);
bool guest_ram_offset(const struct guest_ram *ram, uint64_t physical, uint64_t *ret);

/* Offset of what the process has at this address; false: no RAM. */
bool guest_ram_of_process(const struct guest_ram *ram, uint64_t process, uint64_t *ret);

struct guest_space {
	enum guest_paging paging;
	uint64_t cr3;
};

/* Where the RAM may be, likeliest first. `bytes`: of RAM, as the VM was begun; 0: unknown. How
 * many, or -errno. */
int guest_ram_tries(const struct memory *m, uint64_t bytes, struct guest_ram *tries,
		    unsigned int max);

/* A guest physical address below its RAM's size, and where the process is known to have it. */
struct guest_ram_pair {
	uint64_t guest, process;
};

/* The first of guest_ram_tries() that has all pairs where they are. False: none has. */
bool guest_ram_of_pairs(const struct memory *m, uint64_t bytes, const struct guest_ram_pair *pair,
			unsigned int nr, struct guest_ram *ret);

/*
 * Address in the process of a guest's address, good to the end of its page; 0: it is not mapped. Page tables are the
 * guest's: what they point to beyond its RAM is not mapped, whatever else of the process may lie there.
 */
uint64_t guest_address(const struct memory *m, const struct guest_ram *ram,
		       const struct guest_space *space, uint64_t address);

#endif
