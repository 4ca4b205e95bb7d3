/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of tables of other tools; for tool_table.c. */
#ifndef HOSTRACE_TOOL_LINE_H
#define HOSTRACE_TOOL_LINE_H

#include "readers/text/tool_table.h"

enum {
	TOOL_COLUMNS_MAX = 512,
	TOOL_HEADER_BYTES = 512,
	TOOL_HELD_BYTES = 160,
	TOOL_SOFT_BYTES = 2048
};

enum tool_column_of {
	COLUMN_SKIP,
	COLUMN_COUNT,
	COLUMN_RATE,
	COLUMN_TOTAL,
	COLUMN_MIN,
	COLUMN_MEAN,
	COLUMN_MAX
};

struct tool_column {
	enum tool_column_of of;
	double unit_ns; /* of a duration without a unit */
	bool has_point; /* or "%": its values, which a telephone number does not have */
};

struct tool_lines {
	struct tool_table *table;
	const struct tool_heading *heading; /* of the table that the lines are of; NULL: none */
	char header[TOOL_HEADER_BYTES];	    /* its line, which may be continued */
	bool header_open;
	struct tool_column column[8];
	unsigned int nr_columns;
	struct { /* a row that may be continued */
		char name[128];
		double value[8];
		unsigned int nr;
	} row;
	char *names[TOOL_COLUMNS_MAX]; /* of kvm_stat -l and CSV: owned */
	unsigned int nr_names, name_lines;
	uint64_t pending[TOOL_COLUMNS_MAX]; /* a row of theirs that is not complete */
	unsigned int nr_pending, pending_lines, row_lines;
	bool csv;
	char separator; /* of a spreadsheet's cells, which the heading has; 0: none */
	uint64_t lines, first_s, last_s; /* rows of those, and their times of day */
	uint64_t step_s;		 /* between the first two */
	char title[128];		 /* of kvm_stat's screen: whose figures follow */
	uint64_t number;		 /* of perf stat, whose event is on the next line */
	bool has_number;
	char event[128]; /* of perf report, whose count follows */
	char held[TOOL_HELD_BYTES]; /* a row of kvm_stat, or its heading, that may go on: tool_wrap.c */
	unsigned int held_lines;
	bool names_now;	  /* the line before was one of names */
	bool names_twice; /* ... and that before it */
	bool certain;	 /* there is a row of kvm_stat -1 with a name of KVM's */
	bool has_rule; /* below a heading: no table of kvm_stat */
	bool is_other; /* rows as of kvm_stat -1 are of another table */
	char file[128];	 /* of debugfs, whose figure follows */
	unsigned int debugfs; /* whose figures rows are: enum debugfs_level */
	char map[128];	 /* of bpftrace, whose buckets follow */
	unsigned int print; /* of maps that bpftrace prints again: a row comes again */
	bool map_empty;	 /* none of them was seen */
	bool keyed;	 /* there are rows of tool_keys.c */
	unsigned int stats; /* headings of perf stat */
	bool intervals;	 /* perf stat -I printed rows */
	char cgroup[128]; /* of perf stat's first row; "": none */
	bool has_sums;	 /* ... and their sums (tool_block_sum()) */
	bool summary;	 /* rows that follow are sums of those: perf stat --summary */
	bool live;	 /* there are times of day: screens of perf kvm stat live follow one another */
	bool seen;	 /* a heading */
	struct hash_table identities, totals; /* of rows: tool_block.c */
	unsigned int block;		      /* texts between rows */
	bool text_since;		      /* the last row */
	uint64_t rows;			      /* that were recognized */
	bool printable;			      /* the text is quoted-printable: tool_mail.c */
	char soft[TOOL_SOFT_BYTES];	      /* ... and its line goes on */
	size_t soft_len;
	uint64_t width;			      /* of the last row's line: tool_missing.c */
	unsigned int headings, stated;	      /* tables, and those that state a total */
	bool is_cut;			      /* the line's last word was dropped */
	char above[128];		      /* the last line that was no row */
};

/*
 * tool_wrap.c: joins lines of one row. `ret`, of TOOL_HELD_BYTES, is a line for tool_line_add(), or empty. take() is
 * called before each line is added; if it returns true, that one is not added, as more of it may follow. flush() at the
 * end. is_kvm_stat: tool_heading_is().
 */
bool tool_wrap_take(struct tool_lines *l, const char *text, bool is_kvm_stat, char *ret);
void tool_wrap_flush(struct tool_lines *l, char *ret);

/*
 * tool_mail.c: a line of quoted-printable may go on in the next. TOOL_MAIL_WHOLE: it does not; *s, *end may be set to
 * all of it. TOOL_MAIL_HELD: it is not to be read now. flush() at the end: is there one that lacks the next?
 */
enum tool_mail_line { TOOL_MAIL_WHOLE, TOOL_MAIL_HELD };

enum tool_mail_line tool_mail_take(struct tool_lines *l, char **s, char **end);
bool tool_mail_flush(struct tool_lines *l, char **s, char **end);

/* Removes tags of HTML at the ends of a line. Returns its beginning. */
char *tool_mail_tags_cut(char *s);

/* tool_join.c: the rows of one line, mostly one; the text is changed. NULL: there is no further one. */
struct tool_join {
	char *rest;
	bool names, values; /* rows are names and values, in this order or the other one */
};

void tool_join_open(struct tool_join *j, char *s);
char *tool_join_next(struct tool_join *j);

/* Is the table that the lines are of, if it has a heading, one of this tool? */
bool tool_heading_is(const struct tool_lines *l, const char *tool);

/* ---- where another table begins, tool_block.c: sets struct tool_table's `others` ---- */

void tool_block_init(struct tool_lines *l);
void tool_block_deinit(struct tool_lines *l);
/* Is a line, which is no row, none that tools print around their tables? Then it is noted. */
bool tool_block_is_text(const char *text);
bool tool_block_is_address(const char *text); /* "192.0.2.7:", which is no number of a row */
void tool_block_text(struct tool_lines *l);
/* A row that its table has once: its name and all that tells it from other rows. */
bool tool_block_repeats(const struct tool_lines *l, const char *identity);
void tool_block_once(struct tool_lines *l, const char *identity);
/* A row gets figures. */
void tool_block_row(struct tool_lines *l, struct tool_row *row, bool is_new);
/* Running totals come again: all, or that of one row. */
void tool_block_again(struct tool_lines *l);
void tool_block_total(struct tool_lines *l, const struct tool_row *row);
/* A part of the sum that follows this row's counts, which is checked at the end. NULL: there is no such row. */
void tool_block_sum(struct tool_lines *l, const struct tool_row *row, uint64_t count);
void tool_blocks_end(struct tool_lines *l);

struct tool_words;

/* ---- what a table lacks, tool_missing.c: for notes, so that no row is dropped without a word ---- */

/* The file's last line has no newline: what may be half of a word is cut off. Returns its new end. */
char *tool_missing_open(struct tool_lines *l, char *s, char *end);
/* Where the line ends. */
uint64_t tool_missing_width(const char *s, const char *end);
/* A line that is no row: if it says that events are missing, or if it is a part of a row, it is noted. */
void tool_missing_part(struct tool_lines *l, const struct tool_words *w);
void tool_missing_row(struct tool_lines *l, const char *name); /* it lacks what a row needs */
/* A total that a table states: of "Total 200 100", or of such a line. */
void tool_missing_total(struct tool_lines *l, uint64_t total);
void tool_missing_total_see(struct tool_lines *l, const char *text);
/* Is the last line that was no row a heading of columns? `sure`: it has words of those who compare. */
bool tool_columns_precede(const struct tool_lines *l, bool sure);
void tool_columns_note(struct tool_table *t, const char *heading);
void tool_missing_end(struct tool_lines *l);

/* The text ends with '\0', and is changed. 0 or -ENOMEM. */
int tool_line_add(struct tool_lines *l, char *text);
int tool_lines_end(struct tool_lines *l);
void tool_lines_init(struct tool_lines *l, struct tool_table *t);
void tool_lines_free(struct tool_lines *l);

/* ---- words and numbers, tool_words.c ---- */

struct tool_words {
	char *word[TOOL_COLUMNS_MAX];
	bool joined[TOOL_COLUMNS_MAX]; /* one blank precedes it */
	unsigned int nr;
};

/* In place: the words end with '\0'. */
void tool_words_split(char *s, struct tool_words *ret);

/* Blanks, marks of quotes, frames. */
const char *tool_blanks_skip(const char *s);

/* tool_groups.c: a line with the digits of ASCII, and commas between groups of them. Returns its new end. */
char *tool_groups_replace(char *s, char *end);

/* The groups "234 567" of "1 234 567" behind `end`, where the number `count` ends; for where no column follows. */
const char *tool_count_rest(const char *number, const char *end, uint64_t *count);

/* The unit of a duration in ns; 0: it is none. */
double tool_unit_parse(const char *s, size_t len);

/*
 * The number at s and its end, or NULL: with all separators dropped (TOOL_TABLE_UNKNOWN: they are
 * not of thousands), and with the last one as the decimal point.
 */
const char *tool_number_parse(const char *s, double *ret, uint64_t *ret_integer);

/* A whole word that is a number: with "%", a unit, or neither. */
bool tool_value_parse(const char *word, double unit_ns, double *ret);
bool tool_count_parse(const char *word, uint64_t *ret);

/* An integer at s, also "1.2K", and its end; NULL: there is none. */
const char *tool_count_read(const char *s, uint64_t *ret);
bool tool_is_rounded(const char *word);

/* A row whose name is no event's or exit reason's is not taken: it is counted. */
void tool_row_odd(struct tool_lines *l, const char *name);

/* May it be the name of a row? Of an event with its system: "kvm:kvm_exit", "sched:sched_switch:u"?
 */
bool tool_is_name(const char *s);
/* tool_pair.c: "12 HLT", "HLT,12". As the others: 1, 0 (another line), -ENOMEM. */
int tool_pair_line(struct tool_lines *l, const struct tool_words *w);
/* A row whose name has a key, as "@exit_reason[12]". */
int tool_key_put(struct tool_lines *l, const char *tool, const char *name, uint64_t count);
/* tool_counted.c: "12 kvm_exit: reason HLT" */
int tool_counted_line(struct tool_lines *l, const char *text);

bool tool_is_kvm_event(const char *s); /* of kvm_stat and KVM's debugfs */
bool tool_is_lower(const char *s);	 /* as names of the kernel's events */
bool tool_is_kvm_name(const char *s);	 /* certainly */
bool tool_is_event(const char *s, size_t len);
/* Its length without modifiers that leave nothing out: of "kvm:kvm_exit:H" that of "kvm:kvm_exit". */
size_t tool_event_len(const char *s, size_t len);
bool tool_is_child(const char *s); /* an exit reason below kvm_exit, as some print those of kvm_stat */

/* ---- kinds of lines. 1: it was one; 0; -ENOMEM. ---- */

int tool_heading_line(struct tool_lines *l, const char *text);
int tool_heading_row(struct tool_lines *l, const struct tool_words *w);
/* Removes what people write beside a row: "<--- very high!". */
void tool_remarks_cut(const struct tool_lines *l, struct tool_words *w);
int tool_row_flush(struct tool_lines *l); /* ends the last row */
int tool_keys_line(struct tool_lines *l, const char *text);
/* A value of a bpftrace map: `key` is "@us[HLT]". Figures are in the map's unit. */
int tool_map_put(struct tool_lines *l, const char *key, enum tool_map_of of,
		 const struct tool_row *figures);
/* A histogram of bpftrace: its buckets follow, from `low` to below `high`, which may be TOOL_MAP_NO_END. */
#define TOOL_MAP_NO_END (UINT64_MAX >> 1)
int tool_map_begin(struct tool_lines *l, const char *key);
int tool_map_bucket(struct tool_lines *l, double low, double high, uint64_t count);
void tool_map_end(struct tool_lines *l);
/* tool_maps_json.c: a line of bpftrace -f json */
int tool_maps_json_line(struct tool_lines *l, const char *s, const char *end);
int tool_maps_end(struct tool_lines *l); /* tool_maps.c: after the last line */
int tool_perf_line(struct tool_lines *l, const char *text);
int tool_perf_stat_row(struct tool_lines *l, const struct tool_words *w);
void tool_elapsed_parse(struct tool_lines *l, const char *text);

/* ---- logs of kvm_stat, tool_log.c ---- */

/* The names of kvm_stat -l are over. */
void tool_names_clear(struct tool_lines *l);
int tool_log_names(struct tool_lines *l, const struct tool_words *w, unsigned int from,
		   bool names_before);
int tool_log_numbers(struct tool_lines *l, const struct tool_words *w);
int tool_log_part(struct tool_lines *l, const struct tool_words *w);
/* A row of CSV without all cells; its commas are not blanks yet. */
int tool_log_cells(struct tool_lines *l, const char *text);
void tool_log_span(struct tool_lines *l);

/* ---- rows ---- */

void tool_rows_init(struct tool_table *t);

/* Adds figures to the row of this name. */
int tool_row_put(struct tool_lines *l, const char *tool, enum tool_row_of of, const char *name,
		 const struct tool_row *r);
int tool_count_put(struct tool_lines *l, const char *tool, enum tool_row_of of, const char *name,
		   uint64_t count);
extern const struct tool_row tool_no_figures;

/* The row of this name, with no figure if it is new; NULL: there are too many, or
 * no memory. */
struct tool_row *tool_row_get(struct tool_table *t, enum tool_row_of of, const char *name,
			      size_t len);

/* The row of this name as tool_row_get() makes it; NULL: there is none. */
struct tool_row *tool_row_find(struct tool_table *t, enum tool_row_of of, const char *name,
			       size_t len);

/* Removes rows that are `maybe`. */
void tool_rows_drop(struct tool_table *t);

/* Removes all rows. */
void tool_table_clear(struct tool_table *t);

/* What was counted until now is in the totals of the table that follows. */
void tool_table_again(struct tool_table *t);

#endif
