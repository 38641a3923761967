#!/usr/bin/python3
"""architecture.py fails for each thing that it forbids, and passes a tree without them."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parent.parent / "architecture.py"

CMAKE = """
ie_library(base   exporter/base   Threads::Threads)
ie_library(source exporter/source/perf ie_base)
ie_library(http   exporter/http   ie_source PkgConfig::MHD)  # ie_base through ie_source
"""
BASE = '#include "exporter/base/a.h"\nconst char *a(void) { return "no /proc here"; }\n'


class Tree(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.directory.name)
        (self.root / "CMakeLists.txt").write_text(CMAKE)
        self.write("exporter/base/a.h", "const char *a(void);\n")
        self.write("exporter/base/a.c", BASE)
        self.write("exporter/source/perf/s.h", "/* /proc/self */\n")
        self.write("exporter/source/perf/kernel.c", '#include "exporter/source/perf/s.h"\nint perf_event_open;\n')
        self.write("exporter/http/h.c",
                   '#include <microhttpd.h>\n#include "exporter/base/a.h"\n'
                   '#include "exporter/source/perf/s.h"\n')
        self.write("exporter/main.c", '#include "exporter/base/a.h"\nstatic int state;\n')
        (self.root / "collectors").mkdir()

    def tearDown(self):
        self.directory.cleanup()

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self, base="", source=""):
        """Runs the check over libraries of these definitions."""
        for name, text in (("base", base), ("source", source), ("http", ""),
                           ("collectors", ""), ("own", "")):
            folder = self.root / f"{name}_objects"
            folder.mkdir(exist_ok=True)
            member = folder / "member.c"
            member.write_text(text)
            output = folder / "member.c.o"
            subprocess.run(["gcc", "-fPIE", "-c", str(member), "-o", str(output)], check=True)
            subprocess.run(["ar", "rc", str(self.root / f"libie_{name}.a"), str(output)],
                           check=True)
        return subprocess.run([CHECK, self.root, "--source", self.root], capture_output=True,
                              text=True)

    def assert_fails(self, word, **members):
        result = self.check(**members)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(word, result.stdout)
        self.assertIn("1 problems", result.stdout)

    def test_passes(self):
        constant = "const int c = 1; static const char *const t[] = {\"a\"}; " \
                   "const void *u(void); const void *u(void) { return t; }"
        result = self.check(base=constant)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_include_against_the_arrows(self):
        self.write("exporter/base/a.c", BASE + '#include "exporter/source/perf/s.h"\n')
        self.assert_fails("ie_base has no arrow to ie_source")

    def test_writing(self):
        for code in ('int f(void) { return open("a", O_RDONLY | O_CREAT); }',
                     'int f(void) { return mkdir("a", 0); }',
                     'int f(void) { return renameat (1, "a", 1, "b"); }',
                     'void *f(void) { return fopen("a", "we"); }',
                     'void *f(void) { return fopen("a", "r+e"); }',
                     'int f(void) { return sched_setaffinity(0, 0, 0); }'):
            with self.subTest(code):
                self.write("exporter/base/a.c", BASE + code)
                self.assert_fails("writes: exporter/base/a.c")

    def test_reading_is_allowed(self):
        self.write("exporter/base/a.c", BASE + '/* mkdir() */ const char *s(void) { return "O_CREAT"; }\n'
                   'void *f(struct o *ops) { ops->rename(1); return fopen("a", "re"); }')
        self.write("exporter/governor/act/journal/fswrite.c", "int w(void) { return openat(1, 0, O_WRONLY); }")
        (self.root / "CMakeLists.txt").write_text(CMAKE + "ie_library(own exporter/governor/act/journal)")
        result = self.check()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_folder_with_too_many_files(self):
        for i in range(25):  # and h.c
            self.write(f"exporter/http/n{i}.h", "")
        self.assert_fails("folders: exporter/http: 26")

    def test_include_from_no_folder(self):
        self.write("exporter/base/a.c", BASE + '#include "a.h"\n')
        self.assert_fails("not spelled from the root")

    def test_folder_without_library(self):
        self.write("exporter/new/n.c", "")
        self.assert_fails("no ie_library()")

    def test_outside_library(self):
        self.write("exporter/base/a.c", BASE + "#include <microhttpd.h>\n")
        self.assert_fails("does not link PkgConfig::MHD")

    def test_kernel_path(self):
        self.write("exporter/base/a.c", BASE + 'const char *p = "/proc/self/stat";\n')
        self.assert_fails("paths: exporter/base/a.c:3")

    def test_kernel_path_in_format(self):
        self.write("exporter/base/a.c", BASE + 'const char *p = "%s/sys/devices";\n')
        self.assert_fails("paths: exporter/base/a.c:3")

    def test_collector_named_in_the_core(self):
        self.write("CMakeLists.txt", CMAKE + "ie_library(collectors collectors ie_base)\n")
        self.write("collectors/x_y.c",
                   "const struct collector_ops x_y_collector = {.name = \"x_y\"};\n")
        self.write("exporter/base/a.c", BASE + 'const char *b = "x_y";\n')
        self.assert_fails("names the collector x_y")

    def collectors(self):
        self.write("CMakeLists.txt", CMAKE + "ie_library(own collectors/own ie_base)\n"
                   "ie_library(collectors collectors ie_own)\n")
        self.write("collectors/own/o.h", "")
        self.write("collectors/own.c", '#include "collectors/own/o.h"\n'
                   'const struct collector_ops own_collector = {.name = "own"};\n')

    def test_own_folder_of_a_collector(self):
        self.collectors()
        result = self.check()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_folder_of_another_collector(self):
        self.collectors()
        self.write("collectors/other.c", '#include "collectors/own/o.h"\n')
        self.assert_fails("private: collectors/other.c")

    def test_folder_of_a_collector_in_the_core(self):
        self.collectors()
        self.write("CMakeLists.txt", CMAKE.replace("Threads::Threads", "ie_own")
                   + "ie_library(own collectors/own)\nie_library(collectors collectors ie_own)\n")
        self.write("exporter/base/a.c", BASE + '#include "collectors/own/o.h"\n')
        self.assert_fails("private: exporter/base/a.c")

    def test_part_of_an_outside_library(self):
        self.write("exporter/base/a.c", BASE + "#include <Zydis/Decoder.h>\n")
        self.assert_fails("does not link ${ZYDIS_LIBRARY}")

    def test_circle_of_includes(self):
        self.write("exporter/base/a.h", '#include "exporter/base/b.h"\n')
        self.write("exporter/base/b.h", '#include "exporter/base/c.h"\n')
        self.write("exporter/base/c.h", '#include "exporter/base/a.h"\n')
        self.assert_fails("circles: exporter/base/a.h: exporter/base/a.h includes "
                          "exporter/base/b.h")

    def test_circle_of_calls(self):
        self.assert_fails("circles: exporter/base/member.c: exporter/base/member.c needs there of "
                          "exporter/source/perf/member.c",
                          base="void here(void); void there(void); void here(void) { there(); }",
                          source="void here(void); void there(void); void there(void) { here(); }")

    def test_calls_one_way(self):
        result = self.check(base="void there(void); void here(void); void here(void) { there(); }",
                            source="void there(void); void there(void) { }")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_perf_event_open(self):
        self.write("exporter/base/a.c", BASE + "int f = SYS_perf_event_open;\n")
        self.assert_fails("perf: exporter/base/a.c")

    def test_mutable_state(self):
        self.assert_fails("counter is mutable", base="static int counter; int *f(void); "
                                                     "int *f(void) { return &counter; }")

    def test_mutable_initialised_state(self):
        self.assert_fails("limit is mutable", base="int limit = 7;")

    def test_mutable_state_of_a_thread(self):
        self.assert_fails("last is mutable", base="_Thread_local int last;")

    def test_exit(self):
        self.assert_fails("calls exit()",
                          source="void exit(int); void f(void); void f(void) { exit(1); }")

    def test_abort(self):
        self.assert_fails("calls abort()",
                          source="void abort(void); void f(void); void f(void) { abort(); }")

    def writer(self, text, needs="void a(void); void a(void) { }"):
        """The governor's writer, and a file of exporter/base that it may need."""
        (self.root / "CMakeLists.txt").write_text(
            CMAKE + "ie_library(write exporter/governor/write ie_base)\n")
        self.write("exporter/governor/write/writer.c", text)
        folder = self.root / "write_objects"
        folder.mkdir(exist_ok=True)
        subprocess.run(["gcc", "-fPIE", "-w", "-c", self.root / "exporter/governor/write/writer.c",
                        "-o", folder / "writer.c.o"], check=True)
        subprocess.run(["ar", "rc", self.root / "libie_write.a", folder / "writer.c.o"], check=True)
        return {"base": needs}

    def test_a_writer_that_reaches_more(self):
        members = self.writer("void a(void); void obey(void) { a(); }")
        self.assert_fails("writer: exporter/base/member.c: an order can reach it", **members)

    def test_a_writer_that_is_too_long(self):
        members = self.writer("/*\n\n*/\n" + "extern int i;\n\n" * 1070)
        result = self.check(**members)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        members = self.writer("extern int i;\n" * 1071)
        self.assert_fails("1071 lines of code, not more than", **members)

    def test_library_missing(self):
        result = subprocess.run([CHECK, self.root / "exporter", "--source", self.root],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("is not built", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
