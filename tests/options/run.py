#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every option of every command changes what the command does, or is an error of usage (status 2).

Commands and options are those that --help prints. tests/options/runs has for each command what it is run with, and
values of options. A command is run without and with each option, in each format and on each kind of input listed there,
which must change its output, its messages, its status or the file that it writes. Prints TAP, one result per command.

    tests/options/run.py [COMMAND...]
"""
import concurrent.futures
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
cases = os.path.join(here, "..", "cases")
hostrace = os.path.realpath(os.environ.get("HOSTRACE", "build/hostrace"))
SECONDS = 20 * int(os.environ.get("TAP_SLOWER", "1"))
COMMON = {"help", "quiet", "notes", "verbose", "color", "no-pager"}  # of every command, about the terminal
environment = {"PATH": os.environ.get("PATH", ""), "HOME": "/", "TZ": "UTC", "LC_ALL": "C", "TERM": "dumb",
               "COLUMNS": "40"}  # --wide has an effect on most lines


def table_read(path):
    """COMMAND: ARGUMENTS; COMMAND + ARGUMENTS; COMMAND = ARGUMENTS; COMMAND ! ARGUMENTS;
    COMMAND --OPTION[=VALUE][: ARGUMENTS]; COMMAND - REASON; COMMAND --OPTION - REASON. '*' is every command."""
    base, value, exempt, modes = {}, {}, {}, {}
    for line in open(path):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        m = re.fullmatch(r"(\S+) ([+=!]) (.*)", line)
        if m:
            modes.setdefault(m[1], []).append((m[2], m[3]))
            continue
        m = re.fullmatch(r"(\S+)(?: --([a-z,-]+)(?:=(\S+))?)?(?: - (.*)|: (.*))?", line)
        if not m:
            sys.exit(f"Bail out! {path}: {line}")
        command, options, text, reason, arguments = m.groups()
        for option in options.split(",") if options else [None]:
            if reason:
                exempt[command, option] = reason
            if arguments is not None:
                base[command, option] = arguments
            if text is not None:
                value[command, option] = text
    return base, value, exempt, modes


def commands():
    text = subprocess.run([hostrace, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z][a-z-]*) +\S", text, re.M)


def options_of(command):
    """(name, whether it needs a value)"""
    text = subprocess.run([hostrace, command, "--help"], capture_output=True, text=True, check=True).stdout
    text = text[text.index("\nOptions\n"):]
    found = re.findall(r"^  (?:-.,|   ) --([a-z-]+)(?: (\S+))?(?:  |$)", text, re.M)
    return [(name, bool(arg)) for name, arg in found if name not in COMMON]


# Whose values add up.
REPEATED = {"input", "guest", "vm", "event", "reason", "vcpu", "tid", "vm-user", "module", "host", "stop-on", "trigger"}
VALUES = {"T": "1s", "TIME": "1s", "SIZE": "1M", "N": "3", "FILE": "x", "HZ": "97"}


def live_check(command, refused):
    """Of a live command, which is not run: an option that --help calls one "with --OTHER" is an error without that."""
    text = subprocess.run([hostrace, command, "--help"], capture_output=True, text=True, check=True).stdout
    text = re.sub(r"\n {20,}", " ", text[text.index("\nOptions\n"):])
    found = re.findall(r"^  (?:-.,|   ) --([a-z-]+)(?: (\S+))? +(?:repeatable, )?with --[a-z]", text, re.M)
    vm = ["--vm", "no-such-vm"] if "--vm " in text else []
    for option, value in found:
        words = [hostrace, command, *vm, f"--{option}={VALUES[value]}" if value else f"--{option}"]
        r = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=SECONDS)
        if r.returncode != 2:
            yield f"--{option} alone is no error: {' '.join(words[1:])}: {r.stderr}"
    for arguments in refused:
        words = [hostrace, command, *arguments.split()]
        r = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=SECONDS)
        if r.returncode != 2:
            yield f"not refused: {' '.join(words[1:])}: {r.stderr}"
    yield len(found) + len(refused)


def values_check(command, is_run):
    """An option that takes one value is an error if it is given twice; so is an empty value of any option."""
    text = subprocess.run([hostrace, command, "--help"], capture_output=True, text=True, check=True).stdout
    text = re.sub(r"\n {20,}", " ", text[text.index("\nOptions\n"):])
    nr = 0
    for option, arg, rest in re.findall(r"^  (?:-.,|   ) --([a-z-]+) (\S+)(?:  | (?=[a-z]))(.*)$", text, re.M):
        def refused(wanted, *words):
            r = subprocess.run([hostrace, command, *words], capture_output=True, text=True, env=environment,
                               stdin=subprocess.DEVNULL, timeout=SECONDS)
            return r.returncode == 2 and wanted in r.stderr
        nr += 1
        value = VALUES.get(arg, {"KHZ": "1", "PID": "1", "MS": "1"}.get(arg, "x"))
        is_number = bool(re.match("[0-9]", value))
        if not refused("" if is_number or arg.startswith("N[") else "empty value", f"--{option}="):
            yield f"--{option}: an empty value is no error"
        if "," in arg and not refused("", f"--{option}=x,,y"):
            yield f"--{option}=x,,y is no error"
        adds_up = option in REPEATED or "repeatable" in rest
        if adds_up and not is_run:
            continue
        twice = refused("given twice", f"--{option}={value}", f"--{option}={value}")
        if twice == adds_up:
            yield f"--{option}: {'repeatable, but refused' if twice else 'given twice is no error'}"
    yield nr


def inputs_make(work):
    """The cases' folders; a trace in ticks of an unknown TSC; recordings with a guest's trace
    and with symbols next to them."""
    for name in os.listdir(cases):
        os.symlink(os.path.join(cases, name), os.path.join(work, name))
    with open(os.path.join(work, "ticks.txt"), "w") as f:
        for t in range(0, 2000000, 100000):
            f.write(f"  qemu-101 [019] {t}: kvm_exit: reason HLT rip 0x1000 info 0 0\n"
                    f"  qemu-101 [019] {t + 50000}: kvm_entry: vcpu 0\n")
    size = os.path.getsize(os.path.join(cases, "guest-beside", "vm.guest"))
    meta = {"guests": [{"source": "serial:/run/vm", "file": "/x/vm.guest", "kind": "guest-stream", "bytes": size,
                        "units": 1, "damaged": 0, "error": ""}]}
    with open(os.path.join(work, "vm.hrt"), "w") as f:
        f.write(f"# hostrace text 1\n# meta {json.dumps(meta)}\n")
        f.write(open(os.path.join(cases, "guest-beside", "host.txt")).read())
    shutil.copy(os.path.join(cases, "guest-beside", "vm.guest"), work)
    shutil.copy(os.path.join(cases, "exits-symbols", "trace.txt"), os.path.join(work, "saved.hrt"))
    subprocess.run([hostrace, "import", "-q", os.path.join(cases, "profile-host", "clock.txt"), "-o",
                    os.path.join(work, "sampled.hrt")], check=True)
    shutil.copy(os.path.join(cases, "exits-symbols", "kallsyms"), os.path.join(work, "saved.guest.kallsyms"))


def run(work, words):
    """What a run shows: its status, output, messages, and the file or directory that it writes."""
    place = tempfile.mkdtemp(dir=work)
    out = os.path.join(place, "out")
    words = [w.replace("OUT", out) for w in words]
    try:
        r = subprocess.run([hostrace, *words], capture_output=True, stdin=subprocess.DEVNULL, cwd=work, env=environment,
                           timeout=SECONDS)
        shown = [r.returncode, r.stdout, r.stderr]
    except subprocess.TimeoutExpired:
        return [-1, b"", b"does not end"]
    for folder, _, files in sorted(os.walk(place)):
        for f in sorted(files):
            shown.append(f)
            path = os.path.join(folder, f)
            data = open(path, "rb").read()
            if data.startswith(b"HOSTRACE"):  # its header has a random identifier
                data = subprocess.run([hostrace, "export", "text", path], capture_output=True).stdout
            shown.append(data)
    shutil.rmtree(place)
    return [s.replace(place.encode(), b"") if isinstance(s, bytes) else s for s in shown]


@functools.lru_cache(maxsize=None)
def run_without_option(work, *words):
    """Most options of a command are compared with the same run."""
    return run(work, words)


def check(work, table, command, option, needs_value):
    """What is wrong, or None."""
    base, value, exempt, modes = table
    if (command, option) in exempt or ("*", option) in exempt:
        return None
    arguments = base.get((command, option))
    if arguments is None and ("*", option) in base:
        arguments = f"{base.get((command, 'what'), '')} {base['*', option]}"
    if arguments is None:
        arguments = base.get((command, None), "")
    given = value.get((command, option), value.get(("*", option)))
    if needs_value and given is None:
        return f"--{option}: no value in tests/options/runs"
    option_word = f"--{option}={given}" if needs_value else f"--{option}"
    wrong = try_option(work, command, option, arguments.split(), option_word, (command, option) in base)
    for kind, words in modes.get(command, []):
        words = words.split()
        if option == "strict" or (kind == "+" and ("*", option) in base):  # which need an input of their own
            continue
        if not wrong and option not in ("format", "output") and "--" + option not in [*arguments.split(), *words]:
            words = arguments.split() + words if kind == "+" else words
            wrong = try_option(work, command, option, words, option_word, True)
    return wrong


def try_option(work, command, option, arguments, option_word, may_fail):
    """What is wrong, or None."""
    with_option = [command, *arguments, option_word]
    before, after = run_without_option(work, command, *arguments), run(work, with_option)
    if before[0] not in (0, 3) and after[0] not in (0, 3) and not may_fail:
        return f"fails with and without --{option}: {command} {' '.join(arguments)}: {before[2].decode()}"
    if after[0] != 2 and after == before:
        return f"no effect: {' '.join(with_option)}"
    name, _, given = option_word.partition("=")
    if after[0] == 2 and before[0] != 2 and re.match("[0-9]", given) and name + "=0" != option_word:
        return try_zero(work, [command, *arguments, name + "=0"])
    return None


def try_zero(work, words):
    """An option that has no effect has none with the value of its absence either, and is refused."""
    return None if run(work, words)[0] == 2 else f"not refused with this value: {' '.join(words)}"


def main():
    table = table_read(os.path.join(here, "runs"))
    names = [c for c in commands() if not sys.argv[1:] or c in sys.argv[1:]]
    bad = 0
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        inputs_make(work)
        for nr, command in enumerate(names, 1):
            *wrong_values, found = values_check(command, (command, None) not in table[2])
            print("\n".join(f"# {command}: {w}" for w in wrong_values), end="\n" if wrong_values else "")
            bad += bool(wrong_values)
            if (command, None) in table[2]:
                *wrong, found = live_check(command, [a for kind, a in table[3].get(command, []) if kind == "!"])
                print(f"{'not ok' if wrong else 'ok'} {nr} - {command}: {table[2][command, None]}; {found} uses of options")
                for w in wrong:
                    print("#", w.replace("\n", "\n# "))
                bad += bool(wrong)
                continue
            options = options_of(command)
            wrong = [w for w in pool.map(lambda o: check(work, table, command, *o), options) if w]
            if (command, None) not in table[0]:
                wrong = [f"'{command}' is not in tests/options/runs"]
            print(f"{'not ok' if wrong else 'ok'} {nr} - {command}: {len(options)} options", flush=True)
            for w in wrong:
                print("#", w.replace("\n", "\n# "))
            bad += bool(wrong)
    print(f"1..{len(names)}")
    sys.exit(bad > 0)


main()
