#!/usr/bin/env python3
"""Shows how often tardy's own threads had the CPU in the late wake-ups of its runs, on a machine all of whose CPUs are measured.

One line for each run; asserts nothing. The tool's time is counted in two parts: before the timer interrupt, when its threads can
only be to blame if they had masked interrupts, and after it, when the measuring thread was runnable.
"""
import argparse, json, pathlib, shutil, subprocess, sys, tempfile

ATTEMPTS = 3

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("--tardy", default="dist/bin/tardy")
options.add_argument("--runs", type=int, default=20)
options.add_argument("--seconds", type=int, default=60)
options.add_argument("--load", action="append", default=[], help="as for tardy run; may be repeated")
options.add_argument("--keep", type=pathlib.Path, help="directory to keep the archives in")
chosen = options.parse_args()


def tool_ns(spike, waiting):
    phases = (phase for phase in spike["phases"] if (phase["name"] == "timer_delay") == waiting)
    return sum(owner["ns"] for phase in phases for owner in phase["owners"] if owner["kind"] == "tool")


def measure(archive):
    words = [chosen.tardy, "run", "--quiet", "--beside-others", "--duration", f"{chosen.seconds}s", "--out", str(archive)]
    for load in chosen.load:
        words += ["--load", load]
    for _ in range(ATTEMPTS):
        ended = subprocess.run(words, capture_output=True, text=True)
        if ended.returncode == 0:
            break
        # Other work on the machine may take a CPU offline or set the clock; such a run proves nothing.
        print(f"     tardy ended with {ended.returncode}, measured again: {ended.stderr.splitlines()[0]}", flush=True)
        shutil.rmtree(archive, ignore_errors=True)
    else:
        sys.exit(f"{ATTEMPTS} runs in a row failed: {ended.stderr}")
    document = subprocess.run([chosen.tardy, "explain", str(archive), "--json"], capture_output=True, text=True, check=True)
    return [spike for spike in json.loads(document.stdout)["spikes"] if spike["late"]]


folder = tempfile.TemporaryDirectory()
place = chosen.keep or pathlib.Path(folder.name)
print("run  late spikes  tool before the interrupt, most µs  tool while runnable, most µs  own-tool found")
totals = [0] * 4
for number in range(chosen.runs):
    spikes = measure(place / f"run-{number:02}")
    before = [ns for ns in (tool_ns(spike, True) for spike in spikes) if ns]
    after = [ns for ns in (tool_ns(spike, False) for spike in spikes) if ns]
    found = sum(any(finding["culprit"] == "own-tool" for finding in spike["findings"]) for spike in spikes)
    most = lambda parts: max(parts, default=0) / 1000
    print(f"{number:3}  {len(spikes):11}  {len(before):22} {most(before):12.1f}  {len(after):15} {most(after):12.1f}  {found:14}", flush=True)
    totals = [total + one for total, one in zip(totals, (len(spikes), len(before), len(after), found))]
print(f"all  {totals[0]:11}  {totals[1]:22} {'':12}  {totals[2]:15} {'':12}  {totals[3]:14}")
