#!/usr/bin/env python3
"""page.py: new numbers take the place of old ones, and nothing else changes."""
import pathlib
import sys
import unittest

SIMNODE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SIMNODE))

import page  # noqa: E402

PAGE = ("# A page\n\nWords of 2 lines.\n\n| a | b |\n|---|---|\n| x | 1 |\n\nThe mean is 1.5 %.\n\n"
        "| a | b |\n|---|---|\n| y | 2 |\n")


class Pages(unittest.TestCase):
    def test_a_page_under_its_own_tables_stays(self):
        for path in SIMNODE.glob("RESULTS-*.md"):
            text = path.read_text(encoding="utf-8")
            self.assertEqual(page.put(text, text), (text, []), path.name)

    def test_equal_heads_in_their_order(self):
        found, lost = page.put("| a | b |\n|---|---|\n| x | 3 |\n| z | 4 |\n\nThe mean is -2 %.\n\n"
                               "| a | b |\n|---|---|\n| y | 5 |\n", PAGE)
        self.assertEqual(lost, [])
        self.assertEqual(found, PAGE.replace("| x | 1 |", "| x | 3 |\n| z | 4 |").replace("1.5", "-2")
                         .replace("| y | 2 |", "| y | 5 |"))

    def test_what_has_no_place_is_told(self):
        self.assertEqual(page.put("| a | c |\n|---|---|\n| x | 3 |\n", PAGE), (PAGE, ["| a | c |"]))


if __name__ == "__main__":
    unittest.main()
