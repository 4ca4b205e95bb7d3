#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
hostrace mcp as a client of the Model Context Protocol sees it: every answer is a part of what -f json prints, its pages
together are all of it and none exceeds its limit; wrong messages get the errors of JSON-RPC; no file is read but those of
the command line; the examples of doc/mcp.md are its answers. Prints TAP.

    tests/mcp/run.py        HOSTRACE: the program
"""
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HOSTRACE = os.path.abspath(os.environ.get("HOSTRACE", os.path.join(TOP, "build", "hostrace")))
TESTS = os.path.join(TOP, "tests")
os.chdir(TESTS)
SECONDS = 60 * int(os.environ.get("TAP_SLOWER", "1"))
FILES = ["golden/v1.4-columns.hrt", "golden/v1.4-zstd.hrt", "cases/blame-causes/trace.txt"]
# REPORT FILE [OPTION...]
RUNS = """
info golden/v1.4-columns.hrt
list cases/export/trace.txt
exits golden/v1.4-columns.hrt --by vcpu
blame cases/blame-causes/trace.txt
sched cases/sched/trace.txt --by task
faults cases/faults/trace.txt --by vma
syscalls cases/syscalls/trace.txt --by tid
interrupts cases/interrupts/trace.txt
downtime cases/downtime/trace.txt
boot cases/boot/trace.txt --by point
ports cases/ports/trace.txt
mmio cases/mmio/trace.txt
msrs cases/msrs/trace.txt
leaks cases/leak-devices/balloon.txt
heap cases/heap/trace.txt
virtio cases/virtio-in-flight/trace.txt
profile golden/v1.4-columns.hrt --host
sync cases/sync-osv/host.hrt
timeline cases/timeline/trace.txt
requests cases/requests-path/trace.txt --stages
diagnose cases/blame-causes/trace.txt
diagnose golden/v1.4-columns.hrt
report cases/export/trace.txt
summary cases/export/trace.txt pio
count golden/v1.4-columns.hrt exit-latency
histogram oracles/exits.data exit-latency
heatmap cases/export/trace.txt exit-latency
list-spans cases/analyzers/trace.txt sched-out
"""
number = 0
failed = False


def result(name, why=""):
    global number, failed
    number += 1
    failed |= bool(why)
    print(f"{'not ' * bool(why)}ok {number} - {name}")
    for line in str(why).splitlines()[:20]:
        print("#", line[:400])


def check(name, function, *args):
    try:
        result(name, function(*args) or "")
    except Exception as error:
        result(name, f"{type(error).__name__}: {error}")


class Client:
    """One server, asked one request after the other."""

    def __init__(self, *files, **more):
        self.process = subprocess.Popen([HOSTRACE, "mcp", *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **more)
        self.number = 0

    def send(self, line):
        self.process.stdin.write(line if isinstance(line, bytes) else line.encode() + b"\n")
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline(), parse_int=integer)

    def ask(self, method, params=None):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method}
        self.send(json.dumps(message | ({"params": params} if params is not None else {})))
        answer = self.receive()
        assert answer["jsonrpc"] == "2.0" and answer["id"] == self.number, answer
        return answer

    def initialize(self):
        answer = self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
        self.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        return answer["result"]

    def call(self, name, **arguments):
        """The text of a tool's answer."""
        answer = self.ask("tools/call", {"name": name, "arguments": arguments})
        assert "result" in answer, answer
        (content,) = answer["result"]["content"]
        assert content["type"] == "text"
        if answer["result"]["isError"]:
            raise ToolError(content["text"])
        assert len(content["text"]) <= 4 * arguments.get("limit", 4000), f"{len(content['text'])} bytes"
        return json.loads(content["text"], parse_int=integer)

    def end(self):
        """The status and what it printed besides."""
        self.process.stdin.close()
        rest = self.process.stdout.read()
        error = self.process.stderr.read().decode()
        return self.process.wait(SECONDS), rest, error


class ToolError(Exception):
    pass


def integer(text):
    """Exact, also above 2^63."""
    return int(text)


def merge(a, b):
    """What two pages are together."""
    for key, value in b.items():
        if isinstance(value, dict) and isinstance(a.get(key), dict):
            merge(a[key], value)
        elif isinstance(value, list) and isinstance(a.get(key), list):
            a[key] += value
        else:
            a[key] = value


def all_pages(client, name, **arguments):
    page = client.call(name, **arguments)
    answer, pages, end = page["answer"], 1, page["parts"]["to"]
    while "next_cursor" in page:
        page = client.call(name, **arguments, cursor=page["next_cursor"])
        assert page["parts"]["from"] == end and page["parts"]["to"] > end, page["parts"]
        end = page["parts"]["to"]
        merge(answer, page["answer"])
        pages += 1
    assert end == page["parts"]["of"], page["parts"]
    return answer, pages, page["status"]


def command(*args):
    done = subprocess.run([HOSTRACE, *args, "-f", "json"], capture_output=True, text=True, timeout=SECONDS)
    return json.loads(done.stdout, parse_int=integer), done.returncode


def same(report, path, *options):
    client = Client(path)
    name = "diagnose" if report == "diagnose" else "run_report"
    arguments = {"report": report} if name == "run_report" else {}
    want, status = command(report, *options, "-i", path)
    for limit in (4000, 100000):
        got, pages, ended = all_pages(client, name, **arguments, options=list(options), limit=limit)
        if '"omitted_bytes"' not in json.dumps(got):
            assert got == want, f"limit {limit}: differs from -f json:\n{json.dumps(got)[:300]}\n{json.dumps(want)[:300]}"
            assert ended == status, f"status {ended}, not {status}"
            break
    else:
        return "parts are omitted with 100,000 tokens"
    client.end()


def protocol():
    c = Client(*FILES)
    got = c.initialize()
    assert got["protocolVersion"] == "2025-06-18" and got["capabilities"] == {"tools": {}} and got["serverInfo"]["name"] == "hostrace", got
    assert c.ask("ping")["result"] == {}
    tools = c.ask("tools/list")["result"]["tools"]
    assert [t["name"] for t in tools] == ["list_reports", "describe", "run_report", "sql", "diagnose"], tools
    for t in tools:
        assert t["inputSchema"]["type"] == "object" and t["annotations"]["readOnlyHint"] is True and t["description"], t
    assert len(json.dumps(tools)) < 4 * 4000
    assert c.ask("initialize", {"protocolVersion": "2024-11-05"})["result"]["protocolVersion"] == "2024-11-05"
    assert c.ask("initialize", {"protocolVersion": "2999-01-01"})["result"]["protocolVersion"] == "2025-06-18"
    status, rest, error = c.end()
    assert (status, rest, error) == (0, b"", ""), (status, rest, error)


def errors():
    c = Client(*FILES)
    call = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":%s}'
    for line, code in (("broken", -32700), ('{"jsonrpc":"2.0","id":1', -32700), ("[" * 5000, -32700), ('"\\ud800"', -32700),
                       ("[]", -32600), ("1", -32600), ("{}", -32600), ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                       ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                       ('{"jsonrpc":"2.0","id":[],"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1,"method":3}', -32600),
                       ('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
                       ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600), ('{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601),
                       ('{"jsonrpc":"2.0","id":1,"method":"initialize"}', -32602), ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                       ('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', -32602),
                       (call % "{}", -32602), (call % '{"name":"rm"}', -32602), (call % '{"name":"sql","arguments":[]}', -32602),
                       (call % '{"name":"sql","arguments":{"query":1}}', -32602), (call % '{"name":"sql","arguments":{"file":"/etc/passwd"}}', -32602),
                       (call % '{"name":"describe","arguments":{"path":"x"}}', -32602),
                       (call % '{"name":"run_report","arguments":{"report":"record"}}', -32602),
                       (call % '{"name":"run_report","arguments":{"report":"sql"}}', -32602),
                       (call % '{"name":"run_report","arguments":{"report":"exits"}}', -32602),
                       (call % '{"name":"run_report","arguments":{"report":"exits","file":"v1.4-zstd.hrt","options":"x"}}', -32602),
                       (call % '{"name":"run_report","arguments":{"report":"exits","file":"v1.4-zstd.hrt","limit":1}}', -32602),
                       (call % '{"name":"run_report","arguments":{"report":"exits","file":"v1.4-zstd.hrt","cursor":"99999"}}', -32602),
                       (call % '{"name":"run_report","arguments":{"report":"exits","file":"v1.4-zstd.hrt","cursor":"-1"}}', -32602),
                       (call % '{"name":"list_reports","arguments":{"cursor":"99999-0"}}', -32602),
                       (call % '{"name":"list_reports","arguments":{"cursor":"5-0-"}}', -32602)):
        c.send(line)
        got = c.receive()
        assert got["error"]["code"] == code and got["error"]["message"], f"{line[:100]}: {got}"
        assert got["id"] == (7 if line.startswith(call[:20]) and '"id":7' in line else json.loads(line)["id"] if code in (-32601, -32602) else
                             got["id"]), f"{line}: {got}"
    for line in ('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}', '{"jsonrpc":"2.0","method":"nothing"}',
                 '{"jsonrpc":"2.0","id":4,"result":{}}', "", "\r"):
        c.send(line)
    assert c.ask("ping")["result"] == {}, "a notification was answered"
    c.send(b'{"jsonrpc":"2.0","id":"x","method":"ping"}\r\n')
    assert c.receive()["id"] == "x"
    status, rest, error = c.end()
    assert (status, rest, error) == (0, b"", ""), (status, rest, error)


def long_lines():
    c = Client(*FILES)
    c.send(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (3 << 20) + b'"}\n')
    assert c.receive()["error"]["code"] == -32600
    assert c.ask("ping")["result"] == {}, "the rest of the line was answered"
    inside = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"y" * 1000000 + b'"}}\n'
    c.send(inside)
    assert c.receive()["result"] == {}
    c.send(b'{"jsonrpc":"2.0","id":9,"method":"ping"}')  # its end is that of the input
    status, rest, _ = c.end()
    assert status == 0 and json.loads(rest)["id"] == 9, rest
    c = Client(*FILES)
    c.send(b"x" * (2 << 20))
    status, rest, _ = c.end()
    assert status == 0 and len(rest.splitlines()) == 1, rest
    c = Client(*FILES)
    c.process.stdout.close()
    c.send('{"jsonrpc":"2.0","id":9,"method":"ping"}')
    c.process.stdin.close()
    assert c.process.wait(SECONDS) in (0, 1, -13)


def tool_error(client, words, name, **arguments):
    try:
        client.call(name, **arguments)
    except ToolError as error:
        assert words in str(error), str(error)
        return
    raise AssertionError(f"{arguments}: no error")


def files_only():
    """Files of the command line, whatever an assistant writes."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for f in FILES[:2]:
            shutil.copy(f, folder)
        other = os.path.join(folder, "other.hrt")
        c = Client(os.path.join(folder, "v1.4-columns.hrt"))
        os.rename(os.path.join(folder, "v1.4-zstd.hrt"), other)
        run = {"name": "run_report", "report": "exits"}
        for options in ([other], ["-i", other], ["--input=" + other], ["--guest", other], ["--symbols", other], ["-o", other + "x"],
                        ["-f", "csv"], ["--help"], ["--", other], ["-o", "-"], ["-q"]):
            tool_error(c, "", **run, options=options)
        tool_error(c, "", "run_report", report="list", options=["--follow"])
        tool_error(c, "", "run_report", report="list", options=["--tcpdump"])
        tool_error(c, "", "run_report", report="timeline", options=[other])
        tool_error(c, "", "run_report", report="virtio", options=["--state", "--vm", "1"])
        tool_error(c, "", "run_report", report="profile", options=["--live"])
        tool_error(c, "", "sql", query=other)
        tool_error(c, "", "sql", query=f"ATTACH '{other}' AS x")
        tool_error(c, "", "sql", query="SELECT 1; SELECT 2")
        assert not os.path.exists(other + "x")
        if subprocess.run([HOSTRACE, "--version"], capture_output=True).returncode == 0 and "san" not in HOSTRACE:
            status = open(f"/proc/{c.process.pid}/status").read()
            assert re.search(r"^Seccomp:\s+2$", status, re.M) and re.search(r"^NoNewPrivs:\s+1$", status, re.M), "it is not confined"
        assert c.call("run_report", report="exits")["status"] == 0
        c.end()


def directory():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for f in FILES[:2]:
            shutil.copy(f, folder)
        open(os.path.join(folder, ".hidden"), "w").close()
        c = Client(folder)
        files = c.call("describe")["answer"]["files"]
        assert [os.path.basename(f["file"]) for f in files] == ["v1.4-columns.hrt", "v1.4-zstd.hrt"], files
        assert files[0]["bytes"] == os.path.getsize(FILES[0])
        a = c.call("run_report", report="exits", file="v1.4-zstd.hrt")["answer"]
        want, _ = command("exits", "-i", files[1]["file"])
        assert a == want
        d, _, _ = all_pages(c, "run_report", report="diff", file="v1.4-columns.hrt", other_file="v1.4-zstd.hrt")
        assert d == command("diff", files[0]["file"], files[1]["file"])[0]
        c.end()


def file_names():
    """Two directories with a file of one name, and a name that is not UTF-8."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        paths = [os.path.join(folder, d, "x.hrt") for d in ("a", "b")]
        for f, path in zip(FILES[1:], paths):
            os.mkdir(os.path.dirname(path))
            shutil.copy(f, path)
        bad = os.fsencode(folder) + b"/b/bad\xff.hrt"
        shutil.copy(FILES[2], bad)
        c = Client(os.path.join(folder, "a"), os.path.join(folder, "b"), paths[0])
        listed = [f["file"] for f in c.call("describe")["answer"]["files"]]
        assert sorted(listed) == sorted([*paths, folder + "/b/bad?.hrt"]), listed
        answers = [c.call("run_report", report="exits", file=path)["answer"]["rows"] for path in paths]
        for path, rows in zip(paths, answers):
            assert rows == command("exits", "-i", path)[0]["rows"], path
        assert answers[0] != answers[1]
        for name in ("bad?.hrt", folder + "/b/bad?.hrt"):
            assert c.call("run_report", report="exits", file=name)["answer"]["rows"] == answers[1], name
        wrong = [({"report": "exits", "file": "x.hrt"}, "2 files are named 'x.hrt'"),
                 ({"report": "diff", "file": paths[0], "other_file": "x.hrt"}, "2 files are named 'x.hrt'"),
                 ({"report": "exits", "file": paths[0], "other_file": paths[1]}, "diff only"),
                 ({"report": "exits", "file": "bad.hrt"}, "unknown file")]
        for arguments, words in wrong:
            got = c.ask("tools/call", {"name": "run_report", "arguments": arguments})
            assert got.get("error", {}).get("code") == -32602 and words in got["error"]["message"], got
        shutil.copy(FILES[2], bad[:-5] + b"\xfe.hrt")
        c.end()
        c = Client(os.path.join(folder, "b"))
        got = c.ask("tools/call", {"name": "describe", "arguments": {"file": folder + "/b/bad?.hrt"}})
        assert "renaming one" in got["error"]["message"], got
        c.end()


def changed_file():
    """A recording that was made again is read again, and pages of two recordings are not mixed."""
    query = "SELECT time_ns, event, fields FROM events"
    for put in (shutil.copy, lambda a, b: os.replace(shutil.copy(a, b + ".new"), b)):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            paths = [os.path.join(folder, n) for n in ("st.hrt", "b.hrt")]
            for path in paths:
                shutil.copy(FILES[0], path)
            c = Client(folder)
            calls = [dict(name="run_report", report="exits", file="st.hrt"), dict(name="describe", file="st.hrt"),
                     dict(name="run_report", report="diff", file="b.hrt", other_file="st.hrt")]
            for call in calls:
                before = c.call(**call, limit=100000)["answer"]
                put(FILES[2], paths[0])
                assert before != c.call(**call, limit=100000)["answer"], f"{call}: the answer of the file as it was before"
                put(FILES[0], paths[0])
                assert before == c.call(**call, limit=100000)["answer"], f"{call}: differs"
            page = c.call("sql", file="st.hrt", query=query, limit=400)
            put(FILES[2], paths[0])
            tool_error(c, "has changed", "sql", file="st.hrt", query=query, limit=400, cursor=page["next_cursor"])
            c.call("run_report", report="exits", file="st.hrt")
            tool_error(c, "has changed", "sql", file="st.hrt", query=query, limit=400, cursor=page["next_cursor"])
            assert all_pages(c, "sql", file="st.hrt", query=query, limit=400)[1] > 1
            c.end()


def describe():
    c = Client(FILES[2])
    got = c.call("describe", limit=100000)["answer"]
    info, diagnosis = command("info", FILES[2])[0], command("diagnose", FILES[2])[0]
    assert got["result"] == info["result"] and got["caveats"] == info["caveats"], got
    assert got["not_recorded"] == diagnosis["result"]["not_recorded"], got
    c.end()


def sql():
    c = Client(FILES[0])
    query = "SELECT reason, count(*) n, quantile(duration_ns, .99) p99 FROM exits GROUP BY reason"
    assert all_pages(c, "sql", query=query)[0] == command("sql", FILES[0], query)[0]
    query = "SELECT time_ns, event, fields FROM events"
    got, pages, _ = all_pages(c, "sql", query=query, limit=400)
    assert got == command("sql", FILES[0], query)[0] and pages > 1, pages
    tables = all_pages(c, "sql")[0]["tables"]
    want = subprocess.run([HOSTRACE, "sql", "-i", FILES[0], "--schema"], capture_output=True, text=True).stdout
    assert "\n".join(tables) + "\n" == want
    assert c.call("sql", query="-- a comment\nSELECT 1 AS x")["answer"]["rows"] == [{"x": 1}]
    assert c.call("sql", query="--\nSELECT 1 AS x")["answer"]["rows"] == [{"x": 1}]
    for query in ("--schema", "-- only a comment", "-v", ""):
        tool_error(c, "the query is empty" if query[:2] in ("--", "") else "syntax error", "sql", query=query)
    tool_error(c, "no such table", "sql", query="SELECT * FROM nowhere")
    c.end()


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c"
# Reads the events again and again.
PRODUCT = "SELECT count(*) FROM events a, events b, events c, events d, events e"


def within(client, seconds=20):
    """The next answer; the server is killed if there is none."""
    timer = threading.Timer(seconds * SECONDS / 60, client.process.kill)
    timer.start()
    try:
        return client.receive()
    finally:
        timer.cancel()


def send_query(client, query, number):
    client.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "sql", "arguments": {"query": query}}}))


def cancelled_query():
    """By its own number only; requests that came before are answered after it."""
    for query, number in ((ENDLESS, 1), (PRODUCT, "a")):
        c = Client(FILES[0])
        send_query(c, query, number)
        time.sleep(.3)
        for other in ('{"jsonrpc":"2.0","id":5,"method":"ping"}', '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}',
                      '{"jsonrpc":"2.0","method":"notifications/cancelled"}', "cancelled"):
            c.send(other)
        time.sleep(.3)
        assert not select.select([c.process.stdout], [], [], 0)[0], "ended by another's cancellation"
        c.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}).replace("/", "\\/"))
        assert within(c)["id"] == 5
        assert within(c)["error"]["code"] == -32700
        send_query(c, "SELECT 1", 6)
        assert within(c)["result"]["isError"] is False
        assert c.end()[:2] == (0, b"")


def query_after_end():
    """A short query is answered after the end of standard input, a long one ends."""
    done = subprocess.run([HOSTRACE, "mcp", FILES[0]], capture_output=True, timeout=SECONDS, text=True, input="".join(
        json.dumps({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": "sql", "arguments": {"query": q}}}) + "\n"
        for i, q in enumerate((ENDLESS, "SELECT count(*) FROM exits"))))
    long, short = map(json.loads, done.stdout.splitlines())
    assert long["result"]["isError"] and "2 s after the end of standard input" in long["result"]["content"][0]["text"], long
    assert short["id"] == 1 and not short["result"]["isError"] and done.returncode == 0, short


def query_begin():
    """It is stopped for 30 s, which cost no CPU time."""
    c = Client(FILES[0])
    send_query(c, ENDLESS, 1)
    time.sleep(1)
    c.process.send_signal(signal.SIGSTOP)
    return c, time.monotonic()


def query_limit(c, begin):
    time.sleep(max(0, begin + 30 - time.monotonic()))
    c.process.send_signal(signal.SIGCONT)
    got = within(c)["result"]
    assert got["isError"] and "more than 30 s" in got["content"][0]["text"], got
    assert c.ask("ping")["result"] == {}
    c.end()


def reports():
    c = Client(FILES[0])
    names = [r["report"] for r in c.call("list_reports")["answer"]["reports"]]
    missing = set(names) - {line.split()[0] for line in RUNS.strip().splitlines()} - {"sql", "diff"}
    assert not missing, f"not tried: {missing}"
    for name in names:
        one, _, _ = all_list(c, name)
        assert one["report"] == name and not any(o.startswith(("--input", "--output", "--guest ", "--format")) for o in one["options"]), one
    tool_error(c, "no-such-option", "run_report", report="exits", options=["--no-such-option"])
    c.end()


def all_list(c, name):
    page = c.call("list_reports", report=name)
    answer = page["answer"]
    while "next_cursor" in page:
        page = c.call("list_reports", report=name, cursor=page["next_cursor"])
        merge(answer, page["answer"])
    return answer, page, None


def document():
    """Lines that begin with > are sent, those with < are the answers, where ... stands for any text."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        subprocess.run([HOSTRACE, "-q", "import", "cases/exits/trace.txt", "-o", os.path.join(folder, "vm.hrt")], check=True)
        os.chmod(os.path.join(folder, "vm.hrt"), 0o644)
        c = Client("vm.hrt", cwd=folder)
        asked, wrong = 0, []
        for line in open(os.path.join(TOP, "doc", "mcp.md")):
            if line.startswith("> "):
                c.send(line[2:].rstrip())
                asked += 1
            if line.startswith("< "):
                got = c.process.stdout.readline().decode().rstrip()
                pattern = ".*".join(re.escape(p) for p in line[2:].rstrip().split("..."))
                if not re.fullmatch(pattern, got):
                    wrong.append(f"{line[2:].rstrip()}\nis {got}")
        c.end()
        assert asked >= 5, f"{asked} examples"
        return "\n".join(wrong)


def missing_file():
    done = subprocess.run([HOSTRACE, "mcp", "golden/nothing.hrt"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 1 and "No such file" in done.stderr and not done.stdout, done


def closed_input():
    """Its number must not be that of a file which the server itself opens."""
    done = subprocess.run([HOSTRACE, "mcp", FILES[0]], preexec_fn=lambda: os.close(0), capture_output=True, timeout=SECONDS)
    assert (done.returncode, done.stdout) == (0, b""), (done.returncode, done.stdout[:300], done.stdout.count(b"\n"))


def main():
    stopped, begin = query_begin()
    check("initialize, ping, tools/list", protocol)
    check("errors of JSON-RPC; notifications are not answered", errors)
    check("lines that are too long, the end of input and of output", long_lines)
    for line in RUNS.strip().splitlines():
        report, path, *options = line.split()
        check(f"the pages of {line} are its JSON", same, report, path, *options)
    check("files of one name, and of names that are not UTF-8", file_names)
    check("a file that changed is read again", changed_file)
    check("describe is info and what diagnose lacks", describe)
    check("sql", sql)
    check("a query is cancelled", cancelled_query)
    check("a query after the end of standard input", query_after_end)
    check("list_reports names reports, options and columns", reports)
    check("no other file is read or written", files_only)
    check("files of a directory", directory)
    check("a missing file is an error", missing_file)
    check("a closed standard input has no messages", closed_input)
    check("the examples of doc/mcp.md", document)
    check("a query has a limit of time", query_limit, stopped, begin)
    print(f"1..{number}")
    sys.exit(failed)


main()
