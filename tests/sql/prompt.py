#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The prompt of 'hostrace sql' on a terminal: queries of several lines, errors that end nothing but their query, the
history, .schema and .quit, and that ^C leaves the terminal's modes as they were. Prints TAP.

	tests/sql/prompt.py FILE	HOSTRACE: the program
"""
import os
import pty
import select
import signal
import subprocess
import sys
import termios

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HOSTRACE = os.path.abspath(os.environ.get("HOSTRACE", os.path.join(ROOT, "build", "hostrace")))
DIALOG = (("", "hostrace> ", "the prompt appears"),
	  ("SELECT count(*)\r", "     ...> ", "a query goes on in the next line"),
	  ("FROM exits WHERE reason = 'io';\r", " 10\r\n", "it is answered where it ends"),
	  ("\r", "hostrace> ", "an empty line is none"),
	  ("SELECT 1,\r", "     ...> ", "another query goes on"),
	  (" foo;\r", "no such column: foo, at line 2, character 2", "an error has its line"),
	  ("SELECT 20 + 3;\r", " 23\r\n", "the prompt goes on after it"),
	  (".schema\r", "exits(time_ns, duration_ns", "the tables are listed"))
HISTORY = (("\x1b[A\r", " 23\r\n", "the query before is in the history"),)


class Terminal:
	def __init__(self, *args):
		self.pid, self.fd = pty.fork()
		if not self.pid:
			os.environ["TERM"] = "xterm"
			os.execv(HOSTRACE, [HOSTRACE, "sql", *args])
		self.text = ""

	def wait_for(self, text):
		"""True: it is printed. What is printed after it is kept for the next one, its echo not looked at."""
		while text not in self.text:
			try:
				more = os.read(self.fd, 4096) if select.select([self.fd], [], [], 20)[0] else b""
			except OSError:
				more = b""
			if not more:
				return False
			self.text += more.decode(errors="replace")
		self.text = self.text[self.text.index(text) + len(text):]
		return True

	def ask(self, typed, answer):
		os.write(self.fd, typed.encode())
		return self.wait_for(answer) and (answer.endswith("> ") or self.wait_for("hostrace> "))

	def status(self):
		self.wait_for("\0")
		return os.waitpid(self.pid, 0)[1]


def main():
	file, results = sys.argv[1], []
	edits = b"libreadline" in subprocess.run(["ldd", HOSTRACE], capture_output=True, check=False).stdout
	terminal = Terminal(file)
	for typed, answer, name in DIALOG + (HISTORY if edits else ()):
		results.append((terminal.ask(typed, answer) if typed else terminal.wait_for(answer), name))
	os.write(terminal.fd, b".quit\r")
	results.append((terminal.status() == 0, ".quit ends it with status 0"))
	terminal = Terminal(file)
	terminal.wait_for("hostrace> ")
	os.write(terminal.fd, b"\x04")
	results.append((terminal.status() == 0, "so does the end of input"))
	terminal = Terminal(file)
	terminal.wait_for("hostrace> ")
	os.write(terminal.fd, b"SEL\x03")
	ended, modes = terminal.status() == signal.SIGINT, termios.tcgetattr(terminal.fd)[3]
	results.append((ended and modes & termios.ICANON and modes & termios.ECHO, "^C ends it, the terminal edits lines again"))
	print(f"1..{len(results)}")
	for i, (right, name) in enumerate(results):
		print(f"{'ok' if right else 'not ok'} {i + 1} - {name}")
	return not all(right for right, _ in results)


if __name__ == "__main__":
	sys.exit(main())
