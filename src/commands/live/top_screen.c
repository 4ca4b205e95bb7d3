// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The only file that includes ncurses. What is drawn was made by views/top.
 *
 * A terminal whose output was stopped (^S), or that nobody reads, is not written to. It may be stopped while curses
 * writes, which tries again after each signal: so a handler ends the process if the terminal takes nothing for a while.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/error.h"
#include "base/temporary.h"
#include "commands/live/top.h"

#include <curses.h>
#include <term.h>

#undef tone /* a macro of term.h */

enum { ESCAPE = 27, ESCAPE_MS = 25, PATIENCE_MS = 1000 };

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

/* ---- a terminal that takes nothing ---- */

struct drawing {
	struct termios before; /* curses */
	volatile sig_atomic_t signal; /* that came while it drew; 0: none */
};

/* Signals and the terminal belong to the process. */
static struct drawing *drawing(void)
{
	static struct drawing process_wide;

	return &process_wide;
}

static bool terminal_takes(int ms)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&p, 1, ms) > 0 && p.revents & POLLOUT;
}

static void drawing_interrupted(int nr)
{
	drawing()->signal = nr;
	if (terminal_takes(PATIENCE_MS))
		return;
	tcsetattr(STDOUT_FILENO, TCSADRAIN, &drawing()->before);
	temporary_delete_all();
	signal(nr, SIG_DFL);
	raise(nr); /* once the handler has returned */
}

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

#define NR_ENDING (sizeof(ending) / sizeof(*ending))

static void ending_take(int how, void (*handler)(int))
{
	struct sigaction sa = {.sa_flags = SA_RESTART}, old;
	sigset_t set;

	sa.sa_handler = handler;
	sigemptyset(&set);
	for (size_t i = 0; i < NR_ENDING; i++) {
		sigaddset(&set, ending[i]);
		if (!sigaction(ending[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(ending[i], &sa, NULL);
	}
	sigprocmask(how, &set, NULL);
}

static void drawing_begin(void)
{
	drawing()->signal = 0;
	ending_take(SIG_UNBLOCK, drawing_interrupted);
}

/* What came meanwhile is pending for the signalfd again. */
static void drawing_done(void)
{
	ending_take(SIG_BLOCK, drawing_interrupted);
	ending_take(SIG_BLOCK, SIG_DFL);
	if (drawing()->signal)
		raise(drawing()->signal);
}

/* Without the keys for it, output that ^S stopped goes on. */
static void terminal_resume(void)
{
	struct termios now = drawing()->before;

	now.c_iflag &= ~(tcflag_t)IXON;
	tcsetattr(STDOUT_FILENO, TCSADRAIN, &now);
}

/* Leaves the screen, if the terminal can be written to. */
static void drawing_leave(void)
{
	if (!terminal_takes(0))
		terminal_resume();
	if (!terminal_takes(0)) {
		tcsetattr(STDOUT_FILENO, TCSADRAIN, &drawing()->before);
		return;
	}
	drawing_begin();
	endwin();
	drawing_done();
}

/* ---- the screen ---- */

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
	tcgetattr(STDOUT_FILENO, &drawing()->before);
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
	drawing_leave();
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
	if (!terminal_takes(0))
		return;
	erase();
	for (unsigned int i = 0; i < f->nr && i < (unsigned int)LINES; i++) {
		mvaddstr((int)i, 0, f->line[i].text);
		mvchgat((int)i, 0, -1, attribute(f->line[i].tone), 0, NULL);
	}
	drawing_begin();
	refresh();
	drawing_done();
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
	int c;

	(void)s;
	drawing_begin(); /* after a change of the window's size, it draws */
	c = getch();
	drawing_done();
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
	drawing_leave();
	raise(SIGSTOP);
	top_screen_resize(s);
}
