// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/common/command.h"
#include "commands/common/empty.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"

struct report report_of(const struct input_set *in, const struct output *out)
{
	return (struct report){.reader = in->reader,
			       .out = out,
			       .ticks = trace_info_in_ticks(&in->reader->info),
			       .wide = out->wide,
			       .inputs = in,
			       .head = input_head,
			       .foot = input_foot,
			       .note = command_note,
			       .empty = empty_explain};
}

int report_end(int err, struct output *out, const struct input_set *in, bool found)
{
	if (err)
		output_cancel(out);
	else
		err = output_close(out);
	if (err)
		return command_failed();
	return found || input_set_strict_failed(in) ? EXIT_FOUND : EXIT_FINE;
}
