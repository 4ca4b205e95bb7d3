// SPDX-License-Identifier: GPL-2.0-or-later
/* Registers are available only from QEMU's human monitor, through QMP's human-monitor-command. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "vm/qmp.h"
#include "vm/space_qmp.h"

#define CR0_PG	 (UINT64_C(1) << 31)
#define CR4_PAE	 (UINT64_C(1) << 5)
#define CR4_LA57 (UINT64_C(1) << 12)
#define EFER_LMA (UINT64_C(1) << 10)

static bool number_find(const char *text, const char *name, uint64_t *ret)
{
	const char *at = strstr(text, name);

	if (!at)
		return false;
	*ret = strtoull(at + strlen(name), NULL, 16);
	return true;
}

int qmp_space_parse(const char *text, struct guest_space *ret)
{
	uint64_t cr0 = 0, cr4 = 0, efer = 0;

	if (!number_find(text, "CR0=", &cr0) || !number_find(text, "CR3=", &ret->cr3) ||
	    !number_find(text, "CR4=", &cr4))
		return fail(-EBADMSG, "no CR0, CR3 and CR4 in the monitor's 'info registers'");
	number_find(text, "EFER=", &efer);
	ret->paging = !(cr0 & CR0_PG)	 ? GUEST_PHYSICAL
		      : !(cr4 & CR4_PAE) ? GUEST_PAGING_32
		      : !(efer & EFER_LMA) ? GUEST_PAGING_PAE
		      : cr4 & CR4_LA57	   ? GUEST_PAGING_5
					   : GUEST_PAGING_4;
	return 0;
}

int qmp_space(const char *path, uint64_t timeout_ns, struct guest_space *ret)
{
	_cleanup_(qmp_cleanup_) struct qmp *q = NULL;
	json_t *text = NULL;
	int err = qmp_open(path, qmp_patience_ms(timeout_ns), &q);

	if (err)
		return err == -ENOENT || err == -ECONNREFUSED ? -EAGAIN : err;
	err = qmp_execute(q, "human-monitor-command",
			  json_pack("{s:s}", "command-line", "info registers"), &text);
	if (!err)
		err = qmp_space_parse(json_is_string(text) ? json_string_value(text) : "", ret);
	json_decref(text);
	return err;
}
