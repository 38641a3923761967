#!/usr/bin/env python3
"""tests/simnode/page.py NAME: puts the tables of `reproduce NAME`, read from standard input, into
RESULTS-NAME.md.

The page has the words; a table, or a line with numbers beside it, takes the place of the next one
there that differs in numbers only. What has no place there is said, and the page is left as it was:
its words are to be looked at then, too.
"""
import pathlib
import re
import sys


def blocks(text):
    """Tables whole, other lines by themselves."""
    return re.findall(r"(?:^\|.*\n)+|^.*\n", text, re.MULTILINE)


def likeness(block):
    """What stays from run to run: a table's head, a line without its numbers."""
    return re.sub(r"[-+]?\d+(\.\d+)?", "0", block.split("\n")[0])


def put(tables, page):
    """The page with these tables, and the first lines of those that have no place in it."""
    page, at, lost = blocks(page), 0, []
    for block in filter(str.strip, blocks(tables)):
        found = next((i for i in range(at, len(page)) if likeness(page[i]) == likeness(block)), None)
        if found is None:
            lost.append(block.split("\n")[0])
        else:
            page[found] = block
            at = found + 1
    return "".join(page), lost


def main():
    path = pathlib.Path(__file__).with_name(f"RESULTS-{sys.argv[1]}.md")
    page, lost = put(sys.stdin.read(), path.read_text(encoding="utf-8"))
    if lost:
        sys.exit("\n".join(["no place in the page for:", *lost]))
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
