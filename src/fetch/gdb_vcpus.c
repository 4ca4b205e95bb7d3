// SPDX-License-Identifier: GPL-2.0-or-later
/* The registers of a stopped guest's vCPUs, which the gdb stub calls threads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fetch/gdb.h"
#include "fetch/gdb_internal.h"

/* In the reply to g, by QEMU's description of the registers (i386-64bit.xml). */
enum { FS_BASE_OFFSET = 164 };

/* "m1,2,3" and further "m..." until "l"; ids may be "pPID.TID". */
static int thread_ids(struct gdb *g, char (*ids)[32], unsigned int *ret_nr)
{
	const char *reply = gdb_answer(g)->data;
	int err = gdb_ask(g, "qfThreadInfo");

	*ret_nr = 0;
	while (!err && *reply == 'm' && *ret_nr < GDB_VCPUS_MAX) {
		for (const char *p = reply + 1; *p; p += strcspn(p, ","), p += *p == ',') {
			if (*ret_nr == GDB_VCPUS_MAX)
				break;
			snprintf(ids[(*ret_nr)++], sizeof(*ids), "%.*s", (int)strcspn(p, ","), p);
		}
		err = gdb_ask(g, "qsThreadInfo");
	}
	return err;
}

static int registers_read(struct gdb *g, const char *id, struct gdb_vcpu *ret)
{
	const struct gdb_parser *reply = gdb_answer(g);
	uint8_t bytes[FS_BASE_OFFSET + 8];
	size_t len;
	char text[48];
	int err;

	snprintf(text, sizeof(text), "Hg%s", id);
	err = gdb_ask(g, text);
	if (!err)
		err = gdb_ask(g, "g");
	if (err)
		return err;
	len = reply->len / 2 < sizeof(bytes) ? sizeof(ret->reg) : sizeof(bytes);
	if (reply->len < 2 * len || !gdb_hex_bytes(reply->data, 2 * len, bytes, len))
		return fail(-EPROTO, "%s: the registers are not those of an x86-64 CPU",
			    gdb_target(g));
	memcpy(ret->reg, bytes, sizeof(ret->reg));
	if (len == sizeof(bytes))
		memcpy(&ret->fs_base, bytes + FS_BASE_OFFSET, 8);
	return 0;
}

int gdb_vcpus(struct gdb *g, struct gdb_vcpu **ret, unsigned int *ret_nr)
{
	char (*ids)[32] = calloc(GDB_VCPUS_MAX, sizeof(*ids));
	struct gdb_vcpu *v = NULL;
	unsigned int nr = 0;
	int err = ids ? thread_ids(g, ids, &nr) : fail(-ENOMEM, "out of memory");

	if (!err && !(v = calloc(nr + 1u, sizeof(*v))))
		err = fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < nr && !err; i++)
		err = registers_read(g, ids[i], &v[i]);
	if (!err && nr)
		err = gdb_ask(g, "Hg0");
	free(ids);
	if (err) {
		free(v);
		return err;
	}
	*ret = v;
	*ret_nr = nr;
	return 0;
}
