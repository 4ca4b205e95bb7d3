// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/common/reading.h"
#include "commands/common/reports.h"

struct report report_of(const struct reader *r, const struct output *out)
{
	return (struct report){.reader = r,
			       .out = out,
			       .wide = common.verbose,
			       .head = reading_head,
			       .foot = reading_foot};
}

int report_end(int err, struct output *out, const struct reader *r, bool found)
{
	if (err)
		output_cancel(out);
	else
		err = output_close(out);
	if (err)
		return command_failed();
	return found || reading_strict_failed(r) ? EXIT_FOUND : EXIT_FINE;
}
