# SPDX-License-Identifier: GPL-2.0-or-later
"""
Recordings of hostrace in Python: events, the rows of every report, and answers to SQL.

    import hostrace

    trace = hostrace.Trace("vm.hrt")
    for row in trace.report("exits", by="vcpu"):
        print(row["vcpu"], row["reason"], row["p99_ns"])

Values are those of `hostrace NAME -f json`; None is what was not recorded. Recipes: doc/python.md.

libhostrace is called by ctypes: it needs no compiler, and one package fits every version of Python. Nothing is kept between
calls: each reads the file again. The library is for one thread at a time: a lock sees to that.
"""
from __future__ import annotations

import ctypes
import json
import os
import threading
from dataclasses import dataclass, field
from typing import Any, Iterator, Optional, Union

from . import _arrow

__all__ = ["Column", "Error", "Event", "Rows", "Trace", "reports", "version"]

Option = Union[str, int, float, bool, list, tuple, None]
_KINDS = ("none", "integer", "real", "text", "boolean", "json")
_NONE, _INTEGER, _REAL, _TEXT, _BOOLEAN, _JSON = range(6)
_FIELD_SIGNED, _FIELD_TEXT = 1, 2
_REPEATED = ("guest", "module")  # files: given once for each; of other options, values of a list are separated by commas
_lock = threading.RLock()


class Error(Exception):
    """What hostrace says: a file cannot be read, an option is not right, ..."""


class _CEvent(ctypes.Structure):
    _fields_ = [("time_ns", ctypes.c_uint64), ("name", ctypes.c_char_p), ("source", ctypes.c_char_p), ("thread", ctypes.c_char_p),
                ("pid", ctypes.c_uint32), ("tid", ctypes.c_uint32), ("cpu", ctypes.c_int32), ("vcpu", ctypes.c_int32),
                ("nr_fields", ctypes.c_uint32)]


class _CValue(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("integer", ctypes.c_int64), ("real", ctypes.c_double), ("text", ctypes.c_char_p)]


class _CColumn(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("unit", ctypes.c_char_p), ("explanation", ctypes.c_char_p), ("kind", ctypes.c_int)]


_HANDLE, _TEXT_P, _U32, _U64 = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (_TEXT_P, []),
    "error": (_TEXT_P, []),
    "open": (_HANDLE, [_TEXT_P]),
    "open_with_guest": (_HANDLE, [_TEXT_P, _TEXT_P]),
    "open_where": (_HANDLE, [_TEXT_P, _TEXT_P]),
    "close": (None, [_HANDLE]),
    "next": (ctypes.c_int, [_HANDLE, _HANDLE]),
    "field_name": (_TEXT_P, [_HANDLE, _U32]),
    "field_kind": (ctypes.c_int, [_HANDLE, _U32]),
    "field_number": (_U64, [_HANDLE, _U32]),
    "field_text": (_TEXT_P, [_HANDLE, _U32]),
    "report_count": (_U32, []),
    "report_name": (_TEXT_P, [_U32]),
    "report_summary": (_TEXT_P, [_U32]),
    "report_run": (_HANDLE, [_TEXT_P, _TEXT_P, _HANDLE]),
    "report_close": (None, [_HANDLE]),
    "report_columns": (_U32, [_HANDLE]),
    "report_rows": (_U64, [_HANDLE]),
    "report_column": (ctypes.POINTER(_CColumn), [_HANDLE, _U32]),
    "report_value": (ctypes.POINTER(_CValue), [_HANDLE, _U64, _U32]),
    "report_note": (_TEXT_P, [_HANDLE, _U32]),
    "report_status": (ctypes.c_int, [_HANDLE]),
    "report_failure": (_TEXT_P, [_HANDLE]),
    "report_json": (_TEXT_P, [_HANDLE]),
}


def _load() -> ctypes.CDLL:
    """As the system finds it, or in the PREFIX that this module is installed in."""
    name = "libhostrace.so.0"
    try:
        lib = ctypes.CDLL(name)
    except OSError:
        above = os.path.abspath(__file__)
        for _ in range(5):
            above = os.path.dirname(above)
            if os.path.exists(os.path.join(above, name)):
                break
        else:
            raise
        lib = ctypes.CDLL(os.path.join(above, name))
    for function, (result, arguments) in _FUNCTIONS.items():
        entry = getattr(lib, "hostrace_" + function)
        entry.restype, entry.argtypes = result, arguments
    return lib


_lib = _load()


def _text(text: Optional[bytes]) -> str:
    return (text or b"").decode(errors="replace")


def _failed() -> Error:
    return Error(_text(_lib.hostrace_error()))


def _encode(text: str, what: str) -> bytes:
    encoded = os.fsencode(text)
    if b"\0" in encoded:
        raise Error(f"{what} has no zero bytes")
    return encoded


def version() -> str:
    """The library's version, as `hostrace --version` prints it."""
    return _text(_lib.hostrace_version())


def reports() -> dict[str, str]:
    """The names of the reports, with a summary each."""
    return {_text(_lib.hostrace_report_name(i)): _text(_lib.hostrace_report_summary(i)) for i in range(_lib.hostrace_report_count())}


@dataclass(frozen=True)
class Event:
    """An event as `hostrace list` prints it."""

    time_ns: int  # CLOCK_MONOTONIC of the host; ticks where the trace has no rate
    name: str
    source: str  # "host", "guest", ...
    thread: str  # "": unknown
    pid: int
    tid: int
    cpu: Optional[int]  # None: not recorded
    vcpu: Optional[int]  # None: no vCPU
    fields: dict[str, Union[int, str]]  # numbers, addresses too; names of reasons and the like are text


@dataclass(frozen=True)
class Column:
    name: str
    unit: str  # "ns", "bytes", "%", ...; "": none
    explanation: str  # "": none
    kind: str  # "integer", "real", "text", "boolean", "json"; "none": nothing is recorded, or kinds differ


@dataclass
class Rows(list):
    """The rows of a report, a dict each, with what it says besides."""

    columns: list[Column] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    status: int = 0  # the command's exit status: 3 if it found what it checks for
    failure: str = ""  # with status 1: why
    json: str = ""  # the whole answer, as `hostrace NAME -f json` prints it

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return list.__repr__(self)

    def __eq__(self, other: object) -> bool:
        return list.__eq__(self, other)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """
        The rows for a library that takes Arrow's C streams, as polars.DataFrame(rows), pyarrow.table(rows). Nested values are text
        of JSON; a column of which nothing is recorded has Arrow's null type.
        """
        columns = [_arrow.Batch(c.kind, [row.get(c.name) for row in self]) for c in self.columns]
        return _arrow.stream_capsule([c.name for c in self.columns], columns, len(self))

    @property
    def answer(self) -> dict[str, Any]:
        """The whole answer: inputs, clock, caveats, totals, ..."""
        return json.loads(self.json)


def _words(options: tuple[str, ...], named: dict[str, Option]) -> list[str]:
    """by=["vcpu", "tid"], min_latency="1ms", exact=True as words of the command line: --by vcpu,tid --min-latency 1ms --exact."""
    words = [str(o) for o in options]
    for name, value in named.items():
        option = "--" + name.replace("_", "-")
        values = value if isinstance(value, (list, tuple)) else [value]
        for one in values if name in _REPEATED or len(values) < 2 else [",".join(map(str, values))]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                words += [option, str(one)]
    return words


def _value(value: Any) -> Any:
    v = value.contents
    if v.kind == _INTEGER:
        return v.integer
    if v.kind == _TEXT:
        return _text(v.text)
    if v.kind == _REAL:
        return v.real
    if v.kind == _BOOLEAN:
        return bool(v.integer)
    return json.loads(v.text) if v.kind == _JSON else None


def _rows(report: int) -> Rows:
    columns = [_lib.hostrace_report_column(report, i).contents for i in range(_lib.hostrace_report_columns(report))]
    rows = Rows(columns=[Column(_text(c.name), _text(c.unit), _text(c.explanation), _KINDS[c.kind] if c.kind < len(_KINDS) else "none")
                         for c in columns],
                status=_lib.hostrace_report_status(report), failure=_text(_lib.hostrace_report_failure(report)),
                json=_text(_lib.hostrace_report_json(report)))
    names = [c.name for c in rows.columns]
    value = _lib.hostrace_report_value
    for row in range(_lib.hostrace_report_rows(report)):
        values = [value(report, row, i) for i in range(len(names))]
        if not all(values):
            raise _failed()
        rows.append({n: _value(v) for n, v in zip(names, values)})
    while (note := _lib.hostrace_report_note(report, len(rows.notes))) is not None:
        rows.notes.append(_text(note))
    return rows


class Trace:
    """A recording, or any other trace that hostrace reads."""

    def __init__(self, path: Union[str, os.PathLike[str]], guest: Union[str, os.PathLike[str], None] = None) -> None:
        """guest: a guest's own trace. Error: the file is missing, or no trace."""
        self.path = os.fspath(path)
        self.guest = os.fspath(guest) if guest is not None else None
        with _lock:
            _lib.hostrace_close(self._open(None))

    def __repr__(self) -> str:
        return f"hostrace.Trace({self.path!r})"

    def _open(self, where: Optional[str]) -> int:
        if self.guest is not None and where is not None:
            raise Error("events of a trace with a guest's own cannot be selected by where")
        if self.guest is not None:
            handle = _lib.hostrace_open_with_guest(_encode(self.path, "a path"), _encode(self.guest, "a path"))
        elif where is not None:
            handle = _lib.hostrace_open_where(_encode(self.path, "a path"), _encode(where, "a condition"))
        else:
            handle = _lib.hostrace_open(_encode(self.path, "a path"))
        if not handle:
            raise _failed()
        return handle

    def events(self, where: Optional[str] = None) -> Iterator[Event]:
        """Its events in the order of time; where: a condition (doc/filters.md), 'reason == "io" && port == 0x70'."""
        with _lock:
            handle = self._open(where)
        try:
            while (event := self._next(handle)) is not None:
                yield event
        finally:
            with _lock:
                _lib.hostrace_close(handle)

    def _next(self, handle: int) -> Optional[Event]:
        event = ctypes.POINTER(_CEvent)()
        with _lock:
            more = _lib.hostrace_next(handle, ctypes.byref(event))
            if more < 0:
                raise _failed()
            return self._event(handle, event.contents) if more else None

    @staticmethod
    def _field(handle: int, i: int) -> Union[int, str]:
        kind = _lib.hostrace_field_kind(handle, i)
        text = _text(_lib.hostrace_field_text(handle, i))
        if kind == _FIELD_TEXT or not text[:1].isdigit() and text[:1] != "-":
            return text
        number = _lib.hostrace_field_number(handle, i)
        return ctypes.c_int64(number).value if kind == _FIELD_SIGNED else number

    def _event(self, handle: int, e: _CEvent) -> Event:
        fields = {_text(_lib.hostrace_field_name(handle, i)): self._field(handle, i) for i in range(e.nr_fields)}
        return Event(e.time_ns, _text(e.name), _text(e.source), _text(e.thread), e.pid, e.tid, e.cpu if e.cpu >= 0 else None,
                     e.vcpu if e.vcpu >= 0 else None, fields)

    def report(self, name: str, *options: str, **named: Option) -> Rows:
        """
        The rows of `hostrace NAME OPTION... -f json`: report("exits", by="vcpu"), report("histogram", "exit-latency"),
        report("diff", "other.hrt"). An answer without rows, as of info and diagnose, is one row.
        """
        words = ["--guest", self.guest] if self.guest is not None else []
        words += _words(options, named)
        encoded = [_encode(w, "an option") for w in words]
        array = (ctypes.c_char_p * (len(words) + 1))(*encoded, None)
        with _lock:
            report = _lib.hostrace_report_run(_encode(self.path, "a path"), _encode(name, "a report's name"), ctypes.cast(array, ctypes.c_void_p))
            if not report:
                raise _failed()
            try:
                return _rows(report)
            finally:
                _lib.hostrace_report_close(report)

    def sql(self, query: str) -> Rows:
        """The answer to a SELECT over events, spans and reports as tables (doc/sql.md)."""
        return self.report("sql", "--", query + "\n")
