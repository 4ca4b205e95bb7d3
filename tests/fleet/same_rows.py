# same_rows.py LIST ROWS: are the events of `list -f jsonl` those of `SELECT * FROM events ORDER BY row FORMAT
# JSONEachRow`? Prints the number of rows, or the first difference.
import json
import sys


def listed(line):
    row = json.loads(line)
    if row["vcpu"] is None:
        row["vcpu"] = -1
    return row


def stored(line, like):
    row = json.loads(line)
    fields = {}
    for name, number, text in zip(row["field_names"], row["field_numbers"], row["field_texts"]):
        listed_as = like["fields"].get(name)
        if isinstance(listed_as, int):
            fields[name] = number
        elif isinstance(listed_as, str) and listed_as.startswith("0x") and not text:
            fields[name] = hex(number & (1 << 64) - 1)
        else:
            fields[name] = text
    return {k: fields if k == "fields" else row[k] for k in like}


lists = [line for line in open(sys.argv[1]) if not line.startswith('{"hostrace"')]
rows = open(sys.argv[2]).readlines()
if len(lists) != len(rows):
    sys.exit(f"{len(lists)} events, {len(rows)} rows")
for line, row in zip(lists, rows):
    event = listed(line)
    if event != stored(row, event):
        sys.exit(f"event {line}row {row}")
print(len(rows))
