"""Shows that each check of tools/lint finds a planted fault, and that a sound tree passes."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LINT = Path("tools/lint/lint.py").resolve()

ATOMIC_H = """\
#define fr_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define fr_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define fr_store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define fr_fence_seq_cst() atomic_thread_fence(memory_order_seq_cst)
"""

SOUND = {
    "scheduler/atomic.h": ATOMIC_H,
    "include/flyrail/flyrail.h": "int flyrail_x(void);\n",
    "scheduler/cell.h": "int fr_cell_get(void);\n",
    "scheduler/cell.c": """\
#include "scheduler/cell.h"

#include <flyrail/flyrail.h>

#include "scheduler/atomic.h"

int fr_cell_get(void)
{
    /* [cell.read] pairs [cell.write] : sees the value
     * that was written before */
    while (fr_load_relaxed(&cell) &&
           fr_load_acquire(&cell))
        fr_cell_wait();
    fr_store_release(&cell, 1); /* [cell.write] pairs [cell.read] : publishes it */
    /* [cell.fence] pairs [cell.fence] : both sides announce, then look */
#ifdef FR_MUTATE_CELL_NO_FENCE
    fr_fence_seq_cst_off();
#else
    fr_fence_seq_cst();
#endif
    return "malloc(1) in a string, abort() in a comment" != 0; /* abort() */
}
""",
    "runtime/stage.c": '#include "scheduler/cell.h"\n',
    "tests/unit/cell_test.cc": '#include "runtime/stage.h"\n',
    "runtime/stage.h": "",
}


def function_of(line_count):
    return "int fr_long(void)\n{\n" + "    fr_step();\n" * (line_count - 3) + "}\n"


class LintTest(unittest.TestCase):
    def lint(self, changes, skip=("format",)):
        """The messages for the sound tree with some files changed."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**SOUND, **changes}.items():
                target = Path(folder, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            subprocess.run(["git", "init", "-q", folder], check=True)
            arguments = [a for name in skip for a in ("--except", name)]
            run = subprocess.run([sys.executable, "-B", LINT, "--root", folder] + arguments,
                                 capture_output=True, text=True, check=False)
            messages = run.stdout.splitlines()[:-1]
            self.assertEqual(run.returncode, 1 if messages else 0, run.stdout + run.stderr)
            return messages

    def assert_caught(self, changes, where, what, skip=("format",)):
        messages = self.lint(changes, skip)
        self.assertTrue(any(m.startswith(where + ":") and what in m for m in messages), messages)

    def test_sound_tree_passes(self):
        self.assertEqual(self.lint({}), [])

    def test_raw_atomics(self):
        for text in ("#include <stdatomic.h>\n", "int x = __atomic_load_n(&y, 0);\n", "int x = __sync_add(y);\n",
                     "int x = atomic_load(&y);\n", "int o = memory_order_relaxed;\n"):
            self.assert_caught({"tests/unit/cell_test.cc": "\n" + text}, "tests/unit/cell_test.cc:2", "[atomics]")
        self.assert_caught({"runtime/x.h": "\nstd::atomic<int> x;\n"}, "runtime/x.h:2", "[atomics]")
        self.assertEqual(self.lint({"tests/unit/cell_test.cc": "std::atomic<int> x;\n"}), [])
        self.assert_caught({"bench/team.c": "\n#include <stdatomic.h>\n"}, "bench/team.c:2", "[atomics]")
        self.assertEqual(self.lint({"tests/models/deque.c": "#include <stdatomic.h>\n"}), [])

    def cell(self, old, new):
        self.assertIn(old, SOUND["scheduler/cell.c"])
        return {"scheduler/cell.c": SOUND["scheduler/cell.c"].replace(old, new)}

    def test_access_without_label(self):
        self.assert_caught(self.cell(" /* [cell.write] pairs [cell.read] : publishes it */", ""),
                           "scheduler/cell.c:14", "fr_store_release: 0 of 1")

    def test_access_without_label_in_the_bench(self):
        team = "int cell;\nvoid give(void)\n{\n    fr_store_release(&cell, 1);\n}\n"
        self.assert_caught({"bench/team.c": team}, "bench/team.c:4", "fr_store_release")

    def test_label_of_the_line_above_does_not_count(self):
        self.assert_caught(self.cell("publishes it */", "publishes it */\n    fr_store_release(&cell, 2);"),
                           "scheduler/cell.c:15", "0 of 1")

    def test_label_may_not_be_far_above(self):
        self.assert_caught(self.cell("    while (", "    fr_step();\n    while ("), "scheduler/cell.c:12", "0 of 1")

    def test_two_accesses_need_two_labels(self):
        self.assert_caught(self.cell("fr_load_relaxed(&cell)", "fr_load_acquire(&other)"), "scheduler/cell.c:11", "1 of 2")

    def test_partner_that_does_not_exist(self):
        self.assert_caught(self.cell("[cell.read] pairs [cell.write]", "[cell.read] pairs [cell.write], [cell.gone]"),
                           "scheduler/cell.c:9", "[cell.gone], which does not exist")

    def test_partner_that_does_not_name_back(self):
        self.assert_caught(self.cell("[cell.read] pairs [cell.write]", "[cell.read] pairs [cell.write], [cell.fence]"),
                           "scheduler/cell.c:9", "[cell.fence], which does not name it back")

    def test_label_twice(self):
        again = "int fr_x(void)\n{\n    fr_fence_seq_cst(); /* [cell.fence] pairs [cell.fence] : again */\n}\n"
        self.assert_caught({"scheduler/other.c": again}, "scheduler/other.c:3", "is defined at scheduler/cell.c:15")

    def test_label_without_access(self):
        self.assert_caught({"scheduler/other.c": "/* [x.y] pairs [x.y] : why */\nint x;\n"},
                           "scheduler/other.c:1", "stands at no ordered access")

    def test_long_file(self):
        self.assertEqual(self.lint({"scheduler/long.c": "int x;\n" * 600}), [])
        self.assert_caught({"scheduler/long.c": "int x;\n" * 601}, "scheduler/long.c:601", "[file-length]")
        self.assert_caught({"tools/long.py": "x = 1\n" * 601}, "tools/long.py:601", "[file-length]")

    def test_long_line(self):
        self.assertEqual(self.lint({"scheduler/wide.c": "/* %s */\n" % ("x" * 94)}), [])
        self.assert_caught({"scheduler/wide.c": "/* %s */\n" % ("x" * 95)}, "scheduler/wide.c:1", "[columns]")

    def test_long_function(self):
        self.assertEqual(self.lint({"scheduler/long.c": function_of(69)}), [])
        self.assert_caught({"scheduler/long.c": "int x;\n" + function_of(70)}, "scheduler/long.c:2", "[function-length]")
        self.assert_caught({"tests/unit/cell_test.cc": function_of(70)}, "tests/unit/cell_test.cc:1", "[function-length]")

    def test_direction_of_includes(self):
        for path, include in (("scheduler/cell.c", '"runtime/stage.h"'), ("runtime/stage.c", '"tests/unit/x.h"'),
                              ("scheduler/cell.c", '"cell.h"'), ("include/flyrail/flyrail.h", '"../scheduler/cell.h"'),
                              ("runtime/stage.c", "<scheduler/cell.h>"), ("examples/x.c", '"scheduler/cell.h"'),
                              ("runtime/stage.c", '"scheduler/gone.h"')):
            self.assert_caught({path: "\n#include %s\n" % include}, path + ":2", "[includes]")

    def test_words(self):
        for text in ("TO" + "DO", "FIX" + "ME later", "for no" + "w", "a stu" + "b", "/ho" + "me/me/x", "/ro" + "ot/x"):
            self.assert_caught({"docs/x.md": "\nsome %s here\n" % text}, "docs/x.md:2", "[words]")
        self.assert_caught({"tools/x.sh": "echo >/tm" + "p/x\n"}, "tools/x.sh:1", "[words]")

    def test_calls(self):
        for call in ("abort()", "exit(1)", "printf(x)", "fprintf(stderr, x)", "assert(x)", "malloc(1)", "free(p)",
                     "usleep(1)", "pthread_create(p)", "clock_gettime(p)"):
            self.assert_caught({"runtime/x.c": "int x;\n    %s;\n" % call}, "runtime/x.c:2", "[calls]")
        self.assertEqual(self.lint({"runtime/x.c": "    a->free(p);\n    snprintf(x);\n    _Static_assert(1, x);\n"}), [])
        self.assertEqual(self.lint({"examples/x.c": "    printf(x);\n    exit(1);\n"}), [])

    def test_tests(self):
        for text in ("usleep(1)", "std::this_thread::sleep_for(x)", "GTEST_SKI" + "P()", "TEST(A, DISABLE" + "D_b)",
                     "SUCCEE" + "D()", "EXPECT_TRUE(true)"):
            self.assert_caught({"tests/unit/cell_test.cc": "\n    %s;\n" % text}, "tests/unit/cell_test.cc:2", "[tests]")

    def test_mutations(self):
        def table(row):
            return {"tests/mutations/BUILD.bazel": "\n    mutant(%s, \"//tests/unit:cell_test\"),\n" % row}

        where = "tests/mutations/BUILD.bazel:2"
        self.assertEqual(self.lint(table('"CELL_NO_FENCE", "//scheduler:cell.c"')), [])
        self.assert_caught(table('"CELL_GONE", "//scheduler:cell.c"'), where, "does not look at FR_MUTATE_CELL_GONE")
        self.assert_caught(table('"CELL_NO_FENCE", "//runtime:stage.c"'), where, "runtime/stage.c does not look")
        self.assert_caught(table('"CELL_NO_FENCE", "//scheduler:gone.c"'), where, "is not a file of this tree")

    def test_waits(self):
        def tree(row, reasons="FR_WAIT_A,\n", calls=""):
            return {
                "docs/device-waits.md": "| wait | left out by | caught by |\n%s\n" % row,
                "runtime/device/wait_for.h": "typedef enum fr_wait_reason {\n    %s} fr_wait_reason;\n" % reasons,
                "runtime/device/run.h": "",
                "runtime/x.c": "#ifdef FR_MUTATE_NO_WAIT\n#endif\nstatic void fr_x(void)\n{\n%s}\n" % calls,
                "tests/mutations/BUILD.bazel": '    mutant("NO_WAIT", "//runtime:x.c", "//tests/unit:cell_test", only = "*A*", '
                                               'value = "FR_WAIT_A"),\n',
            }

        row, call = "| it | `NO_WAIT` `FR_WAIT_A` | `unit/cell_test` `*A*` |", "    fr_fence_when_over(a, b);\n"
        where = "docs/device-waits.md:2"
        self.assertEqual(self.lint(tree(row)), [])
        self.assertEqual(self.lint(tree(row.replace("it", "it, fr_x", 1), calls=call)), [])
        self.assert_caught(tree(row.replace("NO_WAIT", "GONE")), where, "no mutation GONE FR_WAIT_A")
        self.assert_caught(tree(row.replace("*A*", "*B*")), where, "caught by unit/cell_test *A*")
        self.assert_caught(tree(row, "FR_WAIT_A,\n    FR_WAIT_B,\n"), "runtime/device/wait_for.h:3", "FR_WAIT_B is not in")
        self.assert_caught(tree(row, calls=call), "runtime/x.c:5", "fr_x waits for a device")
        self.assert_caught(tree(row.replace("it", "it, fr_x", 1)), where, "fr_x waits for nothing")

    def test_rules(self):
        def tree(reasons, *names):
            rest = ["R%d" % n for n in range(4, 186)] + ["L%d" % n for n in range(1, 12)] + ["D%d" % n for n in range(1, 27)]
            return {"tests/contract/rules.txt": reasons + "".join("%s elsewhere\n" % rule for rule in rest),
                    "tests/contract/x_test.cc": "".join("TEST_F(X, %s)\n{\n}\n" % name for name in names)}

        self.assertEqual(self.lint(tree("R3 why\n", "R1_a", "R2_and_more")), [])
        self.assertEqual(self.lint(tree("# R1\n\n", "R1_R2_a", "L1x_R9x", "b_R3_c")), [])
        where = "tests/contract/rules.txt:1"
        self.assert_caught(tree("R3 why\n", "R1_a"), where, "R2 has no test")
        self.assert_caught(tree("R3 why\n", "R1_R2_R3_a"), where, "a test: tests/contract/x_test.cc:1")
        self.assert_caught(tree("R3\n", "R1_R2_a"), where, "'R3' is no rule with a reason")
        self.assert_caught(tree("R186 why\n", "R1_R2_R3_a"), where, "'R186 why'")
        self.assert_caught(tree("R3 why\nR3 why\n", "R1_R2_a"), "tests/contract/rules.txt:2", "comes twice")
        self.assert_caught(tree("R3 why\n", "R1_R2_R0_a"), "tests/contract/x_test.cc:1", "there is no rule R0")

    def test_the_table_of_rules_needs_no_git(self):
        table = subprocess.run([sys.executable, "-B", "tools/lint/rules.py"], env={"PATH": "/nowhere"},
                               capture_output=True, text=True)
        self.assertEqual((table.returncode, table.stderr), (0, ""))
        self.assertIn("rules of the contract: ", table.stdout)

    def test_format(self):
        style = {".clang-format": Path(".clang-format").read_text()}
        good = {"scheduler/cell.c": "int fr_x(void)\n{\n    return 1;\n}\n"}
        bad = {"scheduler/cell.c": "int fr_x(void) { return 1; }\n"}
        self.assertEqual([m for m in self.lint({**style, **good}, ()) if "cell.c" in m], [])
        self.assert_caught({**style, **bad}, "scheduler/cell.c:1", "[format]", ())


if __name__ == "__main__":
    unittest.main()
