"""OpenMP: every construct that GCC makes a call of is known to order what it orders, and a program that uses others is
told that races were not looked for. tests/litmus/threads/openmp.c has what is found."""
from scratch import each

PARTS = {
    "static": "#pragma omp parallel for num_threads(2) schedule(static, 1)\n for (int i = 0; i < 6; i++) a[i] = i;",
    "dynamic": "#pragma omp parallel for num_threads(2) schedule(dynamic)\n for (int i = 0; i < 6; i++) a[i] = i;",
    "monotonic": "#pragma omp parallel for num_threads(2) schedule(monotonic: dynamic)\n for (int i = 0; i < 6; i++) a[i] = i;",
    "guided": "#pragma omp parallel for num_threads(2) schedule(guided)\n for (int i = 0; i < 6; i++) a[i] = i;",
    "runtime": "#pragma omp parallel for num_threads(2) schedule(runtime)\n for (int i = 0; i < 6; i++) a[i] = i;",
    "unsigned": "#pragma omp parallel for num_threads(2) schedule(dynamic)\n"
                " for (unsigned long i = 0; i < 6; i++) a[i] = (int)i;",
    "sections": "#pragma omp parallel sections num_threads(2)\n {\n#pragma omp section\n a[0] = 1;\n#pragma omp section\n"
                " a[1] = 2;\n }\n a[0] = a[1];",
    "for": "#pragma omp parallel num_threads(2)\n {\n#pragma omp for schedule(dynamic)\n for (int i = 0; i < 6; i++) a[i] = i;\n"
           "#pragma omp for\n for (int i = 0; i < 6; i++) a[5 - i]++;\n }",
    "copyprivate": "int v;\n#pragma omp parallel num_threads(2) private(v)\n {\n#pragma omp single copyprivate(v)\n v = ++a[0];\n"
                   " assert(v == 1);\n }",
    "ordered": "#pragma omp parallel for ordered num_threads(2) schedule(static, 1)\n for (int i = 1; i < 6; i++) {\n"
               "#pragma omp ordered\n a[i] = a[i - 1] + 1;\n }",
    "critical": "#pragma omp parallel num_threads(2)\n {\n#pragma omp critical\n a[0]++;\n#pragma omp critical(x)\n a[1]++;\n }\n"
                " assert(a[0] == 2 && a[1] == 2);",
    "atomic": "struct { long double x; } s = {0};\n#pragma omp parallel num_threads(2)\n {\n#pragma omp atomic\n s.x += 1;\n"
              "#pragma omp atomic\n a[0]++;\n }\n assert(s.x == 2 && a[0] == 2);",
    "locks": "omp_lock_t l;\n omp_init_lock(&l);\n#pragma omp parallel num_threads(2)\n { omp_set_lock(&l); a[0]++;"
             " omp_unset_lock(&l); if (omp_test_lock(&l)) { a[0]++; omp_unset_lock(&l); } }\n assert(a[0] >= 2);",
    "nest-locks": "omp_nest_lock_t l;\n omp_init_nest_lock(&l);\n#pragma omp parallel num_threads(2)\n { omp_set_nest_lock(&l);"
                  " omp_set_nest_lock(&l); a[0]++; omp_unset_nest_lock(&l); a[0]++; omp_unset_nest_lock(&l); }\n"
                  " assert(a[0] == 4);",
    "tasks": "#pragma omp parallel num_threads(2)\n#pragma omp single\n {\n#pragma omp task\n a[0] = 1;\n#pragma omp task\n a[1] = 2;\n"
             "#pragma omp taskwait\n a[0] = a[1];\n#pragma omp taskgroup\n {\n#pragma omp task\n a[2] = 3;\n }\n a[2]++;\n"
             "#pragma omp task\n a[3] = 4;\n }\n assert(a[0] == 2 && a[2] == 4 && a[3] == 4);",
    "reduction": "int s = 0;\n#pragma omp parallel for reduction(+ : s) num_threads(2)\n for (int i = 0; i < 6; i++) s += i;\n"
                 " assert(s == 15);",
    "nested": "omp_set_max_active_levels(2);\n#pragma omp parallel num_threads(2)\n {\n int me = omp_get_thread_num();\n"
              "#pragma omp parallel num_threads(2)\n a[2 * me + omp_get_thread_num()] = me;\n a[2 * me]++; a[2 * me + 1]++;\n }",
    "cancel": "#pragma omp parallel num_threads(2)\n {\n#pragma omp for schedule(static, 1)\n for (int i = 0; i < 6; i++) {\n"
              " a[i] = i;\n#pragma omp cancel for if (i == 9)\n }\n a[5 - omp_get_thread_num()] = 1;\n }",
}
FRAME = "#include <assert.h>\n#include <omp.h>\nint a[8];\nint main(void) {\n %s\n return 0;\n}\n"


@each(*PARTS)
def test_right(s, part):
    program = s.build_text(FRAME % PARTS[part], "-fopenmp", "-O1")
    r = s.search("check", program, "--max-executions", "60", want=[0, 5])
    s.same(r["findings"], [], "findings")
    s.check(not r["complete"] and "races_off" not in r, "it must be bounded, with races looked for: %s" % r["verdict"])
    s.check(r["threads"] > 1, "one thread only")


def test_unknown(s):
    """What Heddle does not know to order: nobody is accused, and it is said."""
    part = "int s = 0;\n#pragma omp parallel reduction(task, + : s) num_threads(2)\n {\n" \
           "#pragma omp task in_reduction(+ : s)\n s += 1;\n }\n assert(s == 2);"
    program = s.build_text(FRAME % part, "-fopenmp", "-O1")
    r = s.search("check", program, "--max-executions", "60", want=[0, 5])
    s.same((r["findings"], r["races_off"], r["complete"]), ([], True, False), "result")
    s.check("data races were not looked for" in s.run([s.heddle, "check", "--max-executions", "3", "--", program], want=[0, 5]).stdout,
            "it does not say so")


def test_unsupported(s):
    """Threads that wait for each other by spinning inside libgomp: refused by name, not called a hang."""
    part = "#pragma omp parallel for ordered(1) num_threads(2) schedule(static, 1)\n for (int i = 1; i < 6; i++) {\n" \
           "#pragma omp ordered depend(sink : i - 1)\n a[i] = a[i - 1] + 1;\n#pragma omp ordered depend(source)\n }"
    program = s.build_text(FRAME % part, "-fopenmp", "-O1")
    p = s.run([s.heddle, "check", "--", program], want=3)
    s.check("OpenMP loops with ordered depend (doacross)" in p.stderr, p.stderr)
