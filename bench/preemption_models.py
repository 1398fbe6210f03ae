#!/usr/bin/env python3
"""Measures four preemption models of two kernels in virtual time, and writes docs/explanation/preemption-models.md with its pictures.

Every run is an archive below --work. Runs that exist are kept, so an interrupted series resumes where it stopped. Each
kernel's first seed is measured twice, and the two runs must be the same to the nanosecond.
"""

import argparse
import hashlib
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(REPOSITORY, "docs", "explanation", "preemption-models.md")
PICTURES = os.path.join(REPOSITORY, "docs", "images")
VERSIONS = ["6.1", "6.12"]
# Name, what is behind debian:VERSION, what is added to the kernel's command line.
MODELS = [
    ("none", "", "preempt=none"),
    ("voluntary", "", "preempt=voluntary"),
    ("full", "", "preempt=full"),
    ("PREEMPT_RT", "-rt", ""),
]
LOAD = "churn"
TEXT = """\
# Four preemption models

The effect of the kernel's four preemption models on a real-time thread: the same plan, the same load, one kernel version,
[virtual time](virtual-time.md). Each figure counts executed instructions, one nanosecond each. The figures compare the models
exactly and prove no deadline of any hardware.

`make docs-virtual` (`bench/preemption_models.py`) writes this page and its pictures. A different build of the meter is
a different trajectory, so the figures move a little from one edition to the next; the conclusions do not.

The thread has SCHED_FIFO priority 80 and wakes up at random intervals from 0.5 to 1.5 ms. Beside it runs the
load `churn`: one process each that copies files, creates and deletes directory entries, unmaps memory, forks, touches huge
pages, and executes programs. A seed is one trajectory. The first columns pool all seeds; the last two give the smallest
and the largest value of a single seed.

* **none**: a system call runs to its end. The thread waits for the longest one.
* **voluntary**: the kernel checks at chosen points whether a task waits. The result is close to `none`, because the longest
  sections have no such point.
* **full**: the thread waits only where preemption or interrupts are off, mostly with a spinlock held. That is rare, but freeing
  thousands of pages under one lock takes as long as ever, so the maximum stays near the maximum of the first two while
  nearly all wake-ups come earlier.
* **PREEMPT_RT**: spinlocks sleep, and interrupts run in threads. There remain the path from the timer to the thread, and
  the tick for the few wake-ups that are due within about 10 µs of it.

The p99 differs less between seeds than between models, except that it does not distinguish *none* from *voluntary*. A
handful of wake-ups decides the p99.9 and the maximum: whether one in a thousand meets a section of milliseconds. These figures
put *none*, *voluntary* and *full* in any order, and PREEMPT_RT last.

{tables}
## Repeated

The first seed of every kernel ran twice while the host did other work. All samples are the same, to the
nanosecond of virtual time:

{repeated}

## Beside an earlier series

A predecessor of `tardy` measured kernels of the same two series in virtual time: 10 000 wake-ups
of one trajectory at a fixed interval of 1 ms, under a mix of the same six kinds of work in other sizes. µs of virtual time:

| kernel | p99 | p99.9 | max |
| --- | ---: | ---: | ---: |
| 6.1 none | 313 | 3365 | 3822 |
| 6.1 voluntary | 449 | 3123 | 4020 |
| 6.1 full | 14.1 | 2996 | 3653 |
| 6.1 PREEMPT_RT | 4.9 | 5.0 | 5.8 |
| 6.12 none | 381 | 833 | 1913 |
| 6.12 voluntary | 381 | 1275 | 2631 |
| 6.12 full | 48.5 | 1531 | 3280 |
| 6.12 PREEMPT_RT | 5.8 | 6.3 | 7.5 |

The order and the magnitudes are the same. Differences beyond the spread of the seeds have these causes:

* The p99 of *none* and *voluntary* is the length of a common system call or fault of the load, above all `munmap` of a region and
  the clearing of a huge page: each alone has a p99 of this size. The regions had another size.
* The p99.9, and those maxima of 6.1 that exceed all seeds here, depend on how often wake-ups meet the sections of milliseconds.
  Such sections occur when the kernel frees thousands of pages at once, which depends on how many the load had taken, and ten times
  as many wake-ups as in a seed here meet the longest of them more often.
* The maximum of PREEMPT_RT is larger here because a fixed interval of 1 ms keeps a constant distance from a tick of 4 ms,
  while random intervals meet it: in nine of the ten seeds of the two kernels the worst wake-up was due within 11 µs of a tick.
"""
QUANTILES = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)]


class Samples:
    """The latencies of one archive in ns, and what identifies them."""

    def __init__(self, archive):
        with open(os.path.join(archive, "samples", "0.bin"), "rb") as file:
            data = file.read()
        self.sha256 = hashlib.sha256(data).hexdigest()
        self.latencies = [latency for _, latency in struct.iter_unpack("<qq", data)]


def quantile(ordered, share):
    """The smallest value that at least this share of all does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def complete(archive):
    try:
        with open(os.path.join(archive, "manifest.json")) as file:
            return json.load(file)["state"] == "complete"
    except FileNotFoundError:
        return False


def measure(options, target, seed, archive):
    """Leaves a complete archive, if there is none yet."""
    if complete(archive):
        return
    shutil.rmtree(archive, ignore_errors=True)
    command = [*options.tardy, "run", "--target", target, "--duration", options.duration, "--load", LOAD, "--seed",
               str(seed), "--out", archive, "--quiet"]
    ended = subprocess.run(command, cwd=options.work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not complete(archive):
        sys.exit(f"{' '.join(command)} ended with code {ended.returncode}:\n{ended.stderr}")


def target_name(version, model):
    """As `tardy target add` allows it: without a dot."""
    return f"linux-{version}-{model[0]}".lower().replace(".", "-")


def measure_model(options, version, model):
    """Returns the samples of every seed; exits if a kernel does not repeat."""
    _, suffix, append = model
    target = target_name(version, model)
    if not os.path.exists(os.path.join(options.work, "targets", f"{target}.toml")):
        command = [*options.tardy, "target", "add", target, "--kernel", f"debian:{version}{suffix}", "--virtual-time",
                   "--here", "--append", append]
        subprocess.run(command, cwd=options.work, check=True, stdout=subprocess.DEVNULL)
    places = [(seed, os.path.join(options.work, target, f"seed-{seed}")) for seed in range(1, options.seeds + 1)]
    again = os.path.join(options.work, target, "seed-1-again")
    for seed, archive in [*places, (1, again)]:
        measure(options, target, seed, archive)
        samples = Samples(archive)
        print(f"{target} seed {seed}: {len(samples.latencies)} samples, max {max(samples.latencies)} ns of virtual time, "
              f"sha256 {samples.sha256[:16]}", flush=True)
    runs = [Samples(archive) for _, archive in places]
    if Samples(again).sha256 != runs[0].sha256:
        sys.exit(f"{target} does not repeat: compare {again} with {places[0][1]}")
    return runs


def micros(ns):
    return f"{ns / 1000:.1f}" if ns < 100_000 else f"{ns / 1000:.0f}"


def rows(measured):
    """One row for each model: pooled figures, and how far the maxima and p99 of the seeds lie apart."""
    for (name, _, _), runs in measured:
        pooled = sorted(latency for run in runs for latency in run.latencies)
        maxima = [max(run.latencies) for run in runs]
        p99s = [quantile(sorted(run.latencies), 0.99) for run in runs]
        figures = [micros(quantile(pooled, share)) for _, share in QUANTILES]
        spread = lambda values: f"{micros(min(values))} - {micros(max(values))}"
        yield [name, str(len(pooled)), *figures, micros(pooled[-1]), spread(p99s), spread(maxima)]


def table(measured):
    head = ["preemption", "samples", *(name for name, _ in QUANTILES), "max", "p99 of the seeds", "max of the seeds"]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows(measured)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


WIDTH, PANEL, LEFT, RIGHT, TOP, BOTTOM = 960, 150, 40, 924, 24, 118
DECADE_BARS = 24


def picture(version, measured):
    """The histograms of one kernel version, one above the other, with one axis: counts and latency both logarithmic."""
    every = [latency for _, runs in measured for run in runs for latency in run.latencies]
    low, high = math.floor(math.log10(min(every))), math.ceil(math.log10(max(every)))
    x = lambda ns: LEFT + (math.log10(ns) - low) / (high - low) * (RIGHT - LEFT)
    height = PANEL * len(measured) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
           f'font-size="13" fill="#222"><title>Wake-up latency of Linux {version} in virtual time</title>',
           f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>']
    for number, ((name, _, _), runs) in enumerate(measured):
        counts = {}
        for run in runs:
            for latency in run.latencies:
                bar = math.floor((math.log10(latency) - low) * DECADE_BARS)
                counts[bar] = counts.get(bar, 0) + 1
        top, bottom = PANEL * number + TOP, PANEL * number + BOTTOM
        most = math.log10(max(counts.values())) + 0.5
        worst = max(latency for run in runs for latency in run.latencies)
        out.append(f'<text x="{LEFT}" y="{top - 6}">{name}: the worst wake-up of {len(runs)} seeds is {micros(worst)} µs '
                   'late in virtual time</text>')
        for exponent in range(low, high + 1):
            at = x(10 ** exponent)
            out.append(f'<path d="M{at:.1f} {top}V{bottom}" stroke="#ddd"/>')
            out.append(f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{axis_word(exponent)}</text>')
        for bar, count in sorted(counts.items()):
            begin, end = (x(10 ** (low + step / DECADE_BARS)) for step in (bar, bar + 1))
            rise = (math.log10(count) + 0.3) / (most + 0.3) * (bottom - top)
            out.append(f'<rect x="{begin:.1f}" y="{bottom - rise:.1f}" width="{end - begin - 0.5:.1f}" '
                       f'height="{rise:.1f}" fill="#2f6db5"/>')
        out.append(f'<path d="M{LEFT} {bottom}H{RIGHT}" stroke="#666"/>')
    out.append(f'<text x="{RIGHT}" y="{height - 6}" text-anchor="end">latency in virtual time; the height of a bar is the '
               'logarithm of its wake-ups</text></svg>')
    return "\n".join(out) + "\n"


def axis_word(exponent):
    return f"{10 ** (exponent - 3)} µs" if exponent < 6 else f"{10 ** (exponent - 6)} ms"


def page(options, all_measured):
    tables = []
    for version, measured in all_measured:
        tables.append(f"## Linux {version}\n\n{packages(options, version)}; {options.seeds} seeds of {spaced(options.duration)} each; µs of "
                      f"virtual time:\n\n{table(measured)}\n\n![Histograms of the four models in virtual "
                      f"time](../images/preemption-models-{version}.svg)\n")
    # A kernel that did not repeat has ended the program.
    sums = [["kernel", "SHA-256 of the samples, both times"], ["---"] * 2]
    for version, measured in all_measured:
        sums += [[f"{version} {name}", f"`{runs[0].sha256[:32]}`"] for (name, _, _), runs in measured]
    repeated = "\n".join(f"| {' | '.join(line)} |" for line in sums)
    return TEXT.replace("{tables}", "\n".join(tables)).replace("{repeated}", repeated)


def packages(options, version):
    """The Debian packages that were booted, as the targets name them."""
    found = []
    for model in MODELS:
        with open(os.path.join(options.work, "targets", f"{target_name(version, model)}.toml")) as file:
            found += [line.split('"')[1].replace("=", " ") for line in file if line.startswith("package")]
    return "Debian's " + " and ".join(dict.fromkeys(found))


def spaced(duration):
    """A duration as it is given to tardy, with a blank before its unit."""
    return re.sub(r"(?<=\d)(?=[a-z])", " ", duration)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", default=os.path.join(REPOSITORY, "runs", "preemption-models"))
    parser.add_argument("--tardy", default=os.path.join(REPOSITORY, "dist", "bin", "tardy"), type=str.split)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--duration", default="1s")
    parser.add_argument("--only", help="measure this kernel, like linux-6-1-full, and write nothing")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    if options.only:
        for version in VERSIONS:
            for model in MODELS:
                if target_name(version, model) == options.only:
                    measure_model(options, version, model)
        return
    all_measured = [(version, [(model, measure_model(options, version, model)) for model in MODELS])
                    for version in VERSIONS]
    os.makedirs(PICTURES, exist_ok=True)
    for version, measured in all_measured:
        with open(os.path.join(PICTURES, f"preemption-models-{version}.svg"), "w") as file:
            file.write(picture(version, measured))
    with open(PAGE, "w") as file:
        file.write(page(options, all_measured))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
