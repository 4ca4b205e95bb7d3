// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace virtio --state: each device's queues with the guest's and the device's indices. */

#include "base/error.h"
#include "base/json_text.h"
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/common/vm_options.h"
#include "commands/virtio_state.h"
#include "output/report.h"
#include "output/virtq_list.h"
#include "vm/vm.h"

static void draw_json(const struct virtq_list *list, pid_t pid, json_t *caveats, FILE *f)
{
	json_t *all = json_pack("{s:{s:s,s:s}, s:[], s:{}, s:O, s:o}", "hostrace", "version",
				HOSTRACE_VERSION, "command", "virtio", "inputs", "clock", "caveats",
				caveats, "rows", virtq_list_json(list, pid));

	json_text_put(all, f, JSON_INDENT(1));
	fputc('\n', f);
	json_decref(all);
}

static int draw_table(const struct virtq_list *list, bool qmp, json_t *caveats,
		      const struct output *out)
{
	struct report report = {
		.out = out, .wide = out->wide, .foot = caveats_print, .note = command_note,
		.caveats = caveats};
	struct table t = {0};
	int err = virtq_list_table(list, qmp, strcmp(out->format, "text"), &t);

	if (!err)
		return report_table(&report, &t, NULL);
	table_free(&t);
	return err;
}

int virtio_state_run(const char *name, const char *socket)
{
	struct virtq_list list = {0};
	struct vm vm = {0};
	struct output out;

	if (output_open("text json csv", &out))
		return command_failed();
	int err = vm_find_given(name, &vm);

	if (!err)
		err = virtq_list_read(&vm, socket, &list);
	if (!err) {
		json_t *caveats = json_array();

		virtq_list_caveats(&list, vm.pid, caveats);
		if (!strcmp(out.format, "json"))
			draw_json(&list, vm.pid, caveats, out.file);
		else
			err = draw_table(&list, socket != NULL, caveats, &out);
		json_decref(caveats);
	}
	vm_free(&vm);
	virtq_list_free(&list);
	return output_end(err, &out, false);
}
