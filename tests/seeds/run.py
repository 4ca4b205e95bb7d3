#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The items of the documents that hostrace was ordered from (items): run.py executes those that can be executed, and
checks that the tests exist that the others name and that doc/seeds.md is what the list says. Prints TAP.

    run.py            HOSTRACE: the program (build/hostrace)
    run.py --page     prints doc/seeds.md
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS = ("works", "partly", "not", "out")
SECONDS = 60


def items():
    """(title, [(result, item, command, note)]) of each document."""
    documents = []
    for number, line in enumerate((HERE / "items").read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("= "):
            documents.append((line[2:], []))
            continue
        parts = [part.strip() for part in re.split(r" ::(?= |$)", line)]
        if len(parts) != 4 or parts[0] not in RESULTS:
            sys.exit(f"items:{number}: expected RESULT :: ITEM :: COMMAND :: NOTE")
        documents[-1][1].append(tuple(parts))
    return documents


def cell(text):
    return text.replace("|", "\\|")


def page():
    documents = items()
    every = [item for _, of in documents for item in of]
    lines = [
        "# The documents that hostrace was ordered from",
        "",
        "What they show, item by item, with the command that answers it and the result. Made from `tests/seeds/items` by",
        "`tests/seeds/run.py --page`; `tests/seeds/run.py` (part of `make check`) executes the commands that need no running",
        "VM on the traces of `tests/cases`, and checks that the named tests exist. *partly* and *not* say what is missing;",
        "*out* is out of scope, with the reason. The documents are prose and slides; how many items they have depends on how",
        f"finely they are split: here {len(every)}.",
        "",
        "| document | " + " | ".join(RESULTS) + " | items |",
        "|---|" + "---|" * (len(RESULTS) + 1),
    ]
    for title, of in documents + [("all", every)]:
        counts = [sum(item[0] == result for item in of) for result in RESULTS]
        lines.append(f"| {title} | " + " | ".join(map(str, counts)) + f" | {len(of)} |")
    for title, of in documents:
        lines += ["", f"## {title}", "", "| item | result | command | note |", "|---|---|---|---|"]
        for result, item, command, note in of:
            executed = command.startswith("$ ")
            shown = command.removeprefix("$ ")
            shown = f"`{cell(shown)}`" if shown else ""
            note = note or ("executed" if executed else "")
            lines.append(f"| {cell(item)} | {result} | {shown} | {cell(note)} |")
    return "\n".join(lines) + "\n"


def words_of(command):
    """What of a command the test must have as well: the command, its action, its options."""
    words = command.split()[1:] if command.startswith("hostrace ") else []
    actions = words[1:2] if words[:1] == ["guest"] else []
    return words[:1] + actions + [word for word in words if word.startswith("--") and word not in ("--", "--vm")]


def fault_of(item, environment):
    """Why an item is not what the list says; None: it is."""
    result, _, command, note = item
    if command.startswith("$ "):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                ["bash", "-c", command[2:]], cwd=ROOT / "tests/cases", env={**environment, "TMP": directory},
                stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
        if done.returncode or not done.stdout:
            return f"status {done.returncode}, {len(done.stdout)} bytes: {done.stderr.decode(errors='replace')[:300]}"
        return None
    if result in ("works", "partly"):
        named = re.findall(r"tests/[\w./-]+", note)
        if not named:
            return "no command that is executed, and no test is named"
        missing = [name for name in named if not (ROOT / name).exists()]
        if missing:
            return f"there is no {missing[0]}"
        text = " ".join((ROOT / name).read_text() for name in named)
        absent = [word for word in words_of(command) if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)]
        return f"{named} have no {' '.join(absent)}" if absent else None
    return None if note else "no reason"


def main():
    if sys.argv[1:] == ["--page"]:
        sys.stdout.write(page())
        return
    program = Path(os.environ.get("HOSTRACE", ROOT / "build/hostrace")).resolve()
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "LC_ALL": "C", "TERM": "dumb"}
    every = [(title, item) for title, of in items() for item in of]
    print(f"1..{len(every) + 1}")
    for number, (title, item) in enumerate(every, 1):
        fault = fault_of(item, environment)
        print(f"{'not ' if fault else ''}ok {number} - {title}: {item[1].replace('#', '')}")
        if fault:
            print("# " + " ".join([item[2], fault]).replace("\n", " "))
    fresh = (ROOT / "doc/seeds.md").read_text() == page()
    print(f"{'' if fresh else 'not '}ok {len(every) + 1} - doc/seeds.md is what tests/seeds/items says (run.py --page)")


main()
