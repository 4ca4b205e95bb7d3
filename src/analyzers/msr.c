// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer.h"

const struct analyzer msr_analyzer = {
	.name = "msr",
	.summary = "intercepted RDMSR and WRMSR",
	.begin = "kvm_msr",
	.by = "dir,msr",
};
