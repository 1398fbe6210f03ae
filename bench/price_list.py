#!/usr/bin/env python3
"""Measures in virtual time how options of the command line and a sysctl change the wake-up path of four kernels, and writes
docs/explanation/price-list.md.

Every run is an archive below --work. Runs that exist are kept, so an interrupted series resumes where it stopped. Each
kernel's first seed is measured twice, and the two runs must be the same to the nanosecond.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import queue
import re
import shutil
import statistics
import subprocess
import sys
import textwrap
import threading

from preemption_models import complete

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(REPOSITORY, "docs", "explanation", "price-list.md")
# Name, series behind debian:, whether the preemption model can be chosen at boot.
KERNELS = [
    ("6.1", "6.1", True),
    ("6.1 RT", "6.1-rt", False),
    ("6.12", "6.12", True),
    ("6.12 RT", "6.12-rt", False),
]
CONTROL = "tardy_unused=1"
PAIR = ["clocksource=hpet", "tsc=unstable"]
BOTH = " ".join(PAIR)
# This machine has CPU 0 alone.
WITHOUT_CPU = "nohz_full=1"
SYSCTL = "kernel.sched_schedstats=1"
# An option, whether only kernels with a choice of the preemption model have it, and its effect on the path.
OPTIONS = [
    (CONTROL, False, "the control: the kernel does not know this word and passes it to the first process."),
    ("psi=0", False, "the kernel counts no stall times when a task sleeps, wakes or runs."),
    ("mitigations=off", False, "indirect calls do without retpolines. The emulated processor needs few other mitigations; one "
     "that needs more may pay more."),
    (WITHOUT_CPU, False, "the machine lacks CPU 1, so the kernel's list of CPUs without a tick stays empty. The row does not show "
     "the price on a machine that has the CPU."),
    ("rcu_nocbs=0", False, "threads run the RCU callbacks of CPU 0, and an idle machine has few."),
    ("nohz=off", False, "the tick continues while the CPU idles."),
    ("highres=off", False, "timers expire in a tick, every 4 ms. The price is the wait for it, not the length of a path."),
    ("audit=1", False, "each system call of each task enters and leaves through the slow path."),
    ("trace_event=sched:sched_switch", False, "one event of the kernel's trace is on from boot. The path contains one switch, to the "
     "measuring thread."),
    (SYSCTL, False, "the scheduler keeps statistics of each task; set with `tardy run --set`."),
    ("threadirqs", True, "interrupt handlers run in threads; the timer's does not. PREEMPT_RT kernels always do this."),
    ("preempt=none", True, "the default of both kernels is `voluntary`."),
    ("preempt=full", True, "the default of both kernels is `voluntary`."),
    (PAIR[0], False, "the kernel and the thread read the HPET instead of the TSC, the thread by a system call."),
    (PAIR[1], False, "the kernel does not trust the TSC and chooses the HPET as well; the scheduler's clock corrects each reading."),
    (BOTH, False, "see [a pair](#a-pair)."),
]
# Names of the candidates of `tardy tune`, and the changes to the command line of a kernel with both words of the pair.
CANDIDATES = [
    ("trusted-tsc", f"boot-without {PAIR[1]}"),
    ("chosen-clock", f"boot-without {PAIR[0]}"),
    ("skewed-tick", "boot skew_tick=1"),
]
TUNED = "6.12"
LEAST_PERCENT = 5
TEXT = """\
# Price list

The cost of an option of the kernel on the wake-up path of an idle machine, in [virtual time](virtual-time.md): each executed
instruction is one nanosecond, so a price is a number of instructions. A price says how much code an option adds to the path. It
proves no deadline of any hardware, and it leaves out caches, memory and other CPUs.

`make docs-prices` (`bench/price_list.py`) writes this page. A different build of the meter moves the figures by a few nanoseconds.

Each cell compares Debian's kernel as it is with the same kernel and one option more: {seeds} seeds of {duration} on either side,
the same seeds, no load. The machine has one CPU. `tardy compare` takes the median of all wake-ups of a seed (p50), and
the difference of the two medians is the price of that seed. The cell has the middle seed; an interval follows if the seeds differ.
The last column counts the seeds whose price has the sign of the cell, over all kernels. A minus makes the wake-up earlier. The rows
are sorted by the largest price.

{packages}

{prices}

{resolution}

{notes}

{notable}

## Another kernel

The same comparison between two kernels, each with its defaults. It covers every difference of the two, of which CONFIG_PREEMPT_RT is
one.

{kernels}

## A pair

Both words of this pair keep the kernel from using the TSC as its clock, so each hides the other:

{pair}

{pair_text}

{tuned}

## Repeated

The first seed of every kernel without an option ran twice while the host did other work. All samples are the same, to the
nanosecond of virtual time:

{repeated}

## Not in the list

* `idle=poll`: the emulator skips the time in which a guest is idle, and a polling guest is never idle. It executes each
  nanosecond of polling; a run did not end in three minutes.
* `isolcpus=`, `kernel.timer_migration`: these distribute work over CPUs, and the machine has one.
* `transparent_hugepage=`, `init_on_alloc=`: these act where memory is allocated. The path allocates nothing; the prices of a load are in
  [four preemption models](preemption-models.md).
"""


class Samples:
    """The samples of one archive."""

    def __init__(self, archive):
        with open(os.path.join(archive, "samples", "0.bin"), "rb") as file:
            self.sha256 = hashlib.sha256(file.read()).hexdigest()


def target_name(series, option):
    """As `tardy target add` allows it: letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", f"linux-{series}-{option or 'default'}".lower()).strip("-")


def configurations(options):
    """Every kernel without an option and with each of its options, as (series, option)."""
    kernels = [kernel for kernel in KERNELS if not options.only or kernel[1] == options.only]
    for _, series, has_choice in kernels:
        yield series, ""
        for option, needs_choice, _ in OPTIONS:
            if has_choice or not needs_choice:
                yield series, option


def add_target(options, series, option, lock):
    """Returns the name of the target, which is made if there is none yet. A sysctl is set by the run, not by the boot."""
    word = "" if option == SYSCTL else option
    target = target_name(series, word)
    with lock:
        if not os.path.exists(os.path.join(options.work, "targets", f"{target}.toml")):
            command = [*options.tardy, "target", "add", target, "--kernel", f"debian:{series}", "--virtual-time", "--here",
                       "--append", word]
            subprocess.run(command, cwd=options.work, check=True, stdout=subprocess.DEVNULL)
    return target


def seed_archive(options, series, option, seed):
    return os.path.join(options.work, target_name(series, option), f"seed-{seed:04}")


def again_archive(options, series):
    return os.path.join(options.work, "again", target_name(series, ""))


def measure(options, series, option, seed, archive, lock):
    """Leaves a complete archive, if there is none yet."""
    if complete(archive):
        return
    target = add_target(options, series, option, lock)
    shutil.rmtree(archive, ignore_errors=True)
    os.makedirs(os.path.dirname(archive), exist_ok=True)
    command = [*options.tardy, "run", "--target", target, "--duration", options.duration, "--seed", str(seed), "--out",
               archive, "--quiet"]
    command += ["--set", option] if option == SYSCTL else []
    ended = subprocess.run(command, cwd=options.work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not complete(archive):
        raise RuntimeError(f"{' '.join(command)} ended with code {ended.returncode}:\n{ended.stderr}")
    print(f"{target} {option if option == SYSCTL else ''} seed {seed}: sha256 {Samples(archive).sha256[:16]}", flush=True)


def measure_all(options):
    """Measures seed after seed, so that an interrupted series has the same seeds of every option."""
    lock = threading.Lock()
    runs = [(series, option, seed, seed_archive(options, series, option, seed))
            for seed in range(1, options.seeds + 1) for series, option in configurations(options)]
    runs += [(series, "", 1, again_archive(options, series)) for series, option in configurations(options) if not option]
    # Each worker and its emulators stay on one CPU.
    cpus = queue.Queue()
    allowed = sorted(os.sched_getaffinity(0))
    for worker in range(options.jobs):
        cpus.put(allowed[worker % len(allowed)])
    bind = lambda: os.sched_setaffinity(0, {cpus.get()})
    with concurrent.futures.ThreadPoolExecutor(options.jobs, initializer=bind) as pool:
        waiting = [pool.submit(measure, options, *run, lock) for run in runs]
        try:
            for one in concurrent.futures.as_completed(waiting):
                one.result()
        except RuntimeError as error:
            pool.shutdown(cancel_futures=True)
            sys.exit(str(error))
    for series, option in configurations(options):
        first, again = seed_archive(options, series, "", 1), again_archive(options, series)
        if not option and Samples(first).sha256 != Samples(again).sha256:
            sys.exit(f"Linux {series} does not repeat: compare {first} with {again}")


def tune(options):
    """The page that `tardy tune` prints about the pair; a complete series is shown again, not repeated."""
    directory = os.path.join(options.work, "tune")
    command = [*options.tardy, "tune", "--resume", directory]
    if not os.path.exists(os.path.join(directory, "tune.json")):
        shutil.rmtree(directory, ignore_errors=True)
        target = add_target(options, TUNED, BOTH, threading.Lock())
        command = [*options.tardy, "tune", "--target", target, "--goal", "p50", "--least", str(LEAST_PERCENT), "--duration",
                   options.duration, "--only-candidates", "--coin-seed", "1", "--out", directory]
        for name, change in CANDIDATES:
            command += ["--candidate", f"{name}: {change}"]
    ended = subprocess.run(command, cwd=options.work, stdout=subprocess.PIPE, text=True)
    if ended.returncode:
        sys.exit(f"{' '.join(command)} ended with code {ended.returncode}")
    # Behind the answer stand the commands that apply it and the directory.
    lines = ended.stdout.rstrip().split("\n")
    ends = [number for number, line in enumerate(lines) if line.startswith(("  tardy tune", "Archives"))]
    return "\n".join(lines[:ends[0]])


def compared(options, a, b):
    """By how much the median of B's wake-ups is later than A's, as `tardy compare` reports it."""
    sides = [os.path.join(options.work, target_name(*side)) for side in (a, b)]
    command = [*options.tardy, "compare", *sides, "--json"]
    document = json.loads(subprocess.run(command, cwd=options.work, check=True, stdout=subprocess.PIPE, text=True).stdout)
    idle = document["idle"]
    if len(idle["seeds"]) != options.seeds:
        sys.exit(f"{sides[0]} and {sides[1]} share {len(idle['seeds'])} seeds, not {options.seeds}")
    return next(figure for figure in idle["figures"] if figure["name"] == "p50")


def signed(ns):
    return f"{ns:+,}".replace(",", " ") if ns else "0"


def spaced(duration):
    """A duration as it is given to tardy, with a blank before its unit."""
    return re.sub(r"(?<=\d)(?=[a-z])", " ", duration)


def cell(price):
    shift = price["shift"]
    interval = "" if shift["least_ns"] == shift["most_ns"] else f" ({signed(shift['least_ns'])} to {signed(shift['most_ns'])})"
    return signed(shift["median_ns"]) + interval


def agreeing(price, seeds):
    """Seeds whose shift has the sign of the middle one."""
    middle = price["shift"]["median_ns"]
    if middle == 0:
        return seeds - price["longer_in"] - price["shorter_in"]
    return price["longer_in"] if middle > 0 else price["shorter_in"]


def table(head, rows, right=()):
    marks = ["---:" if number in right else "---" for number in range(len(head))]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, marks, *rows])


def middle(price):
    return price["shift"]["median_ns"]


def wrapped(text, first=""):
    """A paragraph, or an entry of a list, in lines as long as those of the other documents."""
    return textwrap.fill(text, 130, initial_indent=first, subsequent_indent=" " * len(first), break_long_words=False,
                         break_on_hyphens=False)


class PriceList:
    def __init__(self, options):
        self.options = options
        self.of = {(series, option): compared(options, (series, ""), (series, option))
                   for series, option in configurations(options) if option}

    def of_option(self, option):
        """Its prices by the names of the kernels."""
        return {name: self.of[series, option] for name, series, _ in KERNELS if (series, option) in self.of}

    def default(self, series):
        """Median of the wake-ups without an option: middle seed, least and most."""
        return self.of[series, CONTROL]["a"]

    def table(self):
        rows = []
        for option, _, _ in OPTIONS:
            prices = self.of_option(option)
            agree = sum(agreeing(price, self.options.seeds) for price in prices.values())
            cells = [cell(prices[name]) if name in prices else "" for name, _, _ in KERNELS]
            size = max(abs(middle(price)) for price in prices.values())
            rows.append((size, [f"`{option}`", *cells, f"{agree} of {len(prices) * self.options.seeds}"]))
        rows.sort(key=lambda row: -row[0])
        head = ["p50, ns of virtual time", *(name for name, _, _ in KERNELS), "seeds that agree"]
        first = ["no option", *(f"{self.default(series)['median_ns']:,}".replace(",", " ") for _, series, _ in KERNELS), ""]
        return table(head, [first, *(row for _, row in rows)], range(1, len(head)))

    def resolution(self):
        control = self.of_option(CONTROL).values()
        widest = max(max(abs(price["shift"]["least_ns"]), abs(price["shift"]["most_ns"])) for price in control)
        small = [f"`{option}`" for option, _, _ in OPTIONS if option not in (CONTROL, WITHOUT_CPU) and
                 all(abs(middle(price)) <= widest for price in self.of_option(option).values())]
        text = (f"The control `{CONTROL}` moves the median by up to {widest} ns: a longer command line is a different trajectory. A "
                "price that small does not come from the option.")
        return wrapped(text + (f" So {listed(small)} cost{'s' if len(small) == 1 else ''} nothing on this path." if small else ""))

    def notable(self):
        """Sentences with the figures of this series."""
        prices = lambda option: [middle(price) for price in self.of_option(option).values()]
        span = lambda values: f"{abs(min(values, key=abs))} to {abs(max(values, key=abs))} ns"
        psi, defaults = prices("psi=0"), [self.default(series)["median_ns"] for _, series, _ in KERNELS]
        share = [100 * -price / default for price, default in zip(psi, defaults)]
        late = statistics.median(prices("highres=off")) / 1e6
        lines = []
        if max(psi) < 0:
            lines.append(f"`psi=0` saves {span(psi)}, {min(share):.0f} to {max(share):.0f} % of the path.")
        switch = prices("trace_event=sched:sched_switch")
        if min(switch) > 0:
            lines.append(f"One event of the trace, `sched_switch`, costs {span(switch)} a wake-up.")
        if min(prices("audit=1")) > 0:
            lines.append(f"`audit=1` costs {span(prices('audit=1'))}, although no audit rule exists: the thread sleeps by a system call.")
        if late > 0.1:
            lines.append(f"`highres=off` costs {late:.1f} ms, a thousand times the path.")
        models = [*prices("preempt=none"), *prices("preempt=full")]
        if max(map(abs, models)) < 10:
            lines.append("The preemption model does not change the path of an idle machine. Under load it decides: see "
                         "[four preemption models](preemption-models.md).")
        return "\n".join(wrapped(line, "* ") for line in lines)

    def kernels(self):
        head = ["from", "to", "p50, ns of virtual time", "seeds that agree"]
        rows = []
        for one, other in [(0, 1), (2, 3), (0, 2), (1, 3)]:
            (name_a, a, _), (name_b, b, _) = KERNELS[one], KERNELS[other]
            price = compared(self.options, (a, ""), (b, ""))
            rows.append([name_a, name_b, cell(price), f"{agreeing(price, self.options.seeds)} of {self.options.seeds}"])
        return table(head, rows, [2, 3])

    def pair(self):
        head = ["kernel", *(f"`{word}` alone" for word in PAIR), "both", "sum of both alone"]
        rows = []
        for name, series, _ in KERNELS:
            one, other = (middle(self.of[series, word]) for word in PAIR)
            rows.append([name, signed(one), signed(other), signed(middle(self.of[series, BOTH])), signed(one + other)])
        return table(head, rows, range(1, 5))

    def pair_text(self):
        both, alone = ([middle(self.of[series, option]) for _, series, _ in KERNELS] for option in (BOTH, PAIR[1]))
        gains = [pair - one for pair, one in zip(both, alone)]
        if max(abs(gain) for gain in gains) > 5:
            return "Without the other word, each helps; see the columns."
        return wrapped(f"On a kernel with both words, removing `{PAIR[0]}` alone gains nothing: `{PAIR[1]}` still keeps the TSC away. Beside "
                f"the removal of `{PAIR[1]}` it gains {min(map(abs, self.first_alone()))} ns or more. A test of one option at a time "
                "never finds it.")

    def first_alone(self):
        return [middle(self.of[series, PAIR[0]]) for _, series, _ in KERNELS]


def listed(words):
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def tuned_text(options, answer):
    candidates = [f"`{name}: {change}`" for name, change in CANDIDATES]
    return wrapped(f"`tardy tune` searches for such pairs. On Linux {TUNED} with both words, with `--goal p50 --least {LEAST_PERCENT}`, "
            f"`--duration {options.duration}` and the candidates {listed(candidates)}, it printed:") + f"\n\n```\n{answer}\n```"


def packages(options):
    found = []
    for _, series, _ in KERNELS:
        with open(os.path.join(options.work, "targets", f"{target_name(series, '')}.toml")) as file:
            found += [line.split('"')[1].replace("=", " ") for line in file if line.startswith("package")]
    return wrapped(f"Debian's {listed(list(dict.fromkeys(found)))}.")


def repeated(options):
    rows = [[name, f"`{Samples(again_archive(options, series)).sha256[:32]}`"] for name, series, _ in KERNELS]
    return table(["kernel", "SHA-256 of the samples, both times"], rows)


def page(options, answer):
    prices = PriceList(options)
    parts = {
        "seeds": str(options.seeds),
        "duration": spaced(options.duration),
        "packages": packages(options),
        "prices": prices.table(),
        "resolution": prices.resolution(),
        "notes": "\n".join(wrapped(f"`{option}`: {note}", "* ") for option, _, note in OPTIONS),
        "notable": prices.notable(),
        "kernels": prices.kernels(),
        "pair": prices.pair(),
        "pair_text": prices.pair_text(),
        "tuned": tuned_text(options, answer),
        "repeated": repeated(options),
    }
    return re.sub(r"\{([a-z_]+)\}", lambda found: parts[found.group(1)], TEXT)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", default=os.path.join(REPOSITORY, "runs", "price-list"))
    parser.add_argument("--tardy", default=os.path.join(REPOSITORY, "dist", "bin", "tardy"), type=str.split)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--duration", default="300ms")
    parser.add_argument("--jobs", type=int, default=1, help="machines at a time, each on its own CPU")
    parser.add_argument("--only", help="measure this kernel, like 6.1-rt, and write nothing")
    options = parser.parse_args()
    options.work = os.path.abspath(options.work)
    os.makedirs(options.work, exist_ok=True)
    measure_all(options)
    if options.only:
        return
    answer = tune(options)
    text = page(options, answer)
    with open(PAGE, "w") as file:
        file.write(text)
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
