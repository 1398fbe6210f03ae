#!/usr/bin/env python3
"""Runs each method of `tardy run --method` beside the program of rt-tests that it is named after, in turn on one CPU.

The order alternates from round to round. The originals report whole microseconds, rounded down, of which their mean is the only
figure beside minimum and maximum; so the figures here are means, and each line shows the median of the rounds and the ratio of
the two medians. Asserts nothing. `rounds=requested` and `wake=call` measure the interval of the originals
(docs/reference/methods.md). What the originals measure otherwise:

  ptsematest   unlocks the mutex in another thread than the one that locked it
  signaltest   a ring of two threads: two hops; halved here. Its first thread sleeps once in 16 rounds, and the round that follows
               takes several times as long, which is a part of its mean. In a line of its own it sleeps once in 800
               (bench/seldom_usleep.c), so nearly all rounds find their path in the caches, as ours with caches=warm
  sigwaittest, signaltest
               each hop has the system calls of the C library's pthread_kill, as ours with call=pthread_kill
  oslat        its mean is that of the numbers of buckets of 1 us, so at least 1 us, although a loop takes some 30 ns. The mean of
               either program is the cost of its own loop; what both measure is compared: how many gaps of 10 us and more come a second
  migrate      rt-migrate-test's second most urgent and most urgent of three threads beside the mean of our two most urgent. It
               formats and writes a mark into the trace between reading its clock and waking the threads, which is part of each
               figure; without access to the trace it does not
  deadline     against the first start of a period, not the most punctual one; 2.4 refuses runtimes below 2 ms without debugfs
  sigwaittest, ptsematest, svsematest, pmqtest
               take the wall-clock time in whole microseconds at both ends, so their mean is right to a part of one
  inversion    pi_stress reports a number of inversions and no latency, so it has no line
"""

import argparse
import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

TARDY = os.environ.get("TARDY", "dist/bin/tardy")
PRIORITY = 80
# That of rt-tests.
INTERVAL_US = 1000


def own(method, cpu, seconds, interval_us, folder):
    words = [TARDY, "run", "--method", method, "--cpus", str(cpu), "-D", f"{seconds}s", "-i", f"{interval_us}us", "-p", str(PRIORITY),
             "--trace", "off", "--no-counters", "--settle", "100ms", "--json", "--out", os.path.join(folder, f"run-{own.number}")]
    own.number += 1
    document = json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    if method == "noise":
        return gaps_a_second(document)
    # The originals cut every latency down to whole microseconds before they take the mean.
    return document["all_cpus"][own.figure] / 1000


def gaps_a_second(document):
    words = [TARDY, "export", document["archive"], "--format", "histogram-csv", "-o", "-"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    buckets = [[int(cell) for cell in line.split(",")] for line in lines]
    return sum(count for _, _, low_ns, _, count in buckets if low_ns >= GAP_US * 1000) / (document["measured_ns"] / 1e9)


# Shorter ones are at the edge of its buckets and of what a loop takes.
GAP_US = 10
own.number = 0
own.figure = "mean"


def original(words, seconds, figure, folder):
    path = os.path.join(folder, "original.json")
    if os.path.exists(path):
        os.remove(path)
    name, *rest = words(seconds)
    # svsematest makes its key from the file it was started as.
    ended = subprocess.run([shutil.which(name) or name, *rest, "-q", f"--json={path}"], capture_output=True, text=True, check=False)
    if not os.path.exists(path):
        raise ValueError(" ".join((ended.stderr + ended.stdout).split())[:80])
    with open(path) as file:
        return figure(json.load(file))


def pair(name):
    return lambda cpu, seconds: [name, "-t1", f"-a{cpu}", f"-p{PRIORITY}", f"-i{pair.interval_us}", "-l", str(seconds * 1_000_000 // pair.interval_us)]


pair.interval_us = INTERVAL_US


def receiver(document):
    return document["thread"]["0"]["receiver"]["avg"]


def migration(*before):
    return lambda cpu, seconds: [*before, "rt-migrate-test", f"-p{PRIORITY}", "-D", str(seconds)]


def ring(*before):
    return lambda cpu, seconds: [*before, "signaltest", "-t2", f"-a{cpu}", f"-p{PRIORITY}", "-D", str(seconds)]


def one_hop(document):
    return document["thread"]["0"]["avg"] / 2


def most_urgent(document):
    return sum(document["thread"][str(at)]["avg"] for at in (1, 2)) / 2


def gaps_of_oslat(document):
    thread = document["thread"]["0"]
    return sum(count for bucket, count in thread["histogram"].items() if int(bucket) >= GAP_US) / thread["duration"]


# In a mount namespace of its own, where the trace cannot be opened.
WITHOUT_TRACE = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/kernel/debug && exec "$@"', "sh"]
# It sleeps 100 ms before and after each round.
MIGRATION_US = 200_000

# Method, program, its words on a CPU, its figure, the interval.
CASES = [
    ("semaphore:kind=sysv,rounds=requested", "svsematest", pair("svsematest"), receiver, None),
    ("mutex:protocol=none,rounds=requested", "ptsematest", pair("ptsematest"), receiver, None),
    ("signal:rounds=requested,call=pthread_kill", "sigwaittest", pair("sigwaittest"), receiver, None),
    ("message-queue:rounds=requested", "pmqtest", pair("pmqtest"), receiver, None),
    ("deadline", "cyclicdeadline", lambda cpu, seconds: ["cyclicdeadline", "-t1", "-i10000", "-D", str(seconds)], lambda document: document["thread"]["0"]["avg"], 10_000),
    ("migrate:work=20000,wake=call", "rt-migrate-test, no trace", migration(*WITHOUT_TRACE), most_urgent, MIGRATION_US),
    ("migrate:work=20000,wake=call", "rt-migrate-test", migration(), most_urgent, MIGRATION_US),
    ("signal:rounds=requested,caches=warm,call=pthread_kill", "signaltest, seldom asleep",
     lambda cpu, seconds: ring("env", f"LD_PRELOAD={ring.seldom_asleep}")(cpu, seconds), one_hop, None),
    ("signal:rounds=requested,caches=warm,call=pthread_kill", "signaltest", lambda cpu, seconds: ring()(cpu, seconds), one_hop, None),
    ("noise", "oslat", lambda cpu, seconds: ["oslat", f"-c{cpu}", "-C0", "-D", str(seconds)], gaps_of_oslat, 1000),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--cpu", type=int, default=os.cpu_count() - 1)
    parser.add_argument("--interval", type=int, default=INTERVAL_US, help="of the hand-overs, in us")
    parser.add_argument("--only")
    parser.add_argument("--figure", choices=["mean", "p50", "min"], default="mean", help="ours; the originals have means alone")
    arguments = parser.parse_args()
    own.figure, pair.interval_us = arguments.figure, arguments.interval
    print(f"{'method':<56} {'tardy us':>9} {'original us':>12} {'ratio':>6}  original")
    with tempfile.TemporaryDirectory() as folder:
        ring.seldom_asleep = os.path.join(folder, "seldom_usleep.so")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seldom_usleep.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", ring.seldom_asleep, source], check=True)
        for method, program, words, figure, interval_us in CASES:
            if arguments.only and arguments.only not in (method.split(":")[0], program):
                continue
            ours, theirs = [], []
            try:
                for number in range(arguments.rounds):
                    steps = [
                        lambda: ours.append(own(method, arguments.cpu, arguments.seconds, interval_us or arguments.interval, folder)),
                        lambda: theirs.append(original(functools.partial(words, arguments.cpu), arguments.seconds, figure, folder)),
                    ]
                    for step in steps if number % 2 == 0 else reversed(steps):
                        step()
            except (OSError, KeyError, TypeError, ValueError) as error:
                print(f"{method:<56} not compared with {program}: {type(error).__name__} {error}")
                continue
            one, other = statistics.median(ours), statistics.median(theirs)
            program += f" (gaps of {GAP_US} us and more a second)" if method == "noise" else ""
            print(f"{method:<56} {one:>9.2f} {other:>12.2f} {one / other if other else float('nan'):>6.2f}  {program}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
