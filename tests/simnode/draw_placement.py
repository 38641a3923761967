#!/usr/bin/python3
"""Draws placement.svg from RESULTS-placement.md: predicted against true, each program in both distances.
With --check it only says whether the committed one is that."""
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
SIZE, LEFT, TOP, MOST = 420, 60, 20, 4.2
# Colours that differ for the colour-blind, and shapes for who sees none.
KINDS = {"reads": ("#0072b2", "programs that read, as they are"),
         "blind": ("#d55e00", "that only store, or whose lines are prefetched")}


def tables(text):
    """(heading above it, rows) of each table; a row is {column: cell}."""
    heading, columns, rows = "", None, []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if columns is None:
                columns = cells
            elif not set(line) <= set("|-: "):
                rows.append(cells)
        else:
            if columns:
                yield heading, columns, rows
                columns, rows = None, []
            if line.strip():
                heading = line.strip()


def points(text):
    """(kind, true, predicted)"""
    prefetcher = False
    for heading, columns, rows in tables(text):
        prefetcher = prefetcher or heading.startswith("With one (degree")
        for i, column in enumerate(columns):
            if not column.endswith(": true"):
                continue
            for row in rows:
                stores_only = "reads, % of lines" in columns and row[1] == "0"
                kind = "blind" if stores_only or (prefetcher and row[1] == "2") else "reads"
                yield kind, float(row[i]), float(row[i + 1])


def at(true, predicted):
    scale = SIZE / math.log(MOST)
    return LEFT + math.log(true) * scale, TOP + SIZE - math.log(max(predicted, 1)) * scale


def mark(kind, x, y):
    if kind == "reads":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{KINDS[kind][0]}" fill-opacity="0.6"/>'
    return (f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" stroke="{KINDS[kind][0]}" '
            'stroke-width="2"/>')


def draw(found):
    x0, y0 = at(1, 1)
    x1, y1 = at(MOST, MOST)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + SIZE + 20} {TOP + SIZE + 90}" '
             'font-family="sans-serif" font-size="13" fill="#333">',
             '<title>Predicted against true slowdown with memory elsewhere, simulated</title>',
             '<rect width="100%" height="100%" fill="white"/>',
             f'<path d="M{x0:.1f} {y1:.1f}V{y0:.1f}H{x1:.1f}" fill="none" stroke="#333"/>',
             f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="#999" stroke-dasharray="4 3"/>']
    for value in (1, 1.5, 2, 3, 4):
        x, y = at(value, value)
        lines += [f'<text x="{x:.1f}" y="{y0 + 18:.1f}" text-anchor="middle">{value:g}</text>',
                  f'<text x="{x0 - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>']
    lines += [mark(kind, *at(true, predicted)) for kind, true, predicted in found]
    lines.append(f'<text x="{(x0 + x1) / 2:.1f}" y="{y0 + 38:.1f}" text-anchor="middle">times as long, '
                 'true (a simulated run there)</text>')
    lines.append(f'<text transform="translate(16 {(y0 + y1) / 2:.1f}) rotate(-90)" '
                 'text-anchor="middle">predicted from the run here</text>')
    for i, (kind, (_, words)) in enumerate(KINDS.items()):
        y = y0 + 58 + 20 * i
        lines += [mark(kind, x0 + 6, y - 4), f'<text x="{x0 + 18:.1f}" y="{y:.1f}">{words}</text>']
    return "\n".join([*lines, "</svg>\n"])


if __name__ == "__main__":
    picture = draw(list(points((HERE / "RESULTS-placement.md").read_text())))
    if sys.argv[1:] == ["--check"]:
        sys.exit((HERE / "placement.svg").read_text() != picture and
                 "placement.svg is not drawn from RESULTS-placement.md: run draw_placement.py")
    (HERE / "placement.svg").write_text(picture)
