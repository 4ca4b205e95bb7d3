/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's BPF features, tested by loading programs. Needs CAP_BPF and CAP_PERFMON, else all return false. */
#ifndef HOSTRACE_FEATURES_H
#define HOSTRACE_FEATURES_H

#include <stdbool.h>

/* Programs on tracepoints with typed arguments ("tp_btf", Linux 5.5). */
bool feature_tracing(void);

/* Memory that hangs at a thread (Linux 5.11). */
bool feature_task_storage(void);

#endif
