#!/usr/bin/python3
"""Holds the tree against its architecture: tests/architecture.py BUILD [--source DIR]

The arrows that a folder may follow are the link edges of its ie_library() in CMakeLists.txt, and
what those reach. Beyond them, the rules of the house that a program can check:

  includes    every #include of exporter/ and collectors/ follows an arrow; a library from outside
              is included only by the folder that links it itself
  paths       only base/fsroot.c spells the kernel's trees
  names       the core knows no collector: neither its name nor a folder of its own
  private     a collector includes what is shared and its own folder, never another's
  circles     no two files need one another, whether by #include or by what they call
  writer      what an order to the governor's writer can reach stays small enough to be read: the
              objects that exporter/governor/write needs, but for what is done before the first order,
              and no library that reads text or has a network
  perf        only exporter/source/perf/kernel.c calls perf_event_open
  writes      only who has a file of its own opens one for writing, makes, renames or removes one:
              the governor's exporter/governor/act/journal/fswrite.c, the recorder, the state; only the probe
              sets an affinity, its own
  folders     no folder of exporter/ and collectors/ has more than 25 source files
  state       no mutable file-scope state outside main.c
  exits       nothing but main.c ends the process

The last two, and circles of calls, look at the libraries in BUILD. tests/check/test_architecture.py sees each one fail.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

# Headers of outside libraries (what they begin with), and the item that a folder must link to use them.
OUTSIDE = {
    "microhttpd.h": "PkgConfig::MHD",
    "jansson.h": "PkgConfig::JANSSON",
    "libcgroup": "PkgConfig::CGROUP",
    "libdeflate.h": "PkgConfig::DEFLATE",
    "perfmon/": "${PFM_LIBRARY}",
    "Zydis/": "${ZYDIS_LIBRARY}",
    "bpf/": "$<TARGET_NAME_IF_EXISTS:PkgConfig::BPF>",
    "sys/capability.h": "PkgConfig::CAP",
    "yaml.h": "PkgConfig::YAML",
    "gnutls/": "PkgConfig::GNUTLS",
    "crypt.h": "PkgConfig::CRYPT",
    "seccomp.h": "PkgConfig::SECCOMP",
}

# Objects that may be written to, each with its reason: library, member, name.
STATE_ALLOWED = {
    # libpfm4 has one state for the process, and is initialised once.
    ("event", "encode.c", "once"),
    ("event", "encode.c", "pfm_status"),
}

# How many .c and .h files a folder may have.
FILES = 25

# The governor's writer: where orders come in, what belongs to the start alone, and lines of code that
# all the rest may have. It may only shrink.
WRITER = "exporter/governor/write/writer.c"
WRITER_LINES = 1070
WRITES = "exporter/governor/act/journal/fswrite.c"  # which it reaches through a table of functions
WRITER_FILES = {
    "exporter/governor/write/writer.c", "exporter/governor/act/journal/journal_file.c",
    "exporter/governor/write/rules.c", "exporter/governor/write/quota.c",
    "exporter/governor/write/groups.c", "exporter/governor/write/threads.c",
    "exporter/governor/write/look.c",
    "exporter/governor/act/cgroup/cgroup_dir.c", "exporter/governor/act/cgroup/cgroup_tasks.c",
    "exporter/governor/terms/claim.c", "exporter/base/process_stat.c",
}

# What changes something outside the process, and the files that may: the exporter only reads.
WRITERS = {
    r"(?<![\w.>])(?:O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)\b|(?:creat|mkdir(?:at)?|rmdir|"
    r"unlink(?:at)?|rename(?:at2?)?|f?truncate|symlink(?:at)?|link(?:at)?|mknod(?:at)?|mkfifo(?:at)?|"
    r"mk[ds]temp|f?chmod(?:at)?|[fl]?chown(?:at)?|[fl]?setxattr)\s*\()":
        ("exporter/governor/act/journal/fswrite.c", "exporter/source/recording/file/output.c",
        "exporter/blackbox/shelf.c",
         "exporter/state/file/file.c", "exporter/http/listen.c",
         "exporter/service/confine.c"),  # names them to forbid them
    r"\b(?:sched_setaffinity|pthread_setaffinity_np)\s*\(":
        ("exporter/source/probe/thread.c", "exporter/source/probe/buffer.c",
         "exporter/governor/act/journal/fswrite.c"),
    r'\bf(?:re)?open(?:64)?\s*\((?![^;]*,\s*"r[^"+]*"\s*[,)])': (),
}

# Calls that end the process, each with its reason: library, member, name.
EXITS_ALLOWED = {
    # libmicrohttpd's function for what it takes for its own end must not return.
    ("http", "server.c", "abort"),
}
EXITS = {"exit", "_exit", "_Exit", "abort", "quick_exit", "err", "errx", "verr", "verrx"}

TOKENS = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | (?P<string>"(?:\\.|[^"\\\n])*") | '(?:\\.|[^'\\\n])*'""",
    re.VERBOSE | re.DOTALL,
)


class Checker:
    def __init__(self, source, build):
        self.source = source
        self.build = build
        self.problems = []
        self.folders = {}  # library -> folder
        self.edges = {}  # library -> what it names
        self.read_cmake()
        self.collectors = {
            name
            for path in (source / "collectors").glob("*.c")
            for name in re.findall(r"collector_ops (\w+)_collector = ", path.read_text())
        }

    def problem(self, rule, where, text):
        self.problems.append(f"{rule}: {where}: {text}")

    def read_cmake(self):
        text = re.sub(r"#[^\n]*", "", (self.source / "CMakeLists.txt").read_text())
        for name, folder, rest in re.findall(r"\bie_library\(\s*(\w+)\s+([^\s)]+)([^)]*)\)", text):
            if name == "name":
                continue
            self.folders["ie_" + name] = folder
            self.edges["ie_" + name] = rest.split()

    def reach(self, library):
        seen, todo = set(), [library]
        while todo:
            item = todo.pop()
            if item not in seen:
                seen.add(item)
                todo += self.edges.get(item, [])
        return seen

    def library_of(self, path):
        """The library whose folder holds the file directly; None for files of no library."""
        for library, folder in self.folders.items():
            if str(path.parent) == folder:
                return library
        return None

    def files(self):
        for top in ("exporter", "collectors"):
            for path in sorted((self.source / top).rglob("*.[ch]")):
                yield path.relative_to(self.source)

    def check_folders(self):
        count = collections.Counter(str(path.parent) for path in self.files())
        for folder, files in count.items():
            if files > FILES:
                self.problem("folders", folder, f"{files} source files, not more than {FILES}")

    def check_sources(self):
        self.check_folders()
        for path in self.files():
            if path == pathlib.Path("exporter/main.c"):
                continue
            library = self.library_of(path)
            if library is None:
                self.problem("includes", path, "its folder is no ie_library() of CMakeLists.txt")
                continue
            text = (self.source / path).read_text()
            self.check_includes(path, library, text)
            self.check_literals(path, text)
            self.check_names(path, text)
            self.check_private(path, text)
            self.check_writes(path, text)

    def check_writes(self, path, text):
        def plain(token):  # of strings only modes of fopen() are code
            literal = token.group("string")
            return literal if literal and re.fullmatch('"[rwa][b+ce]*"', literal) else '""'

        code = TOKENS.sub(plain, text)
        for what, allowed in WRITERS.items():
            found = re.search(what, code)
            if found and str(path) not in allowed:
                self.problem("writes", path, f"has {found.group().rstrip('( ')}")

    def check_includes(self, path, library, text):
        reach = self.reach(library)
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE):
            if not (self.source / name).exists():
                self.problem("includes", path, f'"{name}" is not spelled from the root of the tree')
                continue
            other = self.library_of(pathlib.Path(name))
            if other not in reach:
                self.problem("includes", path, f"{name}: {library} has no arrow to {other}")
        for name in re.findall(r"^\s*#\s*include\s+<([^>]+)>", text, re.MULTILINE):
            item = next((OUTSIDE[known] for known in OUTSIDE if name.startswith(known)), None)
            if item and item not in self.edges[library]:
                self.problem("includes", path, f"<{name}>: {library} does not link {item}")

    def check_names(self, path, text):
        """Five names are also those of a source, groups, a recording's truth, a PMU: in source/."""
        if path.parts[0] != "exporter":
            return
        code = re.sub(r"^\s*#\s*include.*$", "", text, flags=re.MULTILINE)  # check_private's
        for name in sorted(self.collectors):
            word = rf"\b{name}\b"
            if name in ("probe", "pmm_rpq", "slowdown", "amd_l3", "bandwidth"):
                if path.parts[1] == "source":
                    continue
                word = f'"{name}"'
            if re.search(word, code):
                self.problem("names", path, f"names the collector {name}")

    def check_private(self, path, text):
        """Edges reach further than a collector may look."""
        shared = {"contract", "events"}
        if path.parts[0] == "collectors":
            own = path.stem if len(path.parts) == 2 else path.parts[1]
            shared |= {"parts", "learned", "formulas", "table.h", own,
                       {"pebs_nvmm": "nvmm"}.get(own, own)}
        for name in re.findall(r'^\s*#\s*include\s+"collectors/([^"]+)"', text, re.MULTILINE):
            if name.split("/")[0] not in shared:
                self.problem("private", path, f"collectors/{name} is none of its business")

    def check_literals(self, path, text):
        code = []
        position = 0
        for token in TOKENS.finditer(text):
            code.append(text[position : token.start()])
            position = token.end()
            literal = token.group("string")
            if literal:
                self.check_literal(path, text.count("\n", 0, token.start()) + 1, literal)
        code.append(text[position:])
        if str(path) != "exporter/source/perf/kernel.c":
            if re.search(r"\b(__NR_|SYS_)?perf_event_open\b", "".join(code)):
                self.problem("perf", path, "perf_event_open outside exporter/source/perf/kernel.c")

    def check_literal(self, path, line, literal):
        # A sentence for people may name a file; what has no blank is a path that gets opened.
        # The flags' table shows the defaults.
        if str(path) in ("exporter/base/fsroot.c", "exporter/options/table.c", "exporter/options/parse.c"):
            return
        if " " not in literal and re.search(r"/(proc|sys)(/|\")", literal):
            self.problem("paths", f"{path}:{line}", f"spells {literal}; fsroot knows the trees")

    def archives(self):
        for library, folder in self.folders.items():
            path = self.build / f"lib{library}.a"
            if path.exists():
                yield library, path
            elif any((self.source / folder).glob("*.c")):
                sources = [p.name for p in (self.source / folder).glob("*.c")]
                if sources != ["main.c"]:
                    self.problem("state", path, "is not built")

    def check_archives(self):
        self.check_circles()
        self.check_writer()
        for library, path in self.archives():
            self.check_state(library, path)
            self.check_exits(library, path)

    # ---- circles ----

    def check_circles(self):
        """Files that share one internal header may still call one another in a circle, which no
        #include shows: hence the symbols of the objects."""
        includes = {}
        for path in self.files():
            text = (self.source / path).read_text()
            includes[str(path)] = {
                name: f"includes {name}"
                for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE)
            }
        calls = {}
        for file, other, symbol in self.calls():
            calls.setdefault(file, {}).setdefault(other, f"needs {symbol} of {other}")
        for needs in (includes, calls):
            for circle in circles(needs):
                steps = [f"{a} {needs[a][b]}" for a, b in zip(circle, circle[1:] + circle[:1])]
                self.problem("circles", circle[0], "; ".join(steps))

    # ---- the governor's writer ----

    def check_writer(self):
        if not (self.source / WRITER).exists():
            return
        needs = {}
        for file, other, _ in self.calls():
            needs.setdefault(file, set()).add(other)
        reached, todo = set(), [WRITER]
        while todo:
            unit = todo.pop()
            if unit not in reached:
                reached.add(unit)
                todo += needs.get(unit, ())
        for unit in sorted(reached - WRITER_FILES):
            self.problem("writer", unit, "an order can reach it")
        reached.add(WRITES)
        lines = sum(code_lines((self.source / unit).read_text()) for unit in reached
                    if (self.source / unit).exists())
        if lines > WRITER_LINES:
            self.problem("writer", WRITER, f"{lines} lines of code, not more than {WRITER_LINES}")

    def calls(self):
        """(file, file, symbol) for each symbol that one object takes from another."""
        defined, undefined = {}, []
        for library, path in self.archives():
            listing = subprocess.run(["nm", "-A", str(path)], check=True, capture_output=True,
                                     text=True).stdout
            for line in listing.splitlines():
                member, rest = line.split(":", 2)[1:]
                unit = f"{self.folders[library]}/{member.removesuffix('.o')}"
                kind, name = rest.split()[-2:]
                if kind == "U":
                    undefined.append((unit, name))
                elif kind.isupper():
                    defined[name] = unit
        for unit, name in undefined:
            if defined.get(name, unit) != unit:
                yield unit, defined[name], name

    def check_state(self, library, path):
        listing = subprocess.run(
            ["objdump", "-t", str(path)], check=True, capture_output=True, text=True
        ).stdout
        member = "?"
        for line in listing.splitlines():
            header = re.match(r"^(\S+\.o):\s", line)
            if header:
                member = header.group(1).removesuffix(".o")
            # value, seven flag columns, section, size, name
            symbol = re.match(r"^[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+\s+(?:\.hidden )?(\S+)$", line)
            if not symbol or re.search("[dfF]", symbol.group(1)):  # sections, files, functions
                continue
            section, name = symbol.group(2), symbol.group(3)
            writable = section == "*COM*" or re.match(r"^\.(data|bss|tdata|tbss)\b", section)
            if not writable or section.startswith(".data.rel.ro"):
                continue
            plain = name.split(".")[0]  # of a function's own statics
            if (library.removeprefix("ie_"), member, plain) not in STATE_ALLOWED:
                self.problem("state", f"{library}/{member}", f"{name} is mutable ({section})")

    def check_exits(self, library, path):
        listing = subprocess.run(
            ["nm", "-A", "--undefined-only", str(path)], check=True, capture_output=True, text=True
        ).stdout
        for line in listing.splitlines():
            where, name = line.split(":", 1)[1].rsplit(maxsplit=1)
            member = where.split(".o")[0]
            allowed = (library.removeprefix("ie_"), member, name) in EXITS_ALLOWED
            if name in EXITS and not allowed:
                self.problem("exits", f"{library}/{member}", f"calls {name}()")


def code_lines(text):
    """Without comments and what is empty."""
    return sum(bool(line.strip()) for line in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).split("\n"))


def circles(needs):
    """One circle, as a list, of each knot of the graph {node: {node: why}}."""
    done = set()
    for start in sorted(needs):
        if start in done:
            continue
        circle = shortest_way(needs, start, start)
        if circle:
            done.update(circle)
            yield circle


def shortest_way(needs, start, end):
    """The nodes from start to just before end, by at least one step; [] if there is no way."""
    before, todo = {}, [start]
    while todo:
        node = todo.pop(0)
        for other in sorted(needs.get(node, ())):
            if other == end:
                way = [node]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if other not in before and other != node:
                before[other] = node
                todo.append(other)
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()

    checker = Checker(arguments.source, arguments.build)
    if not checker.folders:
        sys.exit("no ie_library() found in CMakeLists.txt")
    checker.check_sources()
    checker.check_archives()
    for line in checker.problems:
        print(line)
    print(f"{len(checker.problems)} problems in {len(list(checker.files()))} files")
    sys.exit(1 if checker.problems else 0)


if __name__ == "__main__":
    main()
