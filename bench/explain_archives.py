#!/usr/bin/env python3
"""Prints what explaining needs: a run with 1000 snapshots of 1 MB, a trace of 1 GB with one marked spike, and one
snapshot of 1 MB beside `trace-cmd report` and rtla's auto-analysis.

The traces are made of small real ones by crates/core/explain/examples/many_spikes.rs. Nothing is asserted. Compare CPU seconds
(user and system): wall-clock time depends on how busy the machine was. Needs 2.1 GB below --work.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MIXED = [
    "other-rt-task--injected-6.18",
    "softirq--injected-multicast-6.18",
    "blocking-task--injected-6.1-rt",
    "previous-irq--injected-call-6.1",
    "fair-server--injected-6.18",
    "storage--journal-worker",
    "timers--injected-6.1-rt-2",
]
PAIRS = 5
FUNCTIONS = ["functions--6.1-rt", "functions--graph-6.12-rt", "functions--stack-6.1-rt"]


def measured(what, command, goal=""):
    """Runs a command in a separate process, which reports the usage of that command alone.

    Returns its CPU seconds, or None when it failed.
    """
    reader = (
        "import resource, subprocess, sys\n"
        "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(code, used.ru_utime, used.ru_stime, used.ru_maxrss)\n"
    )
    begin = time.monotonic()
    out = subprocess.run([sys.executable, "-c", reader, *command], capture_output=True, text=True, check=True).stdout
    wall = time.monotonic() - begin
    code, user, system, rss_kb = out.split()
    if code != "0":
        print(f"{what:46}  failed with exit code {code}")
        return None
    user, system, rss_mb = float(user), float(system), int(rss_kb) / 1024
    print(f"{what:46}  {user + system:6.2f} s CPU ({user:.2f} user, {system:.2f} system)  {rss_mb:6.0f} MB  {wall:6.2f} s wall{goal}")
    return user + system


def make(generator, path, spikes, size, cases):
    directories = [os.path.join(ROOT, "corpus/explain", case) for case in cases]
    subprocess.run([generator, path, str(spikes), str(size), *directories], check=True)


def beside_trace_cmd(ours, theirs):
    """Runs both in turn, several times: a single run is so short that the next one differs."""
    print(f"one snapshot of 1 MB, {PAIRS} paired runs:")
    pairs = [(measured("  tardy explain", ours), measured("  trace-cmd report", theirs)) for _ in range(PAIRS)]
    sums = [sum(seconds or 0 for seconds in side) for side in zip(*pairs)]
    if all(seconds for pair in pairs for seconds in pair):
        print(f"  ratio of all CPU seconds: {sums[0] / sums[1]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tardy", default=os.path.join(ROOT, "dist/bin/tardy"), help="a release build")
    parser.add_argument("--generator", default=os.path.join(ROOT, "target/release/examples/many_spikes"))
    parser.add_argument("--rate", default=os.path.join(ROOT, "target/release/examples/ledger_rate"))
    parser.add_argument("--work", help="directory for the archives [default: a temporary one]")
    parser.add_argument("--spikes", type=int, default=1000)
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix="tardy-bench-", dir=options.work)
    try:
        many, functions, large, one = (os.path.join(work, name) for name in ("many", "functions", "large", "one"))
        make(options.generator, many, options.spikes, 1_000_000, MIXED)
        goal = "  (goal <= 10 s, 300 MB)" if options.spikes == 1000 else ""
        measured(f"explain {options.spikes} snapshots of 1 MB", [options.tardy, "explain", many], goal)
        measured("  the same as JSON", [options.tardy, "explain", many, "--json"])
        measured("  the same as a report", [options.tardy, "report", many])
        shutil.rmtree(many)
        make(options.generator, functions, options.spikes, 1_000_000, FUNCTIONS)
        measured(f"explain {options.spikes} snapshots of 1 MB with functions", [options.tardy, "explain", functions], goal)
        for number, case in enumerate(FUNCTIONS, 1):
            print(f"the whole of one snapshot as one wake-up, {case}  (goal >= 5 million events/s):", flush=True)
            trace = os.path.join(functions, f"spikes/{number:04}/trace.dat")
            rate = subprocess.run([options.rate, trace, "all", "100"], capture_output=True, text=True, check=True)
            print("  " + rate.stdout.splitlines()[0])
        shutil.rmtree(functions)
        make(options.generator, large, 1, 1_000_000_000, MIXED[:1])
        measured("explain one spike in a trace.dat of 1 GB", [options.tardy, "explain", large], "  (goal <= 5 s, 64 MB)")
        shutil.rmtree(large)
        make(options.generator, one, 1, 1_000_000, MIXED[:1])
        snapshot = os.path.join(one, "spikes/0001/trace.dat")
        if shutil.which("trace-cmd"):
            beside_trace_cmd([options.tardy, "explain", one], ["trace-cmd", "report", snapshot])
        else:
            print("trace-cmd is not installed")
        if shutil.which("rtla"):
            print("rtla's auto-analysis reads no file: it works only while its own tracer measures, so it has no figure here")
        else:
            print("rtla is not installed; its auto-analysis reads no file anyway, it works only while its own tracer measures")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
