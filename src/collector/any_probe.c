// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The values of a probe become the fields of its event: each has a word of the record, of which a field is the first
 * bytes (x86 is little-endian), so that programs copy words and need not know types.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/suggest.h"
#include "collector/any_probe.h"

enum { WORD = 8, HEAD = sizeof(struct record_hdr) };

void nearest_try(struct nearest *n, const char *name)
{
	unsigned int distance = suggest_distance(n->word, name), at = n->nr;

	if (distance > strlen(n->word) / 3)
		return;
	while (at && n->of[at - 1].distance > distance)
		at--;
	if (at == NEAREST_MAX)
		return;
	n->nr += n->nr < NEAREST_MAX;
	memmove(&n->of[at + 1], &n->of[at], (n->nr - at - 1) * sizeof(n->of[0]));
	n->of[at].distance = distance;
	snprintf(n->of[at].name, sizeof(n->of[at].name), "%s", name);
}

const char *nearest_print(const struct nearest *n, char *buf, size_t size)
{
	size_t len = 0;

	*buf = '\0';
	for (unsigned int i = 0; i < n->nr && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s'%s'",
					i ? ", " : "; the nearest: ", n->of[i].name);
	return buf;
}

/* ---- which are recorded ---- */

struct chosen {
	struct field field[ANY_ARGS_MAX];
	char name[ANY_ARGS_MAX][PROBE_NAME_MAX];
	unsigned int nr;
};

static int value_add(struct any_event *e, struct chosen *c, const char *name,
		     const struct probe_value *v)
{
	if (c->nr == ANY_ARGS_MAX)
		return fail_usage(-E2BIG, "%s: at most %d values can be recorded: name them",
				  e->name, ANY_ARGS_MAX);
	if (array_any(c->nr, i, !strcmp(c->name[i], name)))
		return fail_usage(-EINVAL, "%s: two values are named '%s'", e->name, name);
	snprintf(c->name[c->nr], sizeof(c->name[0]), "%s", name);
	c->field[c->nr] = (struct field){.name = c->name[c->nr],
					 .fmt = v->fmt,
					 .doc = "",
					 .kind = v->kind,
					 .offset = (uint16_t)(HEAD + WORD * c->nr),
					 .size = v->size};
	e->settings.source[c->nr++] = v->source;
	return 0;
}

/* "arg3": 3. */
static bool is_numbered(const char *name, unsigned long *ret)
{
	char *end;

	if (strncmp(name, "arg", 3) || name[3] < '0' || name[3] > '9')
		return false;
	*ret = strtoul(name + 3, &end, 10);
	return !*end;
}

static const struct probe_value *value_find(const struct probe_values *v, const char *name)
{
	const struct probe_value *found =
		array_find(v->arg, v->nr_args, i, !strcmp(v->arg[i].name, name));
	unsigned long nr;

	if (!found && is_numbered(name, &nr) && nr < v->nr_args)
		found = &v->arg[nr];
	return !found && v->has_ret && !strcmp(name, "ret") ? &v->ret : found;
}

static bool is_name(const char *name)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return len && !name[len] && len < PROBE_NAME_MAX && (*name < '0' || *name > '9');
}

/* "NAME=ARGUMENT" or "ARGUMENT" */
static int word_choose(struct any_event *e, struct chosen *c, const struct probe_values *values,
		       char *word)
{
	char *equals = strchr(word, '=');
	const char *source = equals ? equals + 1 : word;
	const struct probe_value *v = value_find(values, source);

	if (equals)
		*equals = '\0';
	if (!v)
		return fail_usage(-EINVAL, "%s has no argument '%s': %s", e->name, source,
				  values->signature);
	if (v->why_not)
		return fail_usage(-EINVAL, "%s: argument '%s' cannot be recorded (%s): %s", e->name,
				  source, v->why_not, values->signature);
	if (!is_name(word))
		return fail_usage(-EINVAL, "%s: '%s' is not a name for a value", e->name, word);
	return value_add(e, c, word, v);
}

static void omission_note(struct any_event *e, const struct probe_value *v)
{
	size_t len = strlen(e->note);

	snprintf(e->note + len, sizeof(e->note) - len, "%s'%s' is not recorded: %s",
		 len ? "; " : "", v->name, v->why_not);
}

static int choose_all(struct any_event *e, struct chosen *c, const struct probe_values *values)
{
	int err = 0;

	for (unsigned int i = 0; i < values->nr_args && !err; i++)
		if (values->arg[i].why_not)
			omission_note(e, &values->arg[i]);
		else
			err = value_add(e, c, values->arg[i].name, &values->arg[i]);
	if (!err && values->has_ret && values->ret.why_not)
		omission_note(e, &values->ret);
	else if (!err && values->has_ret)
		err = value_add(e, c, "ret", &values->ret);
	return err;
}

int probe_choose(struct any_event *e, const struct probe_values *values, const char *words)
{
	_cleanup_free_ char *copy = strdup(words);
	struct chosen c = {.nr = 0};
	char *save = NULL;
	int err = copy ? 0 : fail(-ENOMEM, "out of memory");

	for (char *word = copy ? strtok_r(copy, " \t", &save) : NULL; word && !err;
	     word = strtok_r(NULL, " \t", &save))
		err = word_choose(e, &c, values, word);
	if (!err && !c.nr)
		err = choose_all(e, &c, values);
	if (err)
		return err;
	e->settings.nr = c.nr;
	e->settings.bytes = HEAD + WORD * c.nr;
	e->format = (struct ftrace_format){0};
	return event_type_register(&(struct event_type){.name = e->name,
							.doc = values->signature,
							.fields = c.field,
							.nr_fields = (uint16_t)c.nr,
							.size = (uint16_t)e->settings.bytes},
				   &e->format.type);
}
