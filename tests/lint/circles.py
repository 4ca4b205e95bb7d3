#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Circles of calls between files of one folder of src/, by the symbols of the objects: circles.py BUILD [KNOWN]

Prints a line for each: the folder, the files that reach each other. With KNOWN, such a list, prints instead what differs
from it: a circle that is new or larger, and one of the list that is smaller or gone and must be changed there, too.
Folders without objects (LIVE=0) are not compared.
"""
import collections
import pathlib
import subprocess
import sys


def calls(build):
    """{folder: {file: files whose symbols it uses}}"""
    objects = sorted((build / 'src').rglob('*.o'))
    text = subprocess.run(['nm', '-AP', *objects], stdout=subprocess.PIPE, check=True, text=True).stdout
    home, used = {}, []
    for line in text.splitlines():
        name, symbol, kind = line.split()[:3]
        file = pathlib.Path(name.rstrip(':')).relative_to(build / 'src').with_suffix('')
        if kind == 'U':
            used.append((file, symbol))
        elif kind.isupper():
            home[file.parent, symbol] = file
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    for file, symbol in used:
        other = home.get((file.parent, symbol))
        if other:
            found[file.parent][file].add(other)
    return found, {o.parent.relative_to(build / 'src') for o in objects}


def reached(graph, start):
    seen, todo = set(), [start]
    while todo:
        for other in graph.get(todo.pop(), ()):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def circles(found):
    lines = set()
    for folder, graph in found.items():
        reach = {file: reached(graph, file) for file in graph}
        for file in graph:
            if file in reach[file]:
                files = sorted(o.name for o in reach[file] if file in reach.get(o, ()))
                lines.add(f'{folder}: {" ".join(files)}')
    return lines


def main():
    found, folders = calls(pathlib.Path(sys.argv[1]))
    now = circles(found)
    if len(sys.argv) < 3:
        print('\n'.join(sorted(now)))
        return
    known = {l for l in pathlib.Path(sys.argv[2]).read_text().splitlines()
             if l and l[0] != '#' and pathlib.Path(l.split(':')[0]) in folders}
    for line in sorted(now - known):
        print('not in', sys.argv[2] + ':', line)
    for line in sorted(known - now):
        print('no longer so, change', sys.argv[2] + ':', line)


main()
