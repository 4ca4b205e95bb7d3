// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/error.h"
#include "vm/linux/percpu.h"

uint32_t linux_cpus_possible(struct linux_guest *g)
{
	uint64_t symbol = linux_symbol(g, "nr_cpu_ids");
	uint32_t nr = 0;

	if (!symbol || linux_read_u32(g, symbol, &nr) || !nr)
		return 1;
	return nr < LINUX_CPUS_MAX ? nr : LINUX_CPUS_MAX;
}

/* A CPU that was never started still has the image's own copy of the variables. */
bool linux_percpu_offset(struct linux_guest *g, uint64_t offsets, uint32_t cpu, uint64_t *ret)
{
	return !linux_read_u64(g, offsets + 8 * (uint64_t)cpu, ret) && *ret < LINUX_IMAGE_MAP;
}

/* Without a mask of those that are online, all that were started are. */
static bool is_online(struct linux_guest *g, uint64_t mask, uint32_t cpu)
{
	uint8_t bits = 0;

	return !mask || (!linux_read(g, mask + cpu / CHAR_BIT, &bits, 1) &&
			 bits >> cpu % CHAR_BIT & 1);
}

int linux_cpus_online(struct linux_guest *g, struct linux_cpus *ret)
{
	uint64_t offsets = linux_symbol(g, "__per_cpu_offset");
	uint64_t mask = linux_symbol(g, "__cpu_online_mask");
	uint32_t nr = linux_cpus_possible(g);

	*ret = (struct linux_cpus){.cpu = calloc(nr, sizeof(*ret->cpu)),
				   .offset = calloc(nr, sizeof(*ret->offset))};
	if (!ret->cpu || !ret->offset)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t cpu = 0; offsets && cpu < nr; cpu++)
		if (is_online(g, mask, cpu) &&
		    linux_percpu_offset(g, offsets, cpu, &ret->offset[ret->nr]))
			ret->cpu[ret->nr++] = cpu;
	return ret->nr ? 0
		       : fail(-ENOENT, "the guest's kernel has no per-CPU variables of a CPU that "
				       "is online (CONFIG_SMP)");
}

void linux_cpus_deinit(struct linux_cpus *c)
{
	free(c->cpu);
	free(c->offset);
	*c = (struct linux_cpus){0};
}
