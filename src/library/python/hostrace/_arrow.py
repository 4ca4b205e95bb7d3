# SPDX-License-Identifier: GPL-2.0-or-later
"""
Rows by Arrow's C stream interface (https://arrow.apache.org/docs/format/CStreamInterface.html), for Rows.__arrow_c_stream__().

The stream has one batch: a struct array with a column each. Its buffers are made once, from the rows, and taken without another
copy. What a structure refers to is kept until its consumer calls `release`: the structure's private_data is the number of what is
kept for it. A consumer may move a child out of its parent and release it later, so that each has a number of its own.
"""
from __future__ import annotations

import ctypes
import itertools
import json
from typing import Any, Optional, Sequence

_NULLABLE = 2  # ARROW_FLAG_NULLABLE
_ENOMEM, _CAPSULE = 12, b"arrow_array_stream"
_LONG_TEXT = (1 << 31) - 1  # bytes from which on offsets have 64 bits


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_SCHEMA_P, _ARRAY_P, _STREAM_P = map(ctypes.POINTER, (_Schema, _Array, _Stream))
_RELEASE_SCHEMA, _RELEASE_ARRAY, _RELEASE_STREAM = (ctypes.CFUNCTYPE(None, p) for p in (_SCHEMA_P, _ARRAY_P, _STREAM_P))
_GET_SCHEMA, _GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, _STREAM_P, _SCHEMA_P), ctypes.CFUNCTYPE(ctypes.c_int, _STREAM_P, _ARRAY_P)
_GET_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, _STREAM_P)
_I64, _PTR = ctypes.c_int64, ctypes.c_void_p
_Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", _I64),
                    ("n_children", _I64), ("children", ctypes.POINTER(_SCHEMA_P)), ("dictionary", _SCHEMA_P),
                    ("release", _RELEASE_SCHEMA), ("private_data", _PTR)]
_Array._fields_ = [("length", _I64), ("null_count", _I64), ("offset", _I64), ("n_buffers", _I64), ("n_children", _I64),
                   ("buffers", ctypes.POINTER(_PTR)), ("children", ctypes.POINTER(_ARRAY_P)), ("dictionary", _ARRAY_P),
                   ("release", _RELEASE_ARRAY), ("private_data", _PTR)]
_Stream._fields_ = [("get_schema", _GET_SCHEMA), ("get_next", _GET_NEXT), ("get_last_error", _GET_ERROR),
                    ("release", _RELEASE_STREAM), ("private_data", _PTR)]

_kept: dict[int, Any] = {}
_numbers = itertools.count(1)


def _keep(what: Any) -> int:
    number = next(_numbers)
    _kept[number] = what
    return number


def _release(p: Any) -> None:
    """Of a schema or an array, and of those of its children that were not moved out."""
    s = p.contents
    for i in range(s.n_children):
        if s.children[i].contents.release:
            s.children[i].contents.release(s.children[i])
    number = s.private_data
    s.release = type(s.release)()
    _kept.pop(number, None)  # the last: it may be the structure itself


_release_schema, _release_array = _RELEASE_SCHEMA(_release), _RELEASE_ARRAY(_release)


class Batch:
    """A column's format and its buffers: made of the values of rows."""

    def __init__(self, kind: str, values: Sequence[Any]) -> None:
        self.length, self.nulls = len(values), sum(v is None for v in values)
        self.buffers: list[Any] = []
        if kind == "none" and self.nulls == self.length:
            self.format = b"n"
            return
        self.buffers.append(self._bits([v is not None for v in values]))
        if kind == "integer" and all(v is None or -1 << 63 <= v < 1 << 63 for v in values):
            self.format = b"l"
            self.buffers.append((ctypes.c_int64 * self.length)(*(v or 0 for v in values)))
        elif kind == "real":
            self.format = b"g"
            self.buffers.append((ctypes.c_double * self.length)(*(v or 0 for v in values)))
        elif kind == "boolean":
            self.format = b"b"
            self.buffers.append(self._bits(values))
        else:
            self._text([v if isinstance(v, str) else "" if v is None else json.dumps(v) for v in values])

    def _bits(self, values: Sequence[Any]) -> Any:
        bits = bytearray(len(values) // 8 + 1)
        for i, value in enumerate(values):
            bits[i // 8] |= bool(value) << i % 8
        return (ctypes.c_char * len(bits)).from_buffer(bits)

    def _text(self, values: Sequence[str]) -> None:
        encoded = [v.encode(errors="replace") for v in values]
        offsets = [0, *itertools.accumulate(map(len, encoded))]
        long = offsets[-1] > _LONG_TEXT
        self.format = b"U" if long else b"u"
        self.buffers.append(((ctypes.c_int64 if long else ctypes.c_int32) * len(offsets))(*offsets))
        self.buffers.append(ctypes.create_string_buffer(b"".join(encoded)))


def _schema_set(s: Any, text: bytes, name: bytes, flags: int, children: Sequence[Any]) -> None:
    pointers = (_SCHEMA_P * len(children))(*map(ctypes.pointer, children))
    s.format, s.name, s.metadata, s.flags = text, name, None, flags
    s.n_children, s.children, s.dictionary = len(children), pointers, None
    s.release, s.private_data = _release_schema, _keep((text, name, pointers, children))


def _array_set(a: Any, length: int, nulls: int, buffers: Sequence[Any], children: Sequence[Any]) -> None:
    pointers = (_ARRAY_P * len(children))(*map(ctypes.pointer, children))
    addresses = (_PTR * len(buffers))(*(ctypes.addressof(b) if b is not None else None for b in buffers))
    a.length, a.null_count, a.offset, a.n_buffers, a.n_children = length, nulls, 0, len(buffers), len(children)
    a.buffers, a.children, a.dictionary = addresses, pointers, None
    a.release, a.private_data = _release_array, _keep((buffers, addresses, pointers, children))


class _Rows:
    """What a stream has: its columns, and whether they were taken."""

    def __init__(self, names: Sequence[str], columns: Sequence[Batch], length: int) -> None:
        self.names, self.columns, self.length = [n.encode(errors="replace") for n in names], columns, length
        self.taken = False

    def schema(self, to: Any) -> None:
        children = [_Schema() for _ in self.columns]
        for child, name, column in zip(children, self.names, self.columns):
            _schema_set(child, column.format, name, _NULLABLE, [])
        _schema_set(to, b"+s", b"", 0, children)

    def next(self, to: Any) -> None:
        if self.taken:
            to.release = _RELEASE_ARRAY()
            return
        children = [_Array() for _ in self.columns]
        for child, column in zip(children, self.columns):
            _array_set(child, column.length, column.nulls, column.buffers, [])
        _array_set(to, self.length, 0, [None], children)
        self.taken = True


def _of(p: Any) -> _Rows:
    return _kept[p.contents.private_data][0]


@_GET_SCHEMA
def _get_schema(p: Any, to: Any) -> int:
    try:
        _of(p).schema(to.contents)
    except MemoryError:
        return _ENOMEM
    return 0


@_GET_NEXT
def _get_next(p: Any, to: Any) -> int:
    try:
        _of(p).next(to.contents)
    except MemoryError:
        return _ENOMEM
    return 0


@_GET_ERROR
def _get_error(p: Any) -> Optional[int]:
    return None


@_RELEASE_STREAM
def _release_stream(p: Any) -> None:
    number = p.contents.private_data
    p.contents.release = _RELEASE_STREAM()
    _kept.pop(number, None)


_python = ctypes.PyDLL(None)  # not ctypes.pythonapi: others may set the types of its functions
_capsule_new, _capsule_get = _python.PyCapsule_New, _python.PyCapsule_GetPointer
_DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_capsule_new.restype, _capsule_new.argtypes = ctypes.py_object, [_PTR, ctypes.c_char_p, _DESTRUCTOR]
_capsule_get.restype, _capsule_get.argtypes = _PTR, [_PTR, ctypes.c_char_p]
_streams: dict[int, Any] = {}  # structures of capsules that exist, by address


@_DESTRUCTOR
def _capsule_end(capsule: Any) -> None:
    """Releases the stream, unless a consumer moved it out."""
    stream = _streams.pop(_capsule_get(capsule, _CAPSULE), None)
    if stream is not None and stream.release:
        stream.release(ctypes.pointer(stream))


def stream_capsule(names: Sequence[str], columns: Sequence[Batch], length: int) -> Any:
    stream = _Stream(_get_schema, _get_next, _get_error, _release_stream)
    stream.private_data = _keep((_Rows(names, columns, length), stream))
    address = ctypes.addressof(stream)
    _streams[address] = stream
    return _capsule_new(address, _CAPSULE, _capsule_end)
