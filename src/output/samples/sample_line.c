// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines are assembled without printf. Formats of OSv's tracepoints are nearly all of plain conversions: those are
 * parsed once for a tracepoint; sample_format() does the others. Columns of a thread and backtraces are kept as text.
 */
#include <errno.h>

#include "analyzers/profile/backtraces.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "output/samples/compat.h"
#include "output/samples/samples_output.h"

enum {
	PIECES_MAX = 2 * SAMPLE_ARGS_MAX + 1,
	ARGS_TEXT_MAX = 384 << 10,
	BACKTRACE_TEXT_MAX = 64 << 10,
	BACKTRACES_BYTES_MAX = 16 << 20, /* of texts in memory */
	THREADS = 256, /* whose columns are kept as text */
};

/* One piece of a format: plain text, or an argument in one of the plain conversions. */
struct piece {
	uint32_t text; /* plain text: where it begins in plan.text */
	uint16_t len;  /* of it; 0: an argument */
	struct sample_arg_place place;
	char conv;	     /* d, x, p, g */
	uint8_t signed_bits; /* of a signed number; 0: unsigned */
};

/* A parsed format of a type; nr < 0: it needs sample_format(). */
struct plan {
	struct piece *piece;
	int nr;
	char *name; /* padded to its column */
	char *text; /* of the plain pieces, and padding for put_short() */
	uint16_t name_len;
	bool ready;
};

/* A thread's number and name as in a line. */
struct thread {
	uint64_t thread, name[2];
	bool has_kind, used;
	uint8_t len;
	char text[64];
};

struct text {
	char *text;
	uint32_t len;
};

struct sample_lines {
	struct sample_line_options opt;
	struct plan *plan; /* by tracepoint index */
	uint32_t nr_plans;
	struct symbols *symbols;
	struct backtraces *stacks;
	struct text *backtrace; /* by number of the stack; without text: not in memory */
	uint32_t nr_backtraces;
	size_t backtrace_bytes; /* of those in memory */
	struct text once;	/* the last one beyond BACKTRACES_BYTES_MAX */
	char *args; /* ARGS_TEXT_MAX */
	bool has_padded_names;
	struct thread thread[THREADS]; /* a cache: threads displace each other */
};

int sample_lines_open(struct sample_trace *t, const struct sample_line_options *opt,
		      struct sample_lines **ret)
{
	_cleanup_(sample_lines_cleanup_) struct sample_lines *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return fail(-ENOMEM, "out of memory");
	l->opt = *opt;
	l->has_padded_names = t->has_padded_names;
	l->plan = calloc(t->nr_types + 1u, sizeof(*l->plan));
	l->args = malloc(ARGS_TEXT_MAX);
	if (!l->plan || !l->args)
		return fail(-ENOMEM, "out of memory");
	l->nr_plans = t->nr_types;
	err = backtraces_open(&l->stacks);
	if (!err && opt->backtrace)
		err = symbols_open(t, &opt->frames.symbols, &l->symbols);
	if (err)
		return err;
	*ret = take_ptr(l);
	return 0;
}

void sample_lines_close(struct sample_lines *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->nr_plans; i++) {
		free(l->plan[i].piece);
		free(l->plan[i].name);
		free(l->plan[i].text);
	}
	for (uint32_t i = 0; i < l->nr_backtraces; i++)
		free(l->backtrace[i].text);
	free(l->backtrace);
	free(l->once.text);
	free(l->plan);
	free(l->args);
	backtraces_close(l->stacks);
	symbols_close(l->symbols);
	free(l);
}

/* ---- names ---- */

/* Is all of it printable ASCII? Eight bytes at a time, as far as they go. */
static bool is_plain(const char *text, size_t len)
{
	for (uint64_t word; len >= 8; text += 8, len -= 8) {
		memcpy(&word, text, 8);
		uint64_t low = word - 0x2020202020202020ull,	/* borrows from bytes below 0x20 */
			 high = word + 0x0101010101010101ull; /* carries from 0x7f */

		if ((word | low | high) & 0x8080808080808080ull)
			break; /* not certain; the bytes are compared */
	}
	return !array_any(len, i, (uint8_t)text[i] - 0x20u >= 0x5fu);
}

static char *put_thread(const struct sample_lines *l, char *p, const struct sample *s)
{
	char name[sizeof(s->thread_name)];
	size_t len = strlen(s->thread_name);

	if (l->opt.compat && l->has_padded_names)
		len = compat_name_length(s->thread_name, sizeof(s->thread_name));
	if (s->tp->kind) { /* a thread's number, where OSv has an address */
		p = put_dec_right(p, s->thread, 18);
	} else {
		*p++ = '0';
		*p++ = 'x';
		p = put_hex16(p, s->thread);
	}
	*p++ = ' ';
	if (is_plain(s->thread_name, len))
		return put_left(p, s->thread_name, len, len, 15);
	memcpy(name, s->thread_name, sizeof(name));
	if (!l->opt.compat)
		text_sanitize(name);
	return put_left(p, name, len, utf8_length(name, len), 15);
}

char *sample_put_thread(struct sample_lines *l, char *p, const struct sample *s)
{
	struct thread *t = &l->thread[hash_u64(s->thread) % THREADS];
	uint64_t name[2];

	memcpy(name, s->thread_name, sizeof(name));
	if (t->thread != s->thread || t->name[0] != name[0] || t->name[1] != name[1] ||
	    t->has_kind != (s->tp->kind != NULL) || !t->used) {
		*t = (struct thread){s->thread, {name[0], name[1]}, s->tp->kind != NULL, true};
		t->len = (uint8_t)(put_thread(l, t->text, s) - t->text);
	}
	memcpy(p, t->text, sizeof(t->text));
	return p + t->len;
}

/* ---- formats ---- */

/* %d %u %x %p %g, with l or h, without flags, width or precision: nearly all of them. */
static const char *plain_conversion(const char *p, char *ret)
{
	if (*p == 'l' || *p == 'h' || *p == 'L')
		p++;
	if (!*p || !strchr("duxpg", *p))
		return NULL;
	*ret = *p == 'u' ? 'd' : *p;
	return p + 1;
}

static int format_parse(const struct sample_type *tp, struct piece *ret)
{
	struct sample_arg_place place[SAMPLE_ARGS_MAX];
	size_t size;
	int nr_args = sample_args_layout(tp->signature, place, &size), nr = 0, used = 0;

	if (nr_args < 0 || (tp->kind && tp->kind->type))
		return -1;
	for (const char *p = tp->format; *p;) {
		size_t plain = strcspn(p, "%");

		if (nr + 2 > PIECES_MAX || plain > UINT16_MAX || !is_plain(p, plain))
			return -1;
		if (plain)
			ret[nr++] = (struct piece){.text = (uint32_t)(p - tp->format),
						   .len = (uint16_t)plain};
		p += plain;
		if (!*p)
			break;
		struct piece arg = {0};

		p = plain_conversion(p + 1, &arg.conv);
		if (!p || used == nr_args ||
		    !strchr(arg.conv == 'g' ? "d" : "bBhHiIqQP", place[used].type))
			return -1;
		arg.place = place[used++];
		if (strchr("bhiq", arg.place.type))
			arg.signed_bits = (uint8_t)(8 * arg.place.size);
		ret[nr++] = arg;
	}
	return used == nr_args ? nr : -1;
}

static int plan_make(struct sample_lines *l, const struct sample_type *tp)
{
	struct plan *plan = &l->plan[tp->index];
	struct piece piece[PIECES_MAX];
	size_t len = strlen(tp->name);

	plan->nr = format_parse(tp, piece);
	plan->name = malloc(3 * len + 32 + TEXT_OUT_SHORT);
	plan->text = calloc(1, strlen(tp->format) + TEXT_OUT_SHORT);
	if (plan->nr > 0)
		plan->piece = malloc((size_t)plan->nr * sizeof(*piece));
	if (!plan->name || !plan->text || (plan->nr > 0 && !plan->piece))
		return fail(-ENOMEM, "out of memory");
	memcpy(plan->text, tp->format, strlen(tp->format));
	if (plan->nr > 0)
		memcpy(plan->piece, piece, (size_t)plan->nr * sizeof(*piece));
	memcpy(plan->name, tp->name, len + 1);
	if (!l->opt.compat && !is_plain(tp->name, len))
		text_sanitize(plan->name);
	len = strlen(plan->name);
	plan->name_len = (uint16_t)(put_left(plan->name + len, "", 0,
					     utf8_length(plan->name, len), 20) - plan->name);
	plan->ready = true;
	return 0;
}

char *sample_put_name(const struct sample_lines *l, char *p, const struct sample *s)
{
	const struct plan *plan = &l->plan[s->tp->index];

	if (!plan->ready && plan_make((struct sample_lines *)l, s->tp))
		return NULL;
	return put_short(p, plan->name, plan->name_len);
}

static char *put_piece(char *p, const struct piece *piece, const uint8_t *args)
{
	const uint8_t *from = args + piece->place.offset;
	uint64_t v = 0;

	if (piece->place.size == 8)
		memcpy(&v, from, 8);
	else if (piece->place.size == 4)
		memcpy(&v, from, 4);
	else
		memcpy(&v, from, piece->place.size);
	if (piece->conv == 'g') {
		double d;

		memcpy(&d, &v, sizeof(d));
		return decimal_put_general(p, d);
	}
	if (piece->signed_bits) {
		unsigned int shift = 64u - piece->signed_bits;
		int64_t number = (int64_t)(v << shift) >> shift;

		if (number < 0) {
			if (piece->conv == 'p')
				return NULL; /* rare; sample_format() knows */
			*p++ = '-';
			v = 0 - (uint64_t)number;
		}
	}
	if (piece->conv == 'd')
		return put_dec(p, v);
	if (piece->conv == 'x')
		return put_hex(p, v);
	*p++ = '0';
	*p++ = 'x';
	return put_hex16(p, v);
}

static char *put_planned(const struct plan *plan, char *p, const struct sample *s)
{
	for (int i = 0; i < plan->nr && p; i++)
		p = plan->piece[i].len ? put_short(p, plan->text + plan->piece[i].text,
						   plan->piece[i].len)
				       : put_piece(p, &plan->piece[i], s->args);
	return p;
}

char *sample_put_args_text(const struct sample_lines *l, char *p, const char *text)
{
	size_t len = strlen(text);

	memcpy(p, text, len + 1);
	if (!l->opt.compat && !is_plain(p, len)) {
		text_sanitize(p);
		len = strlen(p);
	}
	return p + len;
}

/* "fn NAME caller NAME": functions by their names, where symbols are read; NULL: there are no names. */
static char *put_function(struct sample_lines *l, char *p, const struct sample *s)
{
	static const char *const heads[] = {"fn ", " caller "};
	struct frame frame[FRAME_INLINES_MAX];
	uint64_t address[2];
	unsigned int nr = sample_function(s, address);

	for (unsigned int i = 0; i < nr; i++) {
		unsigned int frames = symbols_resolve(l->symbols, address[i], frame);
		const char *name = frame[frames - 1].name;
		int len = name ? snprintf(l->args, ARGS_TEXT_MAX, "%s%s", heads[i], name)
			       : snprintf(l->args, ARGS_TEXT_MAX, "%s0x%" PRIx64, heads[i],
					  address[i] + i);

		p = len < ARGS_TEXT_MAX ? sample_put_args_text(l, p, l->args) : p;
	}
	return nr ? p : NULL;
}

char *sample_put_args(struct sample_lines *l, char *p, const struct sample *s)
{
	const struct plan *plan = &l->plan[s->tp->index];
	char *end = l->symbols && !l->opt.compat ? put_function(l, p, s) : NULL;

	if (end)
		return end;
	if (!plan->ready && plan_make(l, s->tp))
		return NULL;
	if (plan->nr >= 0 && (end = put_planned(plan, p, s)))
		return end;
	return sample_format(s, l->args, ARGS_TEXT_MAX) ? sample_put_args_text(l, p, l->args)
							: NULL;
}

/* ---- backtraces ---- */

/* The tracer's own frames at the innermost end are skipped. The original fails if there are no others. */
static int shown_frames(struct sample_lines *l, const struct sample *s, struct frame *frame,
			unsigned int *ret_from)
{
	unsigned int nr = frames_resolve(l->symbols, s, frame), from = 0;

	for (; from < nr && frame[from].name; from++) {
		const char *file = frame[from].file ? frame[from].file : "";
		size_t len = strlen(file);

		if (strncmp(frame[from].name, "tracepoint", 10) &&
		    (len < 8 || strcmp(file + len - 8, "trace.hh")) &&
		    !frame_is_linux_tracer(&frame[from]))
			break;
	}
	if (nr && from == nr && l->opt.compat)
		return fail(-EBADMSG, "a backtrace has only frames of the tracer; it is skipped "
				      "without --compat");
	*ret_from = from;
	return (int)nr;
}

static int backtrace_text(struct sample_lines *l, const struct sample *s, FILE *out)
{
	struct frame frame[FRAMES_ROOM];
	char text[4096];
	unsigned int from;
	int nr = shown_frames(l, s, frame, &from);

	if (nr < 0)
		return nr;
	if ((int)from >= nr)
		return 0;
	fputs(l->opt.multiline ? "\n" : "   [", out);
	for (int i = (int)from; i < nr; i++) {
		frame_print(&frame[i], &l->opt.frames, text, sizeof(text));
		fprintf(out, l->opt.multiline ? "  %s\n" : i + 1 < nr ? "%s, " : "%s]", text);
	}
	return 0;
}

static int backtrace_make(struct sample_lines *l, const struct sample *s, struct text *ret)
{
	size_t len = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &len);
	int err = f ? backtrace_text(l, s, f) : 0;

	if (!memstream_close(f, &text))
		return fail(-ENOMEM, "out of memory");
	if (len > BACKTRACE_TEXT_MAX)
		len = BACKTRACE_TEXT_MAX;
	*ret = (struct text){text, (uint32_t)len};
	return err;
}

/* The text of the sample's backtrace, which is kept in memory while there is space, as most are there often. */
static int backtrace_of(struct sample_lines *l, const struct sample *s, const struct text **ret)
{
	struct text *known, made = {0};
	uint32_t number;
	int err = backtrace_number(l->stacks, s, &number);

	if (err > 0 && number != BACKTRACE_NONE) {
		err = array_room(l->backtrace, number);
		if (!err)
			l->backtrace[l->nr_backtraces++] = (struct text){0};
	}
	if (err < 0)
		return err;
	known = number == BACKTRACE_NONE ? NULL : &l->backtrace[number];
	*ret = known;
	if (known && known->text)
		return 0;
	err = backtrace_make(l, s, &made);
	if (!known || l->backtrace_bytes + made.len > BACKTRACES_BYTES_MAX) {
		free(l->once.text);
		known = &l->once;
	} else {
		l->backtrace_bytes += made.len;
	}
	*known = made;
	*ret = known;
	return err;
}

char *sample_put_backtrace(struct sample_lines *l, char *p, const struct sample *s)
{
	const struct text *text;

	if (!l->opt.backtrace || !s->nr_backtrace)
		return p;
	return backtrace_of(l, s, &text) ? NULL : put_bytes(p, text->text, text->len);
}

json_t *sample_backtrace_json(struct sample_lines *l, const struct sample *s)
{
	struct frame frame[FRAMES_ROOM];
	json_t *list = json_array();
	char text[4096];
	unsigned int from = 0;
	int nr = l->symbols ? shown_frames(l, s, frame, &from) : 0;

	for (int i = (int)from; i < nr; i++) {
		frame_print(&frame[i], &l->opt.frames, text, sizeof(text));
		json_array_append_new(list, json_string(text));
	}
	return list;
}
