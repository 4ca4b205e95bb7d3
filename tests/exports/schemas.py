#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Validates answers by a schema of doc/schema: schemas.py SCHEMA FILE...; each must have rows, and reject an unknown key.

A file ends in .jsonl if it has a row a line; the last line is what the others have besides the rows.
"""
import json
import pathlib
import sys

import jsonschema

path = pathlib.Path(sys.argv[1]).resolve()
schema = json.load(open(path))
jsonschema.Draft7Validator.check_schema(schema)
resolver = jsonschema.RefResolver(path.as_uri(), schema)


def validate(value, part):
    jsonschema.Draft7Validator(part, resolver=resolver).validate(value)


def check(name):
    answer = json.load(open(name))
    validate(answer, schema)
    rows = answer["rows"] if "rows" in answer else answer["result"]
    if not rows:
        sys.exit(f"{name}: no rows: nothing was checked")
    try:
        validate({**answer, "unknown": 1}, schema)
    except jsonschema.ValidationError:
        return answer
    sys.exit("the schema accepts an unknown key")


def check_lines(name, answer):
    lines = [json.loads(line) for line in open(name)]
    for row in lines[:-1]:
        validate(row, schema["definitions"]["row"])
    validate(lines[-1], schema["definitions"]["last"])
    if answer["rows"] != lines[:-1] or {k: v for k, v in answer.items() if k != "rows"} != lines[-1]:
        sys.exit("json and jsonl differ")


last = None
for file in sys.argv[2:]:
    if file.endswith(".jsonl"):
        check_lines(file, last)
    else:
        last = check(file)
