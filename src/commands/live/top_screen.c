// SPDX-License-Identifier: GPL-2.0-or-later
/* The only file that includes ncurses. What is drawn was made by views/top. */
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "base/error.h"
#include "commands/live/top.h"

#include <curses.h>
#include <term.h>

#undef tone /* a macro of term.h */

enum { ESCAPE = 27, ESCAPE_MS = 25 };

struct top_screen {
	SCREEN *screen;
};

/* newterm() ends the process if it knows no such terminal. */
static int terminal_check(void)
{
	const char *term = getenv("TERM");
	bool good = false;
	int result;

	if (setupterm(NULL, STDOUT_FILENO, &result) == OK) {
		good = tigetstr("cup");
		del_curterm(cur_term);
	}
	if (good)
		return 0;
	return fail(-ENOTSUP,
		    "terminal type '%s' is unknown or cannot move the cursor; set TERM, or use "
		    "--batch",
		    term ? term : "");
}

static void no_handler(int nr)
{
	(void)nr;
}

int top_screen_open(struct top_screen **ret)
{
	struct top_screen *s;
	int err = terminal_check();

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return fail(-ENOMEM, "out of memory");
	/* Else curses ignores it while it draws, and one that is pending for the signalfd would be lost. */
	signal(SIGTSTP, no_handler);
	s->screen = newterm(NULL, stdout, stdin);
	if (!s->screen) {
		free(s);
		return fail(-ENOTSUP, "cannot use the terminal; use --batch");
	}
	cbreak();
	noecho();
	nonl();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	*ret = s;
	return 0;
}

void top_screen_close(struct top_screen *s)
{
	if (!s)
		return;
	endwin();
	delscreen(s->screen);
	free(s);
}

void top_screen_size(const struct top_screen *s, unsigned int *ret_width, unsigned int *ret_height)
{
	(void)s;
	*ret_width = (unsigned int)COLS;
	*ret_height = (unsigned int)LINES;
}

static attr_t attribute(enum top_tone tone)
{
	switch (tone) {
	case TOP_TITLE:
	case TOP_NOTE:
		return A_BOLD;
	case TOP_HEADING:
		return A_UNDERLINE;
	case TOP_SELECTED:
		return A_REVERSE;
	case TOP_IDLE:
		return A_DIM;
	default:
		return A_NORMAL;
	}
}

void top_screen_draw(struct top_screen *s, const struct top_frame *f)
{
	(void)s;
	erase();
	for (unsigned int i = 0; i < f->nr && i < (unsigned int)LINES; i++) {
		mvaddstr((int)i, 0, f->line[i].text);
		mvchgat((int)i, 0, -1, attribute(f->line[i].tone), 0, NULL);
	}
	refresh();
}

static int key_of(int c)
{
	switch (c) {
	case KEY_UP:
		return TOP_KEY_UP;
	case KEY_DOWN:
		return TOP_KEY_DOWN;
	case KEY_LEFT:
		return TOP_KEY_LEFT;
	case KEY_RIGHT:
		return TOP_KEY_RIGHT;
	case KEY_PPAGE:
		return TOP_KEY_PAGE_UP;
	case KEY_NPAGE:
		return TOP_KEY_PAGE_DOWN;
	case KEY_HOME:
		return TOP_KEY_HOME;
	case KEY_END:
		return TOP_KEY_END;
	case '\n':
	case '\r':
	case KEY_ENTER:
		return TOP_KEY_ENTER;
	case '\b':
	case 127:
	case KEY_BACKSPACE:
		return TOP_KEY_BACKSPACE;
	case '\t':
		return TOP_KEY_TAB;
	case ESCAPE:
		return TOP_KEY_ESCAPE;
	default:
		return c < 128 ? c : 127; /* a key without a meaning here */
	}
}

int top_screen_key(struct top_screen *s)
{
	int c = getch();

	(void)s;
	return c == ERR || !c ? 0 : key_of(c);
}

void top_screen_resize(struct top_screen *s)
{
	struct winsize size;

	(void)s;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	clear();
}

void top_screen_stop(struct top_screen *s)
{
	endwin();
	raise(SIGSTOP);
	top_screen_resize(s);
}
