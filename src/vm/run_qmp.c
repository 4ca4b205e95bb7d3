// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <jansson.h>

#include "base/error.h"
#include "vm/qmp.h"
#include "vm/run_qmp.h"

static int running_ask(struct qmp *q, const char *path, bool *ret)
{
	json_t *status = NULL, *running;
	int err = qmp_execute(q, "query-status", NULL, &status);

	running = json_object_get(status, "running");
	*ret = json_is_true(running);
	if (!err && !json_is_boolean(running))
		err = fail(-EPROTO, "%s: invalid reply to query-status", path);
	json_decref(status);
	return err;
}

int qmp_running(const char *path, uint64_t timeout_ns, bool *ret)
{
	_cleanup_(qmp_cleanup_) struct qmp *q = NULL;
	int err = qmp_open(path, qmp_patience_ms(timeout_ns), &q);

	return err ? err : running_ask(q, path, ret);
}

int qmp_continue(const char *path, uint64_t timeout_ns)
{
	_cleanup_(qmp_cleanup_) struct qmp *q = NULL;
	int err = qmp_open(path, qmp_patience_ms(timeout_ns), &q);
	json_t *nothing = NULL;
	bool runs = false;

	if (!err)
		err = qmp_execute(q, "cont", NULL, &nothing);
	json_decref(nothing);
	if (!err)
		err = running_ask(q, path, &runs);
	return err || runs ? err : fail(-EIO, "%s: 'cont' did not continue the VM", path);
}
