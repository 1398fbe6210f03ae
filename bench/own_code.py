#!/usr/bin/env python3
"""How often `tardy watch --stacks` names the planted slow function first, and what the samples cost.

  bench/own_code.py right   C, C++ and Rust programs with slow functions at depth 1, 5 and 20, with and without frame pointers, one of them
                            stripped with a separate debug file, and Python with -X perf (--python, 3.12 or later): right answers of N
                            late cycles each; --target NAME runs C, C++ and Rust programs there, static and ten times as slow
  bench/own_code.py cost    a SCHED_FIFO cycle of 1 kHz with and without --stacks, in paired rounds: CPU time of the thread (with the interrupts on
                            top of it) and of the meter, and the p99 of its wake-up latency

Asserts nothing. A cycle that another program made late, too, counts as any other.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TARDY = os.path.abspath(os.environ.get("TARDY", os.path.join(ROOT, "dist/bin/tardy")))
PROGRAMS = os.path.join(ROOT, "crates/tardy/tests/programs")
FRAME_POINTERS = {
    "c": {True: "-fno-omit-frame-pointer", False: "-fomit-frame-pointer"},
    "rs": {True: "force-frame-pointers=yes", False: "force-frame-pointers=no"},
}

LOOP = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile uint64_t sink = 1;
static int64_t ns(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
static int order(const void *a, const void *b) { int64_t d = *(int64_t *)a - *(int64_t *)b; return (d > 0) - (d < 0); }
int main(int n, char **words) {
    long cycles = atol(words[1]), work = atol(words[2]);
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 80});
    int64_t *late = calloc(cycles, sizeof *late), next = ns(CLOCK_MONOTONIC) + 1000000000, before = 0;
    for (long i = 0; i < cycles; i++, next += 1000000) {
        struct timespec until = {next / 1000000000, next % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        if (!i) before = ns(CLOCK_THREAD_CPUTIME_ID);
        late[i] = ns(CLOCK_MONOTONIC) - next;
        for (long k = 0; k < work; k++) sink = sink * 3 + k;
    }
    int64_t spent = ns(CLOCK_THREAD_CPUTIME_ID) - before;
    qsort(late, cycles, sizeof *late, order);
    FILE *out = fopen(words[3], "w");
    fprintf(out, "%lld %lld %lld\n", (long long)spent, (long long)late[cycles / 2], (long long)late[cycles * 99 / 100]);
    return fclose(out) != 0;
}
"""


def run(words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options)


def compiled(folder, language, pointers, stripped, arguments):
    source = os.path.join(PROGRAMS, f"late_functions.{language}")
    program = os.path.join(folder, f"{language}-{int(pointers)}-{int(stripped)}")
    if language == "rs":
        where = ["--target", arguments.rust, "-C", "linker=rust-lld", "-C", "link-arg=--build-id"] if arguments.target else []
        run(["rustc", "-O", "--edition", "2024", "--crate-name", "late_functions", *where, "-C", FRAME_POINTERS["rs"][pointers], "-o",
             program, source])
    else:
        compiler = [f"{arguments.prefix}g++", "-std=c++17"] if language == "cpp" else [f"{arguments.prefix}gcc"]
        options = ["-g"] * stripped + ["-static"] * bool(arguments.target)
        run([*compiler, "-O2", *options, FRAME_POINTERS["c"][pointers], "-o", program, source])
    if stripped:
        if arguments.target:
            debug_file = debug_path(program, arguments)
            os.makedirs(os.path.dirname(debug_file), exist_ok=True)
            run([f"{arguments.prefix}objcopy", "--only-keep-debug", program, debug_file])
        run([f"{arguments.prefix}objcopy", "--only-keep-debug", program, program + ".debug"])
        run([f"{arguments.prefix}objcopy", "--strip-all", f"--add-gnu-debuglink={program}.debug", program])
    return program


def debug_path(program, arguments):
    """Where the debug information of a program of another machine is looked for on this one."""
    notes = run([f"{arguments.prefix}readelf", "--notes", program]).stdout
    build_id = notes.split("Build ID: ")[1].split()[0]
    return f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"


def tardy(folder, *words):
    return subprocess.run([TARDY, *words], cwd=folder, capture_output=True, text=True)


def name_of(code):
    return (code.get("function") or code.get("generated") or {}).get("name") if isinstance(code, dict) else None


def answers(folder, command, depth, late, target):
    """For each captured late cycle: the planted function, and the function that was named."""
    truth, out = os.path.join(folder, "truth"), os.path.join(folder, f"run-{time.monotonic_ns()}")
    where = ["--target", target] if target else []
    ended = tardy(folder, "watch", *where, "--beside-others", "--all-threads", "--stacks", "--cycle-limit",
                  "20ms" if target else "2ms", "--snapshots", str(late + 60 if target else late + 10), "--budget-mb", "1000",
                  "--quiet", "--out", out, "--", *command, str(depth), str(late), *(["/proc/self/fd/1", "10"] if target else [truth]))
    if target:
        lines = [line for line in (ended.stdout + ended.stderr).splitlines() if "slow_" in line and line.split()[0].isdigit()]
    else:
        with open(truth) as file:
            lines = list(file)
    planted = [(int(at), name) for at, name in (line.split() for line in lines)]
    document = json.loads(tardy(folder, "explain", "--json", out).stdout)
    due = {}
    with open(os.path.join(out, "stream.tardy"), "rb") as file:
        stream = file.read()
    at = 0
    while (at := stream.find(b'{"spike":{', at)) >= 0:
        spike, _ = json.JSONDecoder().raw_decode(stream[at:].decode("utf-8", "replace"))
        spike = spike["spike"]
        if spike.get("watched") == "cycle":
            due[spike["number"]] = (spike["sample"]["due_ns"], spike["sample"]["due_ns"] + spike["sample"]["latency_ns"])
        at += 1
    found = []
    for entry in document["spikes"]:
        if entry["spike"] not in due:
            continue
        start, end = due[entry["spike"]]
        inside = [name for instant, name in planted if start <= instant <= end]
        if len(inside) != 1:
            continue
        slow = (entry.get("own_code") or {}).get("slow")
        blamed = name_of((slow.get("inner") or slow["outer"])["code"]) if slow else None
        first = name_of(entry["own_code"]["functions"][0]["code"]) if slow else None
        found.append((inside[0], blamed if blamed == first else f"{blamed} / {first}"))
    return found


def programs(folder, arguments):
    """Title and command of each program."""
    if arguments.python:
        yield "Python, -X perf", [arguments.python, "-X", "perf", os.path.join(PROGRAMS, "late_functions.py")]
        return
    for language, stripped in (("c", False), ("cpp", False), ("cpp", True), ("rs", False)):
        for pointers in (True, False):
            title = f"{language}{', stripped, debug file' if stripped else ''}{', frame pointers' if pointers else ''}"
            yield title, [compiled(folder, language, pointers, stripped, arguments)]


def right(arguments):
    print(f"{'program':34} {'depth':>5} {'right':>6} {'of':>4}   other answers")
    with tempfile.TemporaryDirectory() as folder:
        if arguments.target_file:
            os.makedirs(os.path.join(folder, "targets"))
            shutil.copy(arguments.target_file, os.path.join(folder, "targets", f"{arguments.target}.toml"))
        for title, command in programs(folder, arguments):
            for depth in (1, 5, 20):
                found = []
                for _ in range(4):
                    if len(found) < arguments.late:
                        found += answers(folder, command, depth, arguments.late + 4 - len(found), arguments.target)
                found = found[:arguments.late]
                wrong = [f"{name} for {planted}" for planted, name in found if name != planted]
                print(f"{title:34} {depth:5} {len(found) - len(wrong):6} {len(found):4}   {'; '.join(wrong[:3])}", flush=True)


def meter_cpu_s(parent):
    """CPU time so far of the meter that a program started."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                head, _, rest = file.read().rpartition(")")
            fields = rest.split()
            if head.endswith("tardy-meter") and int(fields[1]) == parent:
                return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            pass
    return None


def cost_of(folder, program, stacks, arguments):
    """CPU of the thread and of the meter in percent of a CPU, p50 and p99 in µs."""
    figures = os.path.join(folder, "figures")
    words = [TARDY, "watch", "--beside-others", "--quiet", *(["--stacks"] if stacks else []), "--out",
             os.path.join(folder, f"run-{time.monotonic_ns()}"), "--", program, str(arguments.seconds * 1000), str(arguments.work), figures]
    child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    meter, begun = 0.0, time.monotonic()
    while child.poll() is None:
        meter = meter_cpu_s(child.pid) or meter
        time.sleep(0.1)
    wall = time.monotonic() - begun
    with open(figures) as file:
        spent, p50, p99 = map(int, file.read().split())
    return spent / 1e7 / arguments.seconds, meter * 100 / wall, p50 / 1e3, p99 / 1e3


def cost(arguments):
    names = ("thread, % of a CPU", "meter, % of a CPU", "p50 of its latency, µs", "p99 of its latency, µs")
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "loop.c"), os.path.join(folder, "loop")
        with open(source, "w") as file:
            file.write(LOOP)
        run(["gcc", "-O2", "-o", program, source])
        for number in range(arguments.rounds):
            order = (False, True) if number % 2 else (True, False)
            pair = {stacks: cost_of(folder, program, stacks, arguments) for stacks in order}
            rounds.append((pair[False], pair[True]))
    print(f"{arguments.rounds} pairs of {arguments.seconds} s; medians, and the median difference in a pair with its quartiles")
    for at, name in enumerate(names):
        plain, sampled = ([pair[which][at] for pair in rounds] for which in (0, 1))
        differences = sorted(with_stacks - without for without, with_stacks in zip(plain, sampled))
        low, middle, high = (statistics.quantiles(differences, n=4) if len(differences) > 1 else differences * 3)
        print(f"{name:24} {statistics.median(plain):9.3f} with --stacks {statistics.median(sampled):9.3f}"
              f"   {middle:+.3f} ({low:+.3f} to {high:+.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("right", "cost"))
    parser.add_argument("--late", type=int, default=50, help="late cycles of each program and depth")
    parser.add_argument("--python", help="this Python alone")
    parser.add_argument("--target", help="a target that `tardy target list` shows; its programs are static")
    parser.add_argument("--target-file", help="the file of the target, if it is not among the user's")
    parser.add_argument("--prefix", default="", help="of the compilers for the target, such as aarch64-linux-gnu-")
    parser.add_argument("--rust", default="aarch64-unknown-linux-musl", help="the same for rustc")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--work", type=int, default=60000, help="steps of work in a cycle, about 2 ns each")
    arguments = parser.parse_args()
    {"right": right, "cost": cost}[arguments.what](arguments)


if __name__ == "__main__":
    main()
