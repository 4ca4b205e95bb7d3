// SPDX-License-Identifier: GPL-2.0-or-later
#include "trigger/expression.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "base/units.h"

static const char REQUEST_AGE[] = "request-age", VM_END[] = "vm-end";

/* Points and accesses have no duration. */
static bool has_duration(const struct analyzer *a)
{
	return (a->end || a->duration) && !a->access;
}

static int unknown(const char *name)
{
	struct suggestion s = {0};

	suggest_try(&s, name, REQUEST_AGE);
	suggest_try(&s, name, VM_END);
	for (const struct analyzer *const *a = analyzers; *a; a++)
		if (has_duration(*a))
			suggest_try(&s, name, (*a)->name);
	fail_usage(-EINVAL, "--trigger: unknown condition '%s'", name);
	return suggest_hint(-EINVAL, &s);
}

/* NULL: there is none. */
static const struct analyzer *analyzer_named(const char *name)
{
	if (!strcmp(name, REQUEST_AGE))
		name = "virtqueue";
	for (const struct analyzer *const *a = analyzers; *a; a++)
		if (has_duration(*a) && !strcmp((*a)->name, name))
			return *a;
	return NULL;
}

bool trigger_is_name(const char *name)
{
	return !strcmp(name, VM_END) || analyzer_named(name);
}

/* Without the spaces around it. */
static int name_copy(const char *text, size_t len, char ret[TRIGGER_NAME_MAX])
{
	while (len && isspace((unsigned char)*text))
		text++, len--;
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	if (!len || len >= TRIGGER_NAME_MAX)
		return fail_usage(-EINVAL, "--trigger: no condition has the name '%.*s'", (int)len,
				  text);
	memcpy(ret, text, len);
	ret[len] = 0;
	return 0;
}

int trigger_parse(const char *text, struct trigger_expression *ret)
{
	size_t len = strcspn(text, ">");
	const char *limit = text[len] ? text + len + 1 : NULL;
	int err;

	*ret = (struct trigger_expression){0};
	err = name_copy(text, len, ret->name);
	if (err)
		return err;
	if (!strcmp(ret->name, VM_END))
		return limit ? fail_usage(-EINVAL, "--trigger: vm-end takes no duration") : 0;
	ret->analyzer = analyzer_named(ret->name);
	if (!ret->analyzer)
		return unknown(ret->name);
	while (limit && isspace((unsigned char)*limit))
		limit++;
	if (!limit || parse_duration(limit, &ret->min_ns) || !ret->min_ns)
		return fail_usage(-EINVAL,
				  "invalid --trigger '%s' (expected %s>DURATION, e.g. '%s>10ms')",
				  text, ret->name, ret->name);
	return 0;
}
