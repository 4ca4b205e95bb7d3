// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "pairing/pair.h"

/* Keys that only together with the VM identify one thing: two VMs both have vCPU 0, and devices of the same name. */
static const char *const of_a_vm[] = {"vcpu", "device"};

/* Keys that imply the VM. */
static const char *const tell_vm[] = {"vm", "pid", "tid"};

static bool has_any(const char *list, const char *const *key, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (name_in_list(list, key[i]))
			return true;
	return false;
}

static unsigned int nr_keys(const char *list)
{
	unsigned int nr = list && *list;

	for (const char *p = list ? list : ""; *p; p++)
		nr += *p == ',';
	return nr;
}

const char *pairing_by_vm(const struct analyzer *a, const char *by, bool always, char *buf,
			  size_t size)
{
	bool replace = by && *by == '=';
	const char *given = by ? by + replace : NULL, *own = replace ? NULL : a->by;
	bool needed = always || has_any(given, of_a_vm, 2) || has_any(own, of_a_vm, 2);

	if (!needed || has_any(given, tell_vm, 3) || has_any(own, tell_vm, 3) ||
	    nr_keys(given) + nr_keys(own) >= LABELS_MAX)
		return by;
	snprintf(buf, size, "%svm%s%s", replace ? "=" : "", given && *given ? "," : "",
		 given ? given : "");
	return buf;
}
