// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the keys and values of maps of bpftrace, and of histogram triggers, are. bpftrace prints neither, so it is taken
 * from the names that people give their maps:
 *
 *	@exits[12]: 345             exit reasons; counts
 *	@avg_us[12]: 3              a map that is named by figures may have exit reasons as keys, if all numbers are
 *	@us[HLT]: count 2, ...      one and there is one that is frequent; averages in microseconds
 *	@start[4711]: 123456        neither
 *
 * Several maps of exit reasons are columns of one table, unless two have the same figure. Whose numbers exit reasons
 * are is seen from the largest: those of SVM are large.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/saturate.h"
#include "event/exit_reason.h"
#include "readers/text/tool_line.h"

enum {
	MAPS_MAX = 32,
	MAP_NAME_BYTES = 64,
	VMX_LAST = 77, ENTRY_FAILED = 1u << 31, /* a flag of a reason (SDM vol. 3, 25.9.1) */
	PARTS_MAX = 4,
	BESIDE_ROWS_MAX = 512 /* whose keys are compared, each with each */
};

enum map_figure {
	FIGURE_COUNT,
	FIGURE_MEAN,
	FIGURE_TOTAL,
	FIGURE_MIN,
	FIGURE_MAX,
	FIGURE_VALUE,
	NR_FIGURES
};

struct map {
	char name[MAP_NAME_BYTES];
	enum map_figure figure; /* of its plain numbers */
	double unit_ns;		/* 0: its name has none */
	bool sure, maybe[2];	/* are its keys exit reasons? By its name; by its numbers, of VMX and of SVM */
	bool large;		/* there are numbers that VMX does not have */
	bool other;		/* its name says that its keys are others */
	unsigned int part;	/* of keys such as "4711, 12", which is the exit reason */
};

struct maps {
	struct map map[MAPS_MAX];
	unsigned int nr;
	uint32_t isa; /* of numbers */
	bool has_counts[ROW_OF_OTHER + 1]; /* rows of this have counts of a map that counts */
	bool has_known;			   /* there are rows of exit reasons or events */
	const struct map *owner[ROW_OF_OTHER + 1][NR_FIGURES];
};

/* ---- names of maps ---- */

/* "ns", "usecs", "milliseconds": in ns. 0: no unit. */
static double word_unit(const char *word)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"nsec", 1}, {"nsecs", 1}, {"nanoseconds", 1},
		     {"us", 1e3}, {"usec", 1e3}, {"usecs", 1e3}, {"microseconds", 1e3},
		     {"ms", 1e6}, {"msec", 1e6}, {"msecs", 1e6}, {"milliseconds", 1e6},
		     {"sec", 1e9}, {"secs", 1e9}, {"seconds", 1e9}};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcasecmp(word, units[i].name))
			return units[i].ns;
	return 0;
}

static const char *const mean_words[] = {"avg", "average", "mean", NULL};
static const char *const total_words[] = {"sum", "total", NULL};
static const char *const max_words[] = {"max", NULL};
static const char *const min_words[] = {"min", NULL};
static const char *const value_words[] = {"lat",       "latency", "latencies", "dur",	"duration",
					  "durations", "time",	  "times",     "bytes", "size",
					  "start",     "begin",	  "ts",	       NULL};
static const char *const count_words[] = {"n", "nr",   "num", "cnt",   "count", "counts",
					  "h", "hist", "s",   "stats", NULL};
/* What numbers are keys of that are small, too. */
static const char *const key_words[] = {"cpu", "vcpu",	 "pid",	  "tid",   "tgid",  "irq",
					"vec", "vector", "gsi",	  "start", "begin", "ts",
					"ret", "err",	 "level", "node",  NULL};

static bool is_word(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcasecmp(word, *list))
			return true;
	return false;
}

/* What the plain numbers of a map are, by the words of its name: `has`, by figure. */
static enum map_figure figure_of(const bool *has, bool has_unit)
{
	for (enum map_figure f = FIGURE_MEAN; f <= FIGURE_MAX; f++)
		if (has[f] && has_unit)
			return f;
	if (has_unit || has[FIGURE_VALUE])
		return FIGURE_VALUE;
	for (enum map_figure f = FIGURE_MEAN; f <= FIGURE_MAX; f++)
		if (has[f] && !has[FIGURE_COUNT])
			return FIGURE_VALUE;
	return FIGURE_COUNT;
}

static void map_name_parse(struct map *m)
{
	bool has[NR_FIGURES] = {false}, other = false;
	char text[MAP_NAME_BYTES];

	memcpy(text, m->name, sizeof(text));
	for (char *next = text, *word; (word = strsep(&next, "@_."));) {
		double unit = word_unit(word);

		m->unit_ns = unit > 0 ? unit : m->unit_ns;
		has[FIGURE_MEAN] |= is_word(word, mean_words);
		has[FIGURE_TOTAL] |= is_word(word, total_words);
		has[FIGURE_MAX] |= is_word(word, max_words);
		has[FIGURE_MIN] |= is_word(word, min_words);
		has[FIGURE_VALUE] |= is_word(word, value_words);
		m->sure |= strcasestr(word, "exit") || strcasestr(word, "reason");
		has[FIGURE_COUNT] |= is_word(word, count_words) || strcasestr(word, "exit");
		m->other |= is_word(word, key_words);
		other |= *word && !(unit > 0) && !is_word(word, mean_words) &&
			 !is_word(word, total_words) && !is_word(word, max_words) &&
			 !is_word(word, min_words) && !is_word(word, value_words) &&
			 !is_word(word, count_words);
	}
	m->maybe[0] = m->maybe[1] = !m->other && (!other || m->unit_ns > 0);
	m->figure = figure_of(has, m->unit_ns > 0);
}

/* ---- keys ---- */

static const char field[] = "{exit_reason: ";

/* A row's name, in parts. */
struct key {
	const char *map; /* its name, or "{exit_reason: " */
	int map_len;
	const char *text; /* ends before `end` */
	int len;
	bool is_number;
	uint32_t number;
};

static struct key key_split(const char *name)
{
	size_t prefix = sizeof(field) - 1, len = strlen(name);
	const char *open = strchr(name, '[');
	struct key k = {name, (int)strcspn(name, "["), name, (int)len, false, 0};

	if (!strncmp(name, field, prefix) && !strchr(name, ',')) {
		k = (struct key){name, (int)prefix, name + prefix, (int)(len - prefix), false, 0};
	} else if (*name == '{') {
		k = (struct key){name, 1, name + 1, (int)len - 1, false, 0};
	} else if (open && name[len - 1] == ']') {
		k.text = open + 1;
		k.len = (int)(name + len - 1 - k.text);
	}
	return k;
}

/* The part of a key that may be an exit reason: "12" of "4711, 12". */
static struct key key_part(struct key k, unsigned int part)
{
	const char *end = k.text + k.len, *comma;
	char *number_end;

	for (; part && (comma = memchr(k.text, ',', (size_t)(end - k.text))); part--)
		k.text = comma + 1 + strspn(comma + 1, " ");
	comma = memchr(k.text, ',', (size_t)(end - k.text));
	k.len = (int)((comma ? comma : end) - k.text);
	k.number = (uint32_t)strtoul(k.text, &number_end, 0);
	k.is_number = !part && k.len && number_end == k.text + k.len;
	return k;
}

static bool is_of_map(const struct tool_row *row)
{
	return row->of == ROW_OF_OTHER && strchr("@{", *row->name);
}

/* That of a key, a new one if there is none; NULL: there are too many. */
static struct map *map_of(struct maps *maps, const struct key *k)
{
	char name[MAP_NAME_BYTES];

	snprintf(name, sizeof(name), "%.*s", k->map_len, k->map);
	for (unsigned int i = 0; i < maps->nr; i++)
		if (!strcmp(maps->map[i].name, name))
			return &maps->map[i];
	if (maps->nr == MAPS_MAX)
		return NULL;
	struct map *m = &maps->map[maps->nr++];

	memcpy(m->name, name, sizeof(name));
	map_name_parse(m);
	return m;
}

/* Reasons that every trace has; reason 1 of VMX may be a CPU. */
static bool is_usual(uint32_t reason, uint32_t isa)
{
	static const uint32_t vmx[] = {12, 30, 31, 32, 48, 49},
			      svm[] = {0x60, 0x78, 0x7b, 0x7c, 0x400};

	return isa == EXIT_ISA_VMX ? array_any(sizeof(vmx) / sizeof(*vmx), i, vmx[i] == reason)
				   : array_any(sizeof(svm) / sizeof(*svm), i, svm[i] == reason);
}

/* Numbers of CPUs are no reasons: 2 to 6 are triple faults and signals between CPUs, which do not happen. */
static bool is_odd(uint32_t reason, uint32_t isa)
{
	return !exit_reason_name(reason, isa) ||
	       (isa == EXIT_ISA_VMX && reason >= 2 && reason <= 6);
}

/* What the numbers of one part of a map's keys can be, of VMX and of SVM. Returns whether there is one. */
static bool part_judge(struct map *m, struct maps *maps, const struct tool_row *row, size_t nr,
		       bool ret_can[2])
{
	static const uint32_t isas[] = {EXIT_ISA_VMX, EXIT_ISA_SVM};
	bool usual[2] = {false}, odd[2] = {false}, any = false;

	m->large = false;
	for (size_t i = 0; i < nr; i++) {
		struct key k = key_split(row[i].name);

		if (!is_of_map(&row[i]) || map_of(maps, &k) != m)
			continue;
		k = key_part(k, m->part);
		if (!k.is_number)
			continue;
		any = true;
		m->large |= (k.number & ~ENTRY_FAILED) > VMX_LAST;
		for (unsigned int a = 0; a < 2; a++) {
			odd[a] |= is_odd(k.number, isas[a]);
			usual[a] |= is_usual(k.number, isas[a]);
		}
	}
	for (unsigned int a = 0; a < 2; a++)
		ret_can[a] = usual[a] && !odd[a];
	return any;
}

/* Which part of a map's keys is an exit reason? Of several, the only one whose numbers can be some. */
static void map_judge(struct map *m, struct maps *maps, const struct tool_row *row, size_t nr,
		      bool has_parts)
{
	unsigned int found = 0, nr_found = 0;
	bool can[2], any;

	for (m->part = 0; has_parts && m->part < PARTS_MAX; m->part++) {
		any = part_judge(m, maps, row, nr, can) && (can[0] || can[1]);
		found = any ? m->part : found;
		nr_found += any;
	}
	m->part = found;
	any = part_judge(m, maps, row, nr, can) && (!has_parts || nr_found == 1);
	m->sure &= any;
	m->maybe[0] &= any && can[0];
	m->maybe[1] &= any && can[1];
}

static bool map_has_parts(struct maps *maps, const struct map *m, const struct tool_row *row,
			  size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct key k = key_split(row[i].name);

		if (*row[i].name == '@' && is_of_map(&row[i]) && map_of(maps, &k) == m)
			return memchr(k.text, ',', (size_t)k.len);
	}
	return false;
}

static bool map_has(struct maps *maps, const struct map *m, uint32_t number,
		    const struct tool_row *row, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct key k = key_split(row[i].name);

		if (!is_of_map(&row[i]) || map_of(maps, &k) != m)
			continue;
		k = key_part(k, m->part);
		if (k.is_number && k.number == number)
			return true;
	}
	return false;
}

/* "@exits[12]" and "@handle_us[12]": has it no keys but those of a map of exit reasons? */
static bool is_beside(struct maps *maps, const struct map *m, const struct map *sure,
		      const struct tool_row *row, size_t nr)
{
	bool any = false;

	for (size_t i = 0; i < nr; i++) {
		struct key k = key_split(row[i].name);

		if (!is_of_map(&row[i]) || map_of(maps, &k) != m)
			continue;
		k = key_part(k, m->part);
		if (!k.is_number || !map_has(maps, sure, k.number, row, nr))
			return false;
		any = true;
	}
	return any;
}

static void maps_beside(struct maps *maps, const struct tool_row *row, size_t nr)
{
	struct map *sure = NULL;

	for (unsigned int i = 0; i < maps->nr; i++)
		sure = maps->map[i].sure ? &maps->map[i] : sure;
	for (unsigned int i = 0; i < maps->nr && sure && nr <= BESIDE_ROWS_MAX; i++)
		maps->map[i].sure |= !maps->map[i].sure && !maps->map[i].other &&
				     is_beside(maps, &maps->map[i], sure, row, nr);
}

static void maps_judge(struct maps *maps, const struct tool_row *row, size_t nr)
{
	bool vmx = false, svm = false;

	for (size_t i = 0; i < nr; i++) {
		struct key k = key_split(row[i].name);

		if (is_of_map(&row[i]))
			map_of(maps, &k);
	}
	for (unsigned int i = 0; i < maps->nr; i++) {
		struct map *m = &maps->map[i];

		map_judge(m, maps, row, nr, map_has_parts(maps, m, row, nr));
		svm |= m->large && (m->sure || m->maybe[1]);
		vmx |= m->sure || m->maybe[0];
	}
	maps_beside(maps, row, nr);
	maps->isa = svm ? EXIT_ISA_SVM : vmx ? EXIT_ISA_VMX : 0;
}

static bool has_reasons(const struct maps *maps, const struct map *m)
{
	return maps->isa && m && (m->sure || m->maybe[maps->isa == EXIT_ISA_SVM]);
}

/* The part of "HLT, CPU 0/KVM" that is an exit reason, else all of it. */
static enum tool_row_of key_kind(const struct maps *maps, const struct map *m, struct key *k,
				 char *buf, size_t size)
{
	static const char tracepoint[] = "tracepoint:";
	size_t prefix = sizeof(tracepoint) - 1;
	struct key part = key_part(*k, m ? m->part : 0);
	const char *known = part.is_number && has_reasons(maps, m)
				    ? exit_reason_name(part.number, maps->isa)
				    : NULL;

	k->is_number = known;
	if (known) {
		snprintf(buf, size, "%s", known);
		return ROW_OF_REASON;
	}
	for (const char *p = k->text, *end = p + k->len; p < end; p += strspn(p, ", ")) {
		snprintf(buf, size, "%.*s", (int)(end - p), p);
		buf[strcspn(buf, ",")] = '\0';
		if (exit_reason_known(buf))
			return ROW_OF_REASON;
		p += strlen(buf);
	}
	if (k->len > (int)prefix && !strncmp(k->text, tracepoint, prefix)) {
		k->text += prefix;
		k->len -= (int)prefix;
	}
	snprintf(buf, size, "%.*s", k->len, k->text);
	return tool_is_event(buf, strlen(buf)) ? ROW_OF_EVENT : ROW_OF_OTHER;
}

/* ---- values ---- */

static uint64_t scaled(uint64_t v, double unit_ns)
{
	return v == TOOL_TABLE_UNKNOWN || v == TOOL_MAP_NO_END || !(unit_ns > 0)
		       ? TOOL_TABLE_UNKNOWN
		       : uint64_of_double((double)v * unit_ns);
}

static uint64_t *figure_at(struct tool_row *r, enum map_figure f)
{
	uint64_t *const at[NR_FIGURES] = {&r->count,  &r->mean_ns, &r->total_ns,
					  &r->min_ns, &r->max_ns,  &r->value};

	return at[f];
}

/* The figure that a row's number is, in ns if it is a duration. */
static enum map_figure number_figure(const struct map *m, const struct tool_row *row)
{
	if (row->map_of == MAP_OF_AVERAGES)
		return m->unit_ns > 0 ? FIGURE_MEAN : FIGURE_VALUE;
	return row->map_of == MAP_OF_NUMBERS ? m->figure : FIGURE_COUNT;
}

/* The figures of a row in ns. Returns which they are, as bits. */
static unsigned int figures_of(const struct map *m, const struct tool_row *row,
			       struct tool_row *ret)
{
	enum map_figure figure = number_figure(m, row);
	bool duration = figure >= FIGURE_MEAN && figure <= FIGURE_MAX;
	unsigned int figures = 1U << figure;

	*ret = tool_no_figures;
	ret->count = TOOL_TABLE_UNKNOWN;
	*figure_at(ret, figure) = duration ? scaled(row->count, m->unit_ns) : row->count;
	if (row->map_of == MAP_OF_NUMBERS || row->map_of == MAP_OF_AVERAGES || !(m->unit_ns > 0))
		return figures;
	ret->weight = row->count;
	ret->mean_ns = scaled(row->mean_ns, m->unit_ns);
	ret->total_ns = scaled(row->total_ns, m->unit_ns);
	ret->min_ns = scaled(row->min_ns, m->unit_ns);
	ret->max_ns = scaled(row->max_ns, m->unit_ns);
	return figures | (row->map_of == MAP_OF_STATS ? 1U << FIGURE_MEAN | 1U << FIGURE_TOTAL
						      : 1U << FIGURE_MIN | 1U << FIGURE_MAX);
}

/* Two maps with the same figure are not of one table. */
static void figure_claim(struct tool_table *t, const struct map **owner, const struct map *m)
{
	if (*owner && *owner != m) {
		memcpy(t->maps[0], (*owner)->name, sizeof(t->maps[0]));
		memcpy(t->maps[1], m->name, sizeof(t->maps[1]));
	}
	*owner = m;
}

static uint64_t mean_of(const struct tool_row *a, const struct tool_row *b)
{
	if (!a->weight || !b->weight || a->mean_ns == TOOL_TABLE_UNKNOWN ||
	    b->mean_ns == TOOL_TABLE_UNKNOWN)
		return TOOL_TABLE_UNKNOWN; /* of how many each is the average, is not known */
	return uint64_of_double(((double)a->mean_ns * (double)a->weight +
				 (double)b->mean_ns * (double)b->weight) /
				((double)a->weight + (double)b->weight));
}

/* Another key of the same reason, as of another vCPU. */
static uint64_t figure_join(struct tool_row *to, struct tool_row *r, enum map_figure f)
{
	uint64_t a = *figure_at(to, f), b = *figure_at(r, f);

	if (f == FIGURE_MEAN)
		return mean_of(to, r);
	if (a == TOOL_TABLE_UNKNOWN || b == TOOL_TABLE_UNKNOWN)
		return TOOL_TABLE_UNKNOWN;
	if (f == FIGURE_MIN)
		return a < b ? a : b;
	if (f == FIGURE_MAX)
		return a > b ? a : b;
	return f == FIGURE_VALUE ? TOOL_TABLE_UNKNOWN : add_saturated(a, b);
}

static void row_join(struct tool_row *to, struct tool_row *r, unsigned int figures)
{
	for (enum map_figure f = 0; f < NR_FIGURES; f++)
		if (figures & 1U << f)
			*figure_at(to, f) = to->figures & 1U << f ? figure_join(to, r, f)
								  : *figure_at(r, f);
	if (figures & 1U << FIGURE_MEAN)
		to->weight = add_saturated(to->weight, r->weight);
	to->figures |= figures;
}

/* ---- rows ---- */

static void names_note(struct tool_table *t, const struct map *m, const struct tool_row *row,
		       unsigned int figures)
{
	if (figures & 1U << FIGURE_VALUE && !*t->no_counts)
		memcpy(t->no_counts, m->name, sizeof(t->no_counts));
	if ((row->map_of == MAP_OF_STATS || row->map_of == MAP_OF_BUCKETS) &&
	    !(m->unit_ns > 0) && !*t->no_unit)
		memcpy(t->no_unit, m->name, sizeof(t->no_unit));
	t->buckets |= row->map_of == MAP_OF_BUCKETS && m->unit_ns > 0;
}

static int figures_put(struct tool_table *t, struct maps *maps, const struct map *m,
		       enum tool_row_of of, const char *name, const struct tool_row *row)
{
	struct tool_row figures, *to;
	unsigned int which = figures_of(m, row, &figures);

	if (row->map_of != MAP_OF_NUMBERS && maps->has_counts[of]) {
		which &= ~(1U << FIGURE_COUNT);
		t->one_count = true;
	}
	for (enum map_figure f = 0; f < NR_FIGURES && of != ROW_OF_OTHER; f++)
		if (which & 1U << f)
			figure_claim(t, &maps->owner[of][f], m);
	if (of != ROW_OF_OTHER || !maps->has_known)
		names_note(t, m, row, which);
	to = tool_row_get(t, of, name, strlen(name));
	if (!to)
		return t->dropped ? 0 : -ENOMEM;
	if (!to->figures)
		to->count = TOOL_TABLE_UNKNOWN;
	row_join(to, &figures, which);
	t->apart |= which == 1U << FIGURE_MEAN && to->mean_ns == TOOL_TABLE_UNKNOWN;
	to->counted = to->count != TOOL_TABLE_UNKNOWN;
	to->uncounted = !to->counted;
	return 0;
}

static int row_sort(struct tool_table *t, struct maps *maps, const struct tool_row *row)
{
	struct key k = key_split(row->name);
	const struct map *m = is_of_map(row) ? map_of(maps, &k) : NULL;
	char name[160];
	enum tool_row_of of = row->of;

	if (!m) {
		struct tool_row *to = tool_row_get(t, of, row->name, strlen(row->name));

		if (to) {
			char *own = to->name;

			*to = *row;
			to->name = own;
		}
		return to || t->dropped ? 0 : -ENOMEM;
	}
	of = key_kind(maps, m, &k, name, sizeof(name));
	if (of == ROW_OF_OTHER && maps->nr > 1 && *row->name == '@')
		snprintf(name, sizeof(name), "%s", row->name);
	if (of == ROW_OF_OTHER && maps->has_known) {
		if (!t->unshown++)
			snprintf(t->first_unshown, sizeof(t->first_unshown), "%.63s", row->name);
		return 0;
	}
	if (of == ROW_OF_OTHER)
		t->keys = "key";
	else if (of == ROW_OF_REASON && k.is_number)
		t->numbers_of = maps->isa == EXIT_ISA_VMX ? "VMX (Intel)" : "SVM (AMD)";
	return figures_put(t, maps, m, of, name, row);
}

/* Of rows of which kinds are there counts of a map that counts? */
static void counts_see(struct maps *maps, const struct tool_row *row, size_t nr)
{
	char name[160];

	for (size_t i = 0; i < nr; i++) {
		struct key k = key_split(row[i].name);
		const struct map *m = is_of_map(&row[i]) ? map_of(maps, &k) : NULL;
		enum tool_row_of of =
			m ? key_kind(maps, m, &k, name, sizeof(name)) : row[i].of;

		maps->has_known |= of != ROW_OF_OTHER;
		if (m && row[i].map_of == MAP_OF_NUMBERS && m->figure == FIGURE_COUNT)
			maps->has_counts[of] = true;
	}
	maps->has_counts[ROW_OF_OTHER] = false; /* their rows have the names of their maps */
}

int tool_maps_end(struct tool_lines *l)
{
	struct tool_row *row = l->table->row;
	size_t nr = l->table->nr;
	struct maps maps = {0};
	int err = 0;

	if (!l->keyed)
		return 0;
	maps_judge(&maps, row, nr);
	counts_see(&maps, row, nr);
	for (size_t i = 0; i < nr; i++)
		l->table->old += row[i].print < l->print;
	l->table->row = NULL;
	l->table->nr = 0;
	hash_clear(&l->table->names);
	for (size_t i = 0; i < nr; i++) {
		err = err ? err : row_sort(l->table, &maps, &row[i]);
		free(row[i].name);
	}
	free(row);
	return err;
}
