#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers of all commands with JSON follow the schemas that doc/schema/README.md names, as TAP.

    schemas.py                  runs HOSTRACE with the commands of tests/exports/answers
    schemas.py SCHEMA FILE...   validates answers that a live test got

A file with an answer a line ends in .jsonl; if the schema has definitions of rows, a line is a row, and the last line
is what the answer has besides the rows.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter("ignore", DeprecationWarning)  # newer versions have another resolver, Debian 12's has only this
try:
    import jsonschema
except ImportError:
    sys.exit(print("1..0 # SKIP the Python module jsonschema is not installed (package python3-jsonschema)"))

hostrace = os.path.realpath(os.environ.get("HOSTRACE", "build/hostrace"))
tests = pathlib.Path(__file__).resolve().parent.parent
schemas = tests.parent / "doc" / "schema"


class Invalid(Exception):
    pass


class Schema:
    def __init__(self, name):
        path = schemas / f"{name}.json"
        self.schema = json.loads(path.read_text())
        jsonschema.Draft7Validator.check_schema(self.schema)
        self.resolver = jsonschema.RefResolver(path.as_uri(), self.schema)

    def validate(self, value, part=None):
        part = self.schema if part is None else self.schema["definitions"][part]
        error = jsonschema.exceptions.best_match(
            jsonschema.Draft7Validator(part, resolver=self.resolver).iter_errors(value))
        if error:
            raise Invalid(f"{error.json_path}: {error.message}"[:1000])

    def rejects_unknown_keys(self, answer):
        try:
            self.validate({**answer, "unknown": 1})
        except Invalid:
            return
        raise Invalid("the schema accepts an unknown key")

    def check_answer(self, answer):
        self.validate(answer)
        self.rejects_unknown_keys(answer)

    def check_lines(self, lines, answer):
        for row in lines[:-1]:
            self.validate(row, "row")
        self.validate(lines[-1], "last")
        if {**lines[-1], "rows": lines[:-1]} != answer:
            raise Invalid("json and jsonl differ")


def rows_of(answer):
    return next((answer[key] for key in ("rows", "result", "vms", "sections") if key in answer), None)


def run(*words):
    return subprocess.run([hostrace, *words], cwd=tests, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=200)


def answer_of(words, form, out):
    """What the command writes. Status 3: it found what it checks for."""
    if words[0] == "export":
        words = ["export", form, *words[2:]]
    else:
        words = [*words, "-f", form]
    done = run(*words, "-q", "-o", out)
    if done.returncode not in (0, 3):
        raise Invalid(f"status {done.returncode}: {done.stderr}")
    return out.read_text()


def check(name, words, work):
    schema = Schema(name)
    answer = json.loads(answer_of(words, "json", work / "answer"))
    if not rows_of(answer):
        raise Invalid("no rows: nothing was checked")
    schema.check_answer(answer)
    if "last" in schema.schema.get("definitions", {}):
        lines = answer_of(words, "jsonl", work / "lines").splitlines()
        schema.check_lines([json.loads(line) for line in lines], answer)


def check_files(name, files):
    schema = Schema(name)
    for file in files:
        text = pathlib.Path(file).read_text()
        for answer in text.splitlines() if file.endswith(".jsonl") else [text]:
            schema.check_answer(json.loads(answer))


# ---- every command has a schema, every schema an answer ----

def table():
    """{command: [schema]} of doc/schema/README.md."""
    found = {}
    for line in (schemas / "README.md").read_text().splitlines():
        row = re.fullmatch(r"\| (.*) \| \[([a-z-]+)\.json\]\(\2\.json\) \|", line)
        for command in re.findall(r"`([a-z-]+)[^`]*`", row[1]) if row else []:
            found.setdefault(command, set()).add(row[2])
    return found


def without_schema(documented):
    """Commands that write JSON, but are not in the table."""
    for command in re.findall(r"^  ([a-z][a-z-]*) ", run("--help").stdout, re.M):
        if command in documented or "--format FORMAT" not in run(command, "--help").stdout:
            continue
        supported = re.search(r"\(supported: (.*)\)", run(command, "cases/osv-reports/tracefile", "-f", "-").stderr)
        if not supported or "json" in supported[1].split():
            yield f"{command}: no schema in doc/schema/README.md"


def completeness(answers):
    documented = table()
    named = set().union(*documented.values())
    files = {path.stem for path in schemas.glob("*.json")} - {"common", "columns"}
    live = set(re.findall(r"^\s*follows ([a-z-]+) ", "".join(p.read_text() for p in (tests / "live").glob("*.sh")), re.M))
    live |= set(re.findall(r'^\s*follows\("([a-z-]+)"', "".join(p.read_text() for p in (tests / "page").glob("*.py")), re.M))
    yield from without_schema(documented)
    yield from (f"{name}.json is not in doc/schema/README.md" for name in sorted(files - named))
    yield from (f"{name}.json does not exist" for name in sorted(named - files))
    yield from (f"{name}.json: no test validates an answer" for name in sorted(files - live - {a for a, _ in answers}))
    yield from (f"{name}: {words[0]} is not in its row of doc/schema/README.md" for name, words in answers
                if name not in documented.get(words[0], ()))


def main():
    answers = [(name, command.split()) for name, command in
               (line.split(": ", 1) for line in (tests / "exports/answers").read_text().splitlines() if line[0] != "#")]
    faults = list(completeness(answers))
    print("not ok" if faults else "ok", "1 - every command with JSON has a schema that is tested")
    print("".join(f"# {fault}\n" for fault in faults), end="")
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_STATE_HOME"] = os.path.join(work, "state")
        run("baseline", "save", "good", "cases/exits/trace.txt")
        for nr, (name, words) in enumerate(answers, 2):
            try:
                check(name, words, pathlib.Path(work))
                print(f"ok {nr} - {' '.join(words)} follows {name}.json")
            except (Invalid, ValueError, subprocess.TimeoutExpired) as error:
                print(f"not ok {nr} - {' '.join(words)} follows {name}.json")
                print("# " + str(error).replace("\n", "\n# "))
    print(f"1..{len(answers) + 1}")


if len(sys.argv) > 1:
    try:
        check_files(sys.argv[1], sys.argv[2:])
    except (Invalid, ValueError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
else:
    main()
