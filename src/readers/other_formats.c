// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What other tools write and no reader reads, recognized to say what it is and how to get what is read: tables of
 * counts, which have no times and no threads (tool_table.h), and traces that another program prints as text.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "readers/readers.h"
#include "readers/text/tool_table.h"

struct other_format {
	const char *mark; /* in the first bytes of the file */
	const char *what, *instead;
};

static const char ctf_instead[] = "record with trace-cmd or perf, or convert it to text of tracefs";

static const struct other_format formats[] = {
	{"\xc1\x1f\xfc\xc1", "a stream of a CTF trace (LTTng)", ctf_instead},
	{"/* CTF 1.8 */", "the metadata of a CTF trace (LTTng)", ctf_instead},
	{"] (+0.", "an LTTng trace as babeltrace2 prints it", ctf_instead},
	{"] (+?.", "an LTTng trace as babeltrace2 prints it", ctf_instead},
	{"linux.ftrace", "a trace of Perfetto",
	 "convert it to text: traceconv systrace FILE | hostrace info -i -"},
};

int other_format_refuse(const char *path, const uint8_t *head, size_t len)
{
	const char *tool = tool_table_probe((const char *)head, len);

	if (tool)
		return fail_hint(fail(-EMEDIUMTYPE,
				      "%s is a table of %s, not a trace: it has no times and no "
				      "threads",
				      path, tool),
				 "show its counts: hostrace exits %s; or record the events: "
				 "hostrace record --vm PID, trace-cmd record -e kvm, or perf "
				 "record -a -e 'kvm:*'",
				 path);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		const struct other_format *f = &formats[i];

		if (memmem(head, len, f->mark, strlen(f->mark)))
			return fail_hint(fail(-EINVAL, "%s is %s, which cannot be read", path,
					      f->what),
					 "%s", f->instead);
	}
	return 0;
}

bool directory_holds(const char *directory, const char *name)
{
	_cleanup_free_ char *path = NULL;

	return asprintf(&path, "%s/%s", directory, name) >= 0 && !access(path, F_OK);
}

int other_directory_refuse(const char *path)
{
	if (directory_holds(path, "metadata"))
		return fail_hint(fail(-EINVAL, "%s is a CTF trace (LTTng), which cannot be read",
				      path),
				 "%s", ctf_instead);
	return 0;
}
