#!/usr/bin/env python3
"""Compares the cost of a cycle in tardy-meter's measuring thread with the least a wake-up can cost and with cyclictest.

Four programs run in turn on the same CPU with the same interval and priority, in rotating order:

  bare loop      clock_nanosleep, clock_gettime and one counter (crates/measure/tardy-meter/examples/bare_loop.rs)
  tardy-meter    `tardy-meter measure`
  cyclictest     as most people run it: its main thread wakes every 10 ms wherever the kernel puts it, often on the measured CPU
  cyclictest -M  with --mainaffinity set to another CPU

CPU time is that of the measuring thread (schedstat) divided by its sleeps (voluntary context switches), between two readings
inside the run, so start and end are not counted. Memory is VmRSS in the middle of the run.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

METER = os.environ.get("TARDY_METER", "dist/bin/tardy-meter")
BARE_LOOP = os.environ.get("BARE_LOOP") or "target/x86_64-unknown-linux-musl/meter/examples/bare_loop"
PRIORITY = 80
RT_PRIORITY_FIELD = 40
WARM_UP_S = 0.5
NAMES = ("bare loop", "tardy-meter", "cyclictest", "cyclictest -M")


def read(path):
    with open(path) as file:
        return file.read()


def measuring_thread(pid):
    """The directory of the thread with the measuring priority."""
    for _ in range(200):
        for task in os.listdir(f"/proc/{pid}/task"):
            stat = read(f"/proc/{pid}/task/{task}/stat").rpartition(")")[2].split()
            if int(stat[RT_PRIORITY_FIELD - 3]) == PRIORITY:
                return f"/proc/{pid}/task/{task}"
        time.sleep(0.005)
    raise RuntimeError(f"process {pid} has no thread of priority {PRIORITY}")


def look(task):
    """CPU time in ns and number of sleeps so far."""
    sleeps = int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", read(f"{task}/status"))[1])
    return int(read(f"{task}/schedstat").split()[0]), sleeps


def settings(interval_us, seconds, cpu):
    return {
        "interval_ns": interval_us * 1000, "duration_ns": int(seconds * 1e9), "cycles": None, "settle_ns": 0,
        "cpus": [cpu], "policy": "fifo", "priority": PRIORITY, "lock_memory": True, "cpu_dma_latency_us": None,
        "limit_ns": None, "worst_kept": 1000, "every_sample": False, "loads": [], "settings": [], "degrade": False,
        "trace": {"mode": "off", "buffer_kb_per_cpu": 0, "margin_before_ns": 0, "margin_after_ns": 0,
                  "threshold_ns": 0, "snapshots_max": 1, "budget_bytes": 0, "controls": 0, "rest_ns": 0,
                  "beside_others": False},
    }


def start(name, interval_us, seconds, cpu, other_cpu):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    if name == "bare loop":
        return subprocess.Popen([BARE_LOOP, str(cpu), str(interval_us), str(seconds)], **pipes)
    if name == "tardy-meter":
        process = subprocess.Popen([METER, "measure"], stdin=subprocess.PIPE, **pipes)
        process.stdin.write(json.dumps(settings(interval_us, seconds, cpu)).encode() + b"\n")
        process.stdin.flush()
        return process
    command = ["cyclictest", "-m", "-q", "-N", "-t1", f"-a{cpu}", f"-p{PRIORITY}", "-i", str(interval_us),
               "-D", str(seconds), "--default-system"]
    return subprocess.Popen(command + ([f"--mainaffinity={other_cpu}"] if name == "cyclictest -M" else []), **pipes)


def mean_latency_us(name, output):
    if name == "bare loop":
        return int(output.split()[1]) / 1000
    if name == "tardy-meter":
        cycles, total = re.findall(rb'"totals":\{"cycles":(\d+).*?"latency_ns_sum":(\d+)', output)[-1]
        return int(total) / int(cycles) / 1000
    return int(re.search(rb"Avg:\s*(\d+)", output)[1]) / 1000


def measure(name, interval_us, seconds, cpu, other_cpu):
    process = start(name, interval_us, seconds, cpu, other_cpu)
    task = measuring_thread(process.pid)
    time.sleep(WARM_UP_S)
    first_ns, first_sleeps = look(task)
    resident_kb = int(re.search(r"VmRSS:\s+(\d+)", read(f"/proc/{process.pid}/status"))[1])
    time.sleep(seconds - 2 * WARM_UP_S)
    last_ns, last_sleeps = look(task)
    output, _ = process.communicate()
    cost_us = (last_ns - first_ns) / 1000 / (last_sleeps - first_sleeps)
    return {"CPU us per cycle": cost_us, "mean latency us": mean_latency_us(name, output), "resident kB": resident_kb}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=6)
    arguments.add_argument("--seconds", type=int, default=5)
    chosen = arguments.parse_args()
    cpus = os.sched_getaffinity(0)
    cpu, other_cpu = max(cpus), min(cpus)
    print(f"tardy-meter binary: {os.path.getsize(METER) / 1e6:.2f} MB (goal <= 1.2)")
    print(f"one thread on CPU {cpu}, SCHED_FIFO {PRIORITY}, {chosen.rounds} rounds of {chosen.seconds} s, order rotating; "
          f"ratios are tardy-meter's figure over the other's in the same round")
    for interval_us in (100, 1000):
        rounds = []
        for number in range(chosen.rounds):
            shift = number % len(NAMES)
            order = NAMES[shift:] + NAMES[:shift]
            rounds.append({name: measure(name, interval_us, chosen.seconds, cpu, other_cpu) for name in order})
            sys.stdout.flush()
        print(f"interval {interval_us} us")
        for figure in rounds[0][NAMES[0]]:
            for name in NAMES:
                median = statistics.median(result[name][figure] for result in rounds)
                ratios = sorted(result["tardy-meter"][figure] / result[name][figure] for result in rounds)
                ratio = ""
                if name != "tardy-meter":
                    ratio = f"  ratio median {statistics.median(ratios):.3f} (from {ratios[0]:.3f} to {ratios[-1]:.3f})"
                print(f"  {figure:17} {name:13} {median:9.2f}{ratio}")


if __name__ == "__main__":
    main()
