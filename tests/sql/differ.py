#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
'hostrace sql' answers generated queries as SQLite does over ordinary tables of the same rows: what the tables of
hostrace take over from SQLite (grouping, conditions on time, thread and type) changes no answer. The ordinary tables are
those of 'export sqlite', each of which has the rows of SELECT *; that these are the reports' is in run.sh.

	tests/sql/differ.py [SEED [QUERIES]]	HOSTRACE: the program
"""
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HOSTRACE = os.path.abspath(os.environ.get("HOSTRACE", os.path.join(ROOT, "build", "hostrace")))
TRACES = ("sched", "exits", "blame-causes")
TABLES = {"exits": ("vm", "pid", "tid", "vcpu", "reason", "count"), "kvm_exit": ("cpu", "vcpu", "tid", "comm", "reason"),
	  "sched_switch": ("cpu", "tid", "prev_state", "next_comm", "next_tid"),
	  "events": ("source", "cpu", "vcpu", "tid", "comm", "event"), "spans": ("vcpu", "tid", "analyzer")}
NUMBERS = ("time_ns", "duration_ns", "tid", "cpu")
AGGREGATES = ("count(*)", "min(time_ns)", "max(time_ns)", "sum(time_ns - 1000000000)", "count(DISTINCT tid)", "max(tid)")


def ask(trace, query):
	"""The names of the columns, and the rows; of an empty answer neither."""
	run = subprocess.run([HOSTRACE, "sql", trace, query, "-f", "jsonl"], capture_output=True, text=True, check=False)
	if run.returncode:
		raise SystemExit(f"{query}\n{run.stderr}")
	rows = [json.loads(line) for line in run.stdout.splitlines()[:-1]]
	return list(rows[0]) if rows else [], [tuple(row.values()) for row in rows]


class Tables:
	"""Ordinary tables of a recording, and queries over those that have rows."""

	def __init__(self, trace, folder, rng):
		self.trace, self.rng, self.columns, self.values = trace, rng, {}, {}
		path = os.path.join(folder, "tables")
		run = subprocess.run([HOSTRACE, "export", "sqlite", trace, "-o", path], capture_output=True, text=True, check=False)
		if run.returncode:
			raise SystemExit(run.stderr)
		self.db = sqlite3.connect(path)
		for table in TABLES:
			rows = self.rows(table) if table in self.tables() else []
			if rows:
				self.columns[table] = [column[1] for column in self.db.execute(f"PRAGMA table_info({table})")]
				self.values[table] = rows

	def rows(self, table):
		return self.db.execute(f'SELECT * FROM "{table}"').fetchall()

	def tables(self):
		return [name for name, in self.db.execute("SELECT name FROM sqlite_schema WHERE name <> 'notes'")]

	def wrong_tables(self):
		"""A table has no order: one pass for all spans finds those of an analyzer between those of others."""
		return [f"{self.trace}\ntable {table}" for table in self.tables()
			if Counter(ask(self.trace, f'SELECT * FROM "{table}"')[1]) != Counter(self.rows(table))]

	def names(self, table, most):
		return self.rng.sample(TABLES[table], self.rng.randint(1, most))

	def condition(self, table, prefix=""):
		columns = self.columns[table]
		terms = []
		for _ in range(self.rng.choice((0, 0, 1, 1, 2))):
			name = self.rng.choice(TABLES[table] + tuple(n for n in NUMBERS if n in columns))
			value, other = (repr(self.rng.choice(self.values[table])[columns.index(name)]).replace("None", "NULL")
					for _ in range(2))
			terms.append(prefix + name + self.rng.choice((
				f" = {value}", f" >= {value}", f" < {value}", f" > {value}", f" <= {value}", f" IN ({value}, {other})",
				f" BETWEEN {value} AND {other}", " IS NOT NULL", f" IS {value}", f" <> {value}")))
		return " WHERE " + self.rng.choice((" AND ", " OR ")).join(terms) if terms else ""

	def order(self, names):
		"""A total order of rows that these columns tell apart, so that LIMIT leaves no choice."""
		ways = ("", "", " ASC", " DESC", " DESC NULLS LAST", " NULLS FIRST", " COLLATE BINARY")
		keys = names if self.rng.random() < .5 else self.rng.sample(names, len(names))
		limit = f" LIMIT {self.rng.randint(1, 4)}" if self.rng.random() < .6 else ""
		limit += f" OFFSET {self.rng.randint(0, 2)}" if limit and self.rng.random() < .4 else ""
		return " ORDER BY " + ", ".join(key + self.rng.choice(ways) for key in keys) + limit

	def grouped(self, table):
		names = self.names(table, 3)
		chosen = names + self.rng.sample(AGGREGATES, self.rng.randint(0, 3))
		having = self.rng.choice(("", "", " HAVING count(*) > 1", f" HAVING {names[0]} IS NOT NULL"))
		return (f"SELECT {', '.join(chosen)} FROM {table}{self.condition(table)} GROUP BY "
			f"{', '.join(self.rng.sample(names, len(names)))}{having}", names)

	def distinct(self, table):
		names = self.names(table, 3)
		return f"SELECT DISTINCT {', '.join(names)} FROM {table}{self.condition(table)}", names

	def plain(self, table):
		names = self.names(table, 2) + ["time_ns"]
		return f"SELECT {', '.join(names)} FROM {table}{self.condition(table)}", names

	def joined(self, table):
		other = self.rng.choice(list(self.columns))
		name = "a." + self.rng.choice(TABLES[table])
		return (f"SELECT {name}, count(*), max(b.time_ns) FROM {table} a {self.rng.choice(('', 'LEFT '))}JOIN {other} b "
			f"ON a.tid = b.tid AND b.time_ns BETWEEN a.time_ns AND a.time_ns + 40000{self.condition(table, 'a.')} "
			f"GROUP BY {name}", [name])

	def nested(self, table):
		inner, names = self.distinct(table)
		return f"SELECT {names[0]}, count(*) FROM ({inner}) GROUP BY {names[0]}", names[:1]

	def compare(self):
		table = self.rng.choice(list(self.columns))
		make = self.rng.choice((self.grouped, self.grouped, self.grouped, self.distinct, self.plain, self.joined, self.nested))
		query, names = make(table)
		ordered = self.rng.random() < .75
		query += self.order(names) if ordered else ""
		want, have = self.db.execute(query).fetchall(), ask(self.trace, query)[1]
		if not ordered:
			want, have = sorted(want, key=repr), sorted(have, key=repr)
		return None if want == have else f"{self.trace}\n{query}\n\tSQLite:   {want[:5]}\n\thostrace: {have[:5]}"


def result(nr, name, wrong):
	print(f"{'not ok' if wrong else 'ok'} {nr} - {name}: {len(wrong)} answered otherwise than by SQLite")
	for text in wrong[:5]:
		print("# " + text.replace("\n", "\n# "))
	return bool(wrong)


def main():
	seed, nr = (int(arg) for arg in (sys.argv[1:] + ["1", "300"][len(sys.argv) - 1:])[:2])
	rng = random.Random(seed)
	with tempfile.TemporaryDirectory() as folder:
		every = []
		for name in TRACES:
			os.makedirs(os.path.join(folder, name))
			every.append(Tables(os.path.join(ROOT, "tests", "cases", name, "trace.txt"), os.path.join(folder, name), rng))
		print("1..2")
		failed = result(1, "all rows of all tables", [text for tables in every for text in tables.wrong_tables()])
		wrong = [text for text in (every[i % len(every)].compare() for i in range(nr)) if text]
		failed |= result(2, f"{nr} queries of seed {seed}", wrong)
	return failed


if __name__ == "__main__":
	sys.exit(main())
