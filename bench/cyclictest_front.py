#!/usr/bin/env python3
"""Runs `tardy-meter cyclictest` and Debian's cyclictest in turn with the same options and prints paired ratios.

CPU time is that of the whole process (user + system) divided by its cycles over all threads; memory is VmRSS in the
middle of the run; minimum, average and cycles are those of the T: lines.
"""

import argparse
import os
import re
import statistics
import subprocess
import time

OURS = ["dist/bin/tardy-meter", "cyclictest"]
THEIRS = ["cyclictest"]
LINE = re.compile(rb"T:\s*\d+.*?C:\s*(\d+) Min:\s*(\d+).*?Avg:\s*(\d+)")


def measure(program, options, seconds):
    process = subprocess.Popen(program + options, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    time.sleep(seconds / 2)
    with open(f"/proc/{process.pid}/status") as status:
        resident_kb = int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])
    output = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    threads = [tuple(map(int, found.groups())) for found in LINE.finditer(output)]
    cycles = sum(thread[0] for thread in threads)
    return {
        "CPU us per cycle": (usage.ru_utime + usage.ru_stime) * 1e6 / cycles,
        "average us": sum(cycles * average for cycles, _, average in threads) / cycles / 1000,
        "minimum us": min(thread[1] for thread in threads) / 1000,
        "cycles": cycles,
        "resident kB": resident_kb,
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=4)
    arguments.add_argument("--seconds", type=int, default=4)
    chosen = arguments.parse_args()
    print(f"{chosen.rounds} paired rounds of {chosen.seconds} s each, order alternating; ratio is ours / theirs")
    for cpus in (["-t1", f"-a{max(os.sched_getaffinity(0))}"], ["-S"]):
        for interval_us in (100, 200, 1000):
            options = ["-m", "-q", "-N", "-p80", "-d0", "-i", str(interval_us), "-D", str(chosen.seconds)] + cpus
            pairs = []
            for number in range(chosen.rounds):
                programs = (OURS, THEIRS) if number % 2 == 0 else (THEIRS, OURS)
                results = {program[-1] if program is THEIRS else "ours": measure(program, options, chosen.seconds)
                           for program in programs}
                pairs.append((results["ours"], results["cyclictest"]))
            print("cyclictest " + " ".join(options))
            for name in pairs[0][0]:
                ratios = sorted(mine[name] / theirs[name] for mine, theirs in pairs)
                mine, theirs = (statistics.median(pair[side][name] for pair in pairs) for side in (0, 1))
                print(f"  {name:17} ours {mine:11.2f}  theirs {theirs:11.2f}  ratio median "
                      f"{statistics.median(ratios):.3f} (from {ratios[0]:.3f} to {ratios[-1]:.3f})")


if __name__ == "__main__":
    main()
