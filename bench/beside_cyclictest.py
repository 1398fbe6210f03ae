#!/usr/bin/env python3
"""Runs tardy-meter and Debian's cyclictest in turn, same CPU, interval, priority, and prints paired ratios.

CPU time is that of the whole process (user + system) divided by its cycles; memory is VmRSS in the middle of the run.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

METER = "dist/bin/tardy-meter"


def finish(process, seconds):
    """Waits for a process; answers its output, CPU seconds and resident kB half way through."""
    time.sleep(seconds / 2)
    with open(f"/proc/{process.pid}/status") as status:
        resident_kb = int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])
    output = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    return output, usage.ru_utime + usage.ru_stime, resident_kb


def ours(interval_us, seconds, cpu):
    settings = {
        "interval_ns": interval_us * 1000, "duration_ns": int(seconds * 1e9), "cycles": None, "settle_ns": 0,
        "cpus": [cpu], "policy": "fifo", "priority": 80, "lock_memory": True, "cpu_dma_latency_us": None,
        "limit_ns": None, "worst_kept": 1000, "every_sample": False, "loads": [], "settings": [], "degrade": False,
        "trace": {"mode": "off", "buffer_kb_per_cpu": 0, "margin_before_ns": 0, "margin_after_ns": 0,
                  "threshold_ns": 0, "snapshots_max": 1, "budget_bytes": 0, "controls": 0, "rest_ns": 0,
                  "beside_others": False},
    }
    process = subprocess.Popen([METER, "measure"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(json.dumps(settings).encode() + b"\n")
    process.stdin.flush()
    output, cpu_s, resident_kb = finish(process, seconds)
    cycles, total = re.findall(rb'"totals":\{"cycles":(\d+).*?"latency_ns_sum":(\d+)', output)[-1]
    return cpu_s * 1e6 / int(cycles), int(total) / int(cycles) / 1000, resident_kb


def theirs(interval_us, seconds, cpu):
    command = ["cyclictest", "-m", "-q", "-N", "-t1", f"-a{cpu}", "-p80", "-i", str(interval_us),
               "-D", str(int(seconds)), "--default-system"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output, cpu_s, resident_kb = finish(process, seconds)
    found = re.search(rb"C:\s*(\d+).*Avg:\s*(\d+)", output)
    return cpu_s * 1e6 / int(found[1]), int(found[2]) / 1000, resident_kb


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=6)
    arguments.add_argument("--seconds", type=int, default=5)
    chosen = arguments.parse_args()
    cpu = max(os.sched_getaffinity(0))
    print(f"tardy-meter binary: {os.path.getsize(METER) / 1e6:.2f} MB (goal <= 1.5)")
    print(f"one thread on CPU {cpu}, SCHED_FIFO 80, {chosen.rounds} paired rounds of {chosen.seconds} s, order alternating")
    for interval_us in (100, 1000):
        pairs = []
        for number in range(chosen.rounds):
            order = (ours, theirs) if number % 2 == 0 else (theirs, ours)
            measured = {tool.__name__: tool(interval_us, chosen.seconds, cpu) for tool in order}
            pairs.append((measured["ours"], measured["theirs"]))
            sys.stdout.flush()
        print(f"interval {interval_us} us")
        for at, name, goal in ((0, "CPU us per cycle", "<= 1.05"), (1, "mean latency us", "<= 1.05"), (2, "resident kB", "ours <= 3000")):
            ratios = sorted(pair[0][at] / pair[1][at] for pair in pairs)
            mine, other = (statistics.median(pair[side][at] for pair in pairs) for side in (0, 1))
            print(f"  {name:17} tardy-meter {mine:8.2f}  cyclictest {other:8.2f}  "
                  f"ratio median {statistics.median(ratios):.3f} (from {ratios[0]:.3f} to {ratios[-1]:.3f}; goal {goal})")


if __name__ == "__main__":
    main()
