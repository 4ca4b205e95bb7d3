#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Validates an answer by doc/schema/list.json: schema.py SCHEMA JSON JSONL; both must have the same rows."""
import json
import sys

import jsonschema

schema = json.load(open(sys.argv[1]))
answer = json.load(open(sys.argv[2]))
lines = [json.loads(line) for line in open(sys.argv[3])]
jsonschema.validate(answer, schema)


def part(name):
    return {**schema["definitions"][name], "definitions": schema["definitions"]}


for row in lines[:-1]:
    jsonschema.validate(row, part("row"))
jsonschema.validate(lines[-1], part("last"))
rows = answer.pop("rows")
if not rows or rows != lines[:-1] or answer != lines[-1]:
    sys.exit("json and jsonl differ")
try:
    jsonschema.validate({**lines[0], "time": 1}, part("row"))
except jsonschema.ValidationError:
    sys.exit(0)
sys.exit("the schema accepts an unknown key")
