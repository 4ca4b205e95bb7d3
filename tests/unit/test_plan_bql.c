// SPDX-License-Identifier: GPL-2.0-or-later
/* The global mutex in QEMU 9.0 and newer, where its functions have other names. */
#define LOCK "bql_lock_impl"
#define UNLOCK "bql_unlock"
#define COND_WAIT "qemu_cond_wait_bql"

#include "test_plan_locks.c"
