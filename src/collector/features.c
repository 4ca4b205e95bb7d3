// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/collector.h"

/* libbpf's own probe relies on the text of an error message, which newer kernels have changed. */
bool feature_tracing(void)
{
	const struct bpf_insn return_0[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int id = libbpf_find_vmlinux_btf_id("sched_switch", BPF_TRACE_RAW_TP), fd;

	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP,
		    .attach_btf_id = id > 0 ? (__u32)id : 0);
	if (id <= 0)
		return false;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "probe", "GPL", return_0, 2, &opts);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

bool feature_task_storage(void)
{
	return libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1;
}
