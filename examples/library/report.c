// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints the rows of a report: cc report.c $(pkg-config --cflags --libs libhostrace); ./a.out vm.hrt exits --by vcpu */
#include <hostrace.h>
#include <inttypes.h>
#include <stdio.h>

static void value_print(const struct hostrace_value *v)
{
	if (v->kind == HOSTRACE_VALUE_NONE)
		printf("-");
	else if (v->kind == HOSTRACE_VALUE_REAL)
		printf("%g", v->real);
	else if (v->text)
		printf("%s", v->text);
	else
		printf("%" PRId64, v->integer);
}

int main(int argc, char **argv)
{
	struct hostrace_report *r = NULL;

	if (argc < 3)
		fprintf(stderr, "usage: report FILE NAME [OPTION...]\n");
	else if (!(r = hostrace_report_run(argv[1], argv[2], (const char *const *)argv + 3)))
		fprintf(stderr, "%s\n", hostrace_error());
	if (!r)
		return 1;
	for (uint64_t row = 0; row < hostrace_report_rows(r); row++)
		for (uint32_t i = 0; i < hostrace_report_columns(r); i++) {
			printf("%s%s=", i ? " " : "", hostrace_report_column(r, i)->name);
			value_print(hostrace_report_value(r, row, i));
			printf("%s", i + 1 < hostrace_report_columns(r) ? "" : "\n");
		}
	for (uint32_t i = 0; hostrace_report_note(r, i); i++)
		fprintf(stderr, "note: %s\n", hostrace_report_note(r, i));
	hostrace_report_close(r);
	return 0;
}
