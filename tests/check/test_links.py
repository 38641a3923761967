#!/usr/bin/python3
"""Every link that documents, dashboards and alerts print leads to something, and so do commands.
No line of a document has more than 600 characters.

Within the tree: the file exists, and so does the heading behind the #. Links to elsewhere are looked
at only for their form: there is no network here. What the quickstart prints is asked for by
integration/test_quickstart.
"""
import json
import pathlib
import re
import subprocess
import unittest
import urllib.parse

import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
RENDERED = SOURCE / "dashboards/rendered"
# What a user has to set, and what says so: no other host may end in .invalid.
PLACEHOLDERS = {"set-runbookUrlPrefix.invalid", "set-grafanaUrl.invalid"}
# Dashboards of others, by their own uid: kubernetes-mixin's of a pod.
FOREIGN_BOARDS = {"6581e46e4e5c7ba40a07646395ef7b23"}
LINK = re.compile(r"(?<!`)\[(?:[^\][]|\[[^\]]*\])*\]\(([^()\s]+)\)")


def documents():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=SOURCE,
                            capture_output=True, text=True, check=False).stdout.split()
    found = [SOURCE / name for name in listed if (SOURCE / name).exists()]
    return found or [file for file in SOURCE.rglob("*.md")
                     if "build" not in file.relative_to(SOURCE).parts]


def prose(text):
    """Without code: indented blocks, fences, spans."""
    text = re.sub(r"(?ms)^```.*?^```$", "", text)
    text = re.sub(r"(?m)^ {4}(?! *[-|\[]).*$", "", text)
    return re.sub(r"`[^`\n]*`", "`", text)


def anchors(text):
    """The headings as Git hosts name them."""
    found, seen = set(), {}
    for heading in re.findall(r"(?m)^#+ +(.*?) *#*$", re.sub(r"(?ms)^```.*?^```$", "", text)):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        seen[name] = seen.get(name, -1) + 1
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
    return found


def alerts():
    """All of them, also those about persistent memory."""
    files = sorted(RENDERED.rglob("*alerts.yaml"))
    assert len(files) == 2, files
    return "".join(file.read_text() for file in files)


def wrong(file, link):
    """What is wrong with a link in this file; None: nothing."""
    url = urllib.parse.urlsplit(link)
    if url.scheme:
        if url.netloc.endswith(".invalid") and url.netloc not in PLACEHOLDERS:
            return "no host"
        good = url.scheme in ("http", "https") and re.fullmatch(r"[\w.-]+(:\d+)?", url.netloc)
        return None if good else "no address"
    target = (file.parent / urllib.parse.unquote(url.path)).resolve() if url.path else file
    if not target.exists():
        return "no such file"
    if not target.is_relative_to(SOURCE):
        return "out of the tree"
    if url.fragment and (target.suffix != ".md" or url.fragment not in anchors(target.read_text())):
        return "no such heading"
    return None


# Made from texts of the program, a row for each.
MADE = {SOURCE / "collectors/METRICS.md"}
LONGEST = 599


class Lines(unittest.TestCase):
    def test_rows_can_be_read(self):
        """A longer row of a table is several."""
        for file in documents():
            for number, line in enumerate(file.read_text().split("\n"), 1):
                if file not in MADE and len(line) > LONGEST:
                    self.fail(f"{file.relative_to(SOURCE)}:{number} has {len(line)} characters")


    def test_pages_for_a_reader_are_short(self):
        """How to install is a page for each reader, of what he reads in one go."""
        pages = LINK.findall((SOURCE / "deploy/README.md").read_text().split("| files |")[0])
        # Two are about one subject for who has read the others.
        pages = {page for page in pages if page not in ("fleet-scale.md", "governor.md")}
        self.assertGreaterEqual(pages, {"kubernetes.md", "hosts.md", "security.md", "upgrade.md"})
        for page in pages | {"README.md"}:
            with self.subTest(page):
                self.assertLessEqual(len((SOURCE / "deploy" / page).read_text().splitlines()), 150)


class Links(unittest.TestCase):
    def test_documents(self):
        n = 0
        for file in documents():
            for link in LINK.findall(prose(file.read_text())):
                n += 1
                with self.subTest(file=str(file.relative_to(SOURCE)), link=link):
                    self.assertIsNone(wrong(file, link))
        self.assertGreater(n, 100)

    def test_what_is_wrong_is_seen(self):
        readme = SOURCE / "README.md"
        for link, expected in (("tests/nothing.md", "no such file"), ("#nothing", "no such heading"),
                               ("deploy/README.md#nothing", "no such heading"),
                               ("../../../../etc/passwd", "out of the tree"), ("https://", "no address"),
                               ("ftp://example.org/", "no address"), ("deploy", None),
                               ("https://wiki.invalid/x", "no host"),
                               ("https://set-grafanaUrl.invalid/d/x", None),
                               ("deploy/kubernetes.md#updates", None), ("https://example.org/x", None)):
            with self.subTest(link):
                self.assertEqual(wrong(readme, link), expected)
        self.assertEqual(anchors("# A `b_c`, d\n## E\n### E\n```\n# no\n```\n"), {"a-b_c-d", "e", "e-1"})
        self.assertEqual(LINK.findall(prose("[a](b) `[c](d)` ![e\nf](g.png)\n    [h](i)\n")),
                         ["b", "g.png", "i"])

    def test_documents_as_code_name_files(self):
        """The commands of the first pages: scripts that are in the tree."""
        for name in ("README.md", "deploy/kubernetes.md", "deploy/hosts.md", "deploy/demo/README.md",
                     "dashboards/README.md"):
            for path in re.findall(r"(?m)^ {4}(?:sudo |)((?:deploy|tests|dashboards)/[\w./-]+)",
                                   (SOURCE / name).read_text()):
                with self.subTest(name, path=path):
                    self.assertTrue((SOURCE / path).exists())

    def test_published_ports_are_on_loopback(self):
        """docker run -p without an address publishes on all of them, past many a firewall."""
        ports = [(str(file.relative_to(SOURCE)), port) for file in documents() for port in
                 re.findall(r"(?<!\S)(?:-p|--publish)[ =]?(\S*\d+:\d+)", file.read_text())]
        self.assertGreater(len(ports), 0)
        self.assertEqual([p for p in ports if not p[1].startswith("127.0.0.1:")], [])

    def test_helm_values(self):
        """What documents set by --set is in the chart; below an empty object, and of labels,
        anything may be."""
        values = yaml.safe_load((SOURCE / "deploy/kubernetes/chart/values.yaml").read_text())
        names = [(file.name, name) for file in documents() for name in
                 re.findall(r"--set(?:-json)? '?([\w.]+)=", file.read_text())]
        self.assertGreater(len(names), 5)
        for file, name in names:
            with self.subTest(file, name=name):
                at = values
                for key in name.split("."):
                    if not at or at is values["nodeSelector"]:
                        break
                    self.assertIn(key, at)
                    at = at[key]

    def test_alerts(self):
        links = re.findall(r"runbook_url: (?:\|-\n *)?(\S+)", alerts())
        self.assertEqual(len(links), len(re.findall(r"- alert:", alerts())))
        self.assertGreater(len(links), 10)
        for link in links:
            with self.subTest(link):
                self.assertIsNone(wrong(SOURCE / "README.md", link.strip('"')))

    def test_dashboards_of_alerts(self):
        uids = {json.loads(file.read_text())["uid"] for file in RENDERED.rglob("*.json")}
        text = alerts()
        named = re.findall(r"dashboard_url: (?:\|-\n *)?\S*?/d/([\w-]+)", text)
        self.assertEqual(len(named), text.count("dashboard_url:"))
        self.assertLessEqual(set(named), uids)

    def test_dashboards(self):
        """Links between dashboards name one of them; all others are addresses or relative to Grafana."""
        boards = {file: json.loads(file.read_text()) for file in RENDERED.rglob("*.json")}
        uids = {board["uid"] for board in boards.values()} | FOREIGN_BOARDS
        self.assertGreater(len(boards), 3)
        for file, board in boards.items():
            text = json.dumps(board)
            for url in re.findall(r'"url": "([^"]*)"', text):
                with self.subTest(file.name, url=url):
                    if url.startswith("/d/") or "/d/" in url.split("?")[0]:
                        self.assertIn(re.search(r"/d/([\w-]+)", url)[1], uids)
                    elif url and not url.startswith("$"):
                        self.assertIsNone(wrong(SOURCE / "README.md", re.sub(r"\$\{\w+\}", "x", url)))


if __name__ == "__main__":
    unittest.main(argv=[__file__])
