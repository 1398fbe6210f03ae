#!/usr/bin/env python3
"""Prints what recording the phases of block requests costs one thread that reads 4 KiB at a time, beside blktrace.

  here      requests a second on this machine at the median latency, in rounds whose order alternates: without a recording, with
            snapshots alone, with phases as well, and with blktrace. Medians of the rounds. The device is null_blk if this kernel has it, else a loop device on a file in memory; or --device.
  --virtual instructions of the median request on null_blk in a virtual machine with one CPU, whose clock counts them: without a
            recording, with snapshots alone, with phases as well, and with the kernel's tracer blk, which is blktrace without the
            program that reads. Repeats nearly exactly.

Asserts nothing. Every event takes several hundred instructions, so the share depends on how long the device takes: --virtual
prints it for completion at once, after 10 us, and after 100 us.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile

TARDY = os.environ.get("TARDY", "dist/bin/tardy")
COMPLETIONS = [("at once", "irqmode=0"), ("after 10 us", "irqmode=2 null_blk.completion_nsec=10000"),
               ("after 100 us", "irqmode=2 null_blk.completion_nsec=100000")]


def measured(folder, device, phases, trace, more):
    """The summary of a run."""
    measured.number += 1
    method = f"storage:device={device},size_mb=32,pace=back-to-back,phases={'on' if phases else 'off'}"
    words = [os.path.abspath(TARDY), "run", "--method", method, "--policy", "other", "--no-counters", "--trace", trace, "--snapshots", "1", "--controls", "0",
             "--trace-threshold", "1h", "--json", "--beside-others", "--out", f"run-{measured.number}", *more]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
    if not ended.stdout.startswith("{"):
        raise SystemExit(ended.stdout + ended.stderr)
    return json.loads(ended.stdout)


measured.number = 0


def loop_device(folder):
    path = os.path.join(folder, "contents")
    with open(path, "wb") as file:
        file.truncate(64 << 20)
    return subprocess.run(["losetup", "--find", "--show", "--direct-io=on", path], capture_output=True, text=True, check=True).stdout.strip()


def requests_per_second(folder, device, way, arguments):
    beside = None
    if way == "blktrace":
        beside = subprocess.Popen(["blktrace", "-d", device, "-o", "-"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        more = ["--cpus", str(arguments.cpu), "-D", f"{arguments.seconds}s", "--settle", "1s"]
        summary = measured(folder, device, way == "phases", "off" if way in ("nothing", "blktrace") else "auto", more)
    finally:
        if beside:
            beside.send_signal(2)
            beside.wait()
    # Where other work takes the CPU, the number of requests says little.
    return 1e9 / summary["all_cpus"]["p50"]


def here(folder, arguments):
    device, made = arguments.device, None
    if not device and os.path.exists("/dev/nullb0"):
        device = "/dev/nullb0"
    if not device:
        device = made = loop_device(tempfile.mkdtemp(dir="/dev/shm"))
    ways = ["nothing", "snapshots", "phases"] + (["blktrace"] if shutil.which("blktrace") else [])
    figures = {way: [] for way in ways}
    try:
        for round_number in range(arguments.rounds):
            for way in ways if round_number % 2 == 0 else reversed(ways):
                figures[way].append(requests_per_second(folder, device, way, arguments))
    finally:
        if made:
            path = subprocess.run(["losetup", "-n", "-O", "BACK-FILE", made], capture_output=True, text=True, check=True).stdout.strip()
            subprocess.run(["losetup", "-d", made], check=True)
            shutil.rmtree(os.path.dirname(path))
    print(f"{device}, 4 KiB reads, one at a time, {arguments.rounds} rounds of {arguments.seconds} s")
    print("recording    requests a second  costs (median of rounds)  least  most")
    for way in ways:
        costs = [100 * (1 - with_it / without) for with_it, without in zip(figures[way], figures["nothing"])]
        print(f"{way:<12} {statistics.median(figures[way]):>17.0f}  {statistics.median(costs):>22.1f} %  {min(costs):>4.1f}  {max(costs):>4.1f}")


def virtual(folder, arguments):
    print(f"null_blk in a virtual machine with {arguments.kernel}, 4 KiB reads, one at a time: ns of virtual time, which are instructions")
    print("completion    nothing  snapshots    costs  phases     more  tracer blk    costs")
    for title, parameters in COMPLETIONS:
        subprocess.run([os.path.abspath(TARDY), "target", "remove", "bench"], capture_output=True, check=False, cwd=folder)
        words = ["target", "add", "bench", "--here", "--kernel", arguments.kernel, "--accel", "tcg-single", "--cpus", "1", "--load-module", "null_blk",
                 "--append", f"null_blk.gb=1 null_blk.nr_devices=1 null_blk.{parameters}"]
        words += [f"--qemu-arg={word}" for word in ["-icount", "shift=0,align=off,sleep=off", "-rtc", "clock=vm"]]
        subprocess.run([os.path.abspath(TARDY), *words], capture_output=True, check=True, cwd=folder)
        more = ["--target", "bench", "-D", "300ms", "--settle", "100ms"]
        blk = ["--set", "/sys/kernel/tracing/current_tracer=blk", "--set", "/sys/block/nullb0/trace/enable=1"]

        def median(phases, trace, more):
            return measured(folder, "/dev/nullb0", phases, trace, more)["all_cpus"]["p50"]

        plain, snapshots = median(False, "off", more), median(False, "auto", more)
        phases, traced = median(True, "auto", more), median(False, "off", more + blk)
        cost = lambda without, with_it: f"{100 * (1 - without / with_it):>6.1f} %"
        print(f"{title:<13} {plain:>7}  {snapshots:>9} {cost(plain, snapshots)}  {phases:>6} {cost(snapshots, phases)}"
              f"  {traced:>10} {cost(plain, traced)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--device", help="is only read")
    parser.add_argument("--virtual", action="store_true")
    parser.add_argument("--kernel", default="debian:6.1")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (virtual if arguments.virtual else here)(folder, arguments)


if __name__ == "__main__":
    main()
