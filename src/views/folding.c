// SPDX-License-Identifier: GPL-2.0-or-later
/* A view as the receiver of spans that pairing/ knows: its states are struct folding. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "views/view.h"

static void close_folding(void *state)
{
	struct folding *f = state;

	f->view->close(f);
	free(f);
}

static int open_folding(void *arg, void **ret_state)
{
	const struct folding *template = arg;
	struct folding *f = malloc(sizeof(*f));
	int err;

	if (!f)
		return fail(-ENOMEM, "out of memory");
	*f = *template;
	err = f->view->open(f);
	if (err)
		close_folding(f);
	else
		*ret_state = f;
	return err;
}

static int add_span(void *state, const struct span *s)
{
	struct folding *f = state;

	return f->view->span(f, s);
}

static int add_spans(void *state, const struct spans *s)
{
	struct folding *f = state;

	return f->view->spans(f->state, s);
}

static int merge_foldings(void *state, void *other)
{
	struct folding *f = state;

	return f->view->merge(f->state, ((struct folding *)other)->state);
}

struct span_fold folding_fold(const struct folding *f)
{
	return (struct span_fold){.arg = (void *)f,
				  .open = open_folding,
				  .close = close_folding,
				  .span = add_span,
				  .spans = f->view->spans ? add_spans : NULL,
				  .merge = f->view->merge ? merge_foldings : NULL,
				  .wants_ends = f->view->wants_ends};
}
