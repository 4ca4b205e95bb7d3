// SPDX-License-Identifier: GPL-2.0-or-later
/* From a command's options to a query, its report, and the format that is written; with the exit status. */
#include <errno.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/symbol_options.h"

int query_run(const struct report_ops *ops, struct query *query, const char *names, bool check)
{
	_cleanup_(addresses_cleanup_) struct addresses *symbols = NULL;
	_cleanup_input_set_ struct input_set *in = NULL;
	struct result r;
	struct output out;
	int err, status;

	query->command = command_now->name;
	query->input = &input_given;
	query->inputs = input_make;
	query->out = &out;
	err = result_init(&r, ops, query);
	if (!err)
		err = output_open(names, &out);
	if (err) {
		result_close(&r);
		return command_failed();
	}
	if (ops->symbols)
		err = addresses_given(&symbols);
	if (ops->symbols)
		query->symbols = symbols;
	if (!err)
		err = input_make(r.reads & READ_GUESTS, &in);
	if (!err)
		err = report_run(&r, in);
	if (!err)
		err = result_write(&r, &out);
	if (!err)
		addresses_unused_note(query->symbols);
	status = output_end(err, &out,
			    !err && ((check && r.found) || input_set_strict_failed(in)));
	if (!err && check && r.not_checked) { /* a check that looked at too little has not passed */
		fail(-ENODATA, "%s", r.not_checked);
		status = command_failed();
	}
	result_close(&r);
	return status;
}

int query_fold(const struct report_ops *ops, const void *of, FILE *f)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct query query = {.command = command_now->name, .input = &input_given, .of = of};
	struct result r;
	int err = result_init(&r, ops, &query);

	if (!err)
		err = input_make(false, &in);
	if (!err)
		err = report_run(&r, in);
	if (!err)
		err = result_write(&r, &(struct output){.file = f, .format = "folded"});
	result_close(&r);
	return err;
}

int report_command_run(int argc, char **argv)
{
	const struct command *c = command_now;

	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	input_given.allow_ticks = c->ticks;
	input_given.allow_order = c->order;
	return query_run(c->report, &(struct query){.of = c->query}, c->formats,
			 c->exit_found && *c->exit_found);
}
