// SPDX-License-Identifier: GPL-2.0-or-later
/* What all sources of samples share: their types and the addresses of backtraces. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/sample.h"

int sample_trace_init(struct sample_trace *t, const char *file, const char *kind,
		      const struct sample_ops *ops)
{
	*t = (struct sample_trace){.file = strdup(file), .kind = kind, .ops = ops};
	return t->file ? 0 : fail(-ENOMEM, "%s: out of memory", file);
}

void sample_trace_deinit(struct sample_trace *t)
{
	for (unsigned int i = 0; i < t->nr_types; i++) {
		free(t->types[i].name);
		free(t->types[i].signature);
		free(t->types[i].format);
	}
	free(t->types);
	free(t->module);
	free((void *)t->file);
}

void sample_trace_close(struct sample_trace *t)
{
	if (t)
		t->ops->close(t);
}

int sample_type_add(struct sample_trace *t, uint64_t key, char *name, char *signature, char *format)
{
	unsigned int n = t->nr_types;

	if (!name || !signature || !format || n == SAMPLE_TYPES_MAX) {
		free(name);
		free(signature);
		free(format);
		return n == SAMPLE_TYPES_MAX ? fail(-E2BIG, "more than %u tracepoints", n)
					     : fail(-ENOMEM, "out of memory");
	}
	if (array_room(t->types, n))
		return -ENOMEM;
	struct sample_arg_place place[SAMPLE_ARGS_MAX];
	size_t size;
	bool fixed = sample_args_layout(signature, place, &size) >= 0;

	t->types[n] = (struct sample_type){.key = key,
					   .name = name,
					   .format = format,
					   .signature = signature,
					   .index = n,
					   .args_size = fixed ? (int)size : -1};
	t->nr_types++;
	return 0;
}

bool sample_type_is(const struct sample_type *tp, const char *name)
{
	const struct sample_kind *kind = tp->kind;

	return !strcmp(tp->name, name) || (kind && ((kind->event && !strcmp(kind->event, name)) ||
						    (kind->base && !strcmp(kind->base, name)) ||
						    (kind->all && !strcmp(kind->all, name))));
}

void sample_rewind(struct sample_trace *t)
{
	t->ops->rewind(t);
	t->nr_read = 0;
}

unsigned int sample_function(const struct sample *s, uint64_t ret[2])
{
	const struct sample_kind *kind = s->tp->kind;
	unsigned int nr = 0;

	if (!kind || !kind->function)
		return 0;
	for (; nr < 2 && s->args_len >= 8 * (nr + 1); nr++) {
		memcpy(&ret[nr], s->args + (size_t)8 * nr, 8);
		ret[nr] -= nr; /* where it is called, not where the call returns to */
	}
	return nr;
}

unsigned int sample_backtrace(const struct sample *s, uint64_t *ret, unsigned int max)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < s->nr_backtrace && nr < max; i++) {
		uint64_t address;

		memcpy(&address, s->backtrace + 8 * i, 8);
		if (address)
			ret[nr++] = address - 1;
	}
	return nr;
}
