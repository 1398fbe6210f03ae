#!/usr/bin/env python3
"""Checks the promises of `tardy guard` with a periodic program whose misses are planted. Needs root; prints figures, asserts nothing.

misses  plants misses at random times while the machine works, and looks for the account of each
kills   kills the guard repeatedly, and looks for the account of each miss
cost    runs the program with and without a guard in turns: the CPU time that others lose, the program's own lateness
"""
import argparse, atexit, json, os, pathlib, random, re, signal, statistics, subprocess, sys, tempfile, threading, time

HERE = pathlib.Path(__file__).resolve().parent
KINDS = {"hog": "other-rt-task", "work": "own-work", "lock": "waiting", "fault": "page-fault", "stop": "thread-stopped"}
LIMITS = ["--limit", "2ms", "--cycle-limit", "4ms"]
MATCHED_S = 0.25
SETTLES_S = 4

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("what", choices=["misses", "kills", "cost"])
options.add_argument("--tardy", default=str(HERE.parent / "dist/bin/tardy"))
options.add_argument("--count", type=int, help="misses (10), kills (200) or rounds (30)")
options.add_argument("--minutes", type=float, default=120, help="for misses")
options.add_argument("--seconds", type=float, default=10, help="of each half of a round, for cost")
options.add_argument("--budget", type=float, help="percent of a CPU")
options.add_argument("--busy", type=int, default=0, help="loops that keep the machine busy")
chosen = options.parse_args()
folder = tempfile.TemporaryDirectory()
place = pathlib.Path(folder.name)
program = place / "planted"
source = HERE.parent / "crates/tardy/tests/programs/planted.c"
subprocess.run(["cc", "-O1", "-pthread", "-static", "-o", program, source], check=True)
config = place / "guard.toml"
budget = f"[cost]\nbudget_percent = {chosen.budget}\n" if chosen.budget else ""
config.write_text(budget + "[accounts]\nper_minute = 600\nburst = 600\nrest = \"100ms\"\n" if chosen.what == "kills" else budget)


started = []
# Only an exit by Python ends the programs that it started.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


@atexit.register
def end_all():
    for process in started:
        if process.poll() is None:
            process.terminate()
    for process in started:
        process.wait()


def start(*words, **options):
    started.append(subprocess.Popen(*words, **options))
    return started[-1]


def planted(pause, kinds):
    return start([program, "0", pause, *kinds], stdout=subprocess.PIPE, text=True)


def guard():
    log = open(place / "lines", "a")
    words = [chosen.tardy, "guard", "--config", config, "--comm", "planted", *LIMITS, "--directory", place / "ring"]
    return start(words, stderr=log)


def is_watching(process):
    meters = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    return any(pathlib.Path(f"/sys/kernel/tracing/instances/tardy-{pid}-follow/tracing_on").exists() for pid in meters)


def await_watch(process):
    while process.poll() is None and not is_watching(process):
        time.sleep(0.01)


def entries():
    texts = [place / "ring" / name for name in ("accounts.old.jsonl", "accounts.jsonl")]
    return [json.loads(line) for text in texts if text.exists() for line in text.read_text().splitlines()]


def account_of(planted_ns, accounts):
    late = lambda entry: 0 <= (entry.get("ran_unix_ns", 0) - planted_ns) / 1e9 < MATCHED_S
    return [entry for entry in accounts if entry["kind"] == "miss" and late(entry)]


def busy():
    return [start(["sh", "-c", "while :; do :; done"]) for _ in range(chosen.busy)]


def figures(process):
    lines = process.stdout.read().splitlines()
    return [line.split() for line in lines if not line.startswith("wakeups")], [line for line in lines if line.startswith("wakeups")]


def end(process):
    process.send_signal(signal.SIGTERM)
    process.wait()


def misses():
    count = chosen.count or 10
    kinds = [kind for _ in range(-(-count // len(KINDS))) for kind in random.sample(list(KINDS), len(KINDS))][:count]
    mean_ms = chosen.minutes * 60_000 / (count + 1)
    others, guarding = busy(), guard()
    await_watch(guarding)
    loop = planted(f"{int(mean_ms * 0.2)}-{int(mean_ms * 1.8)}", kinds)
    found = 0
    begun = time.time()
    for line in loop.stdout:
        if line.startswith("wakeups"):
            print(line.strip())
            break
        at_ns, kind = line.split()
        time.sleep(3)
        accounts = account_of(int(at_ns), entries())
        named = [entry for entry in accounts if any(finding["culprit"] == KINDS[kind] for finding in entry["account"]["findings"])]
        first = [finding["culprit"] for entry in accounts for finding in entry["account"]["findings"][:1]]
        after = min((entry["after_ms"] for entry in named), default=None)
        found += after is not None and after <= 1000
        print(f"{(time.time() - begun) / 60:7.1f} min  {kind:5}  accounts {len(accounts)}  first {','.join(first):30}  named after {after} ms", flush=True)
    end(guarding)
    for other in others:
        other.kill()
    longest = max((len(json.dumps(entry, separators=(",", ":"))) for entry in entries()), default=0)
    print(f"named within a second: {found} of {len(kinds)}; longest account about {longest} bytes")
    print((place / "lines").read_text().splitlines()[-1])


def kills():
    count = chosen.count or 200
    loop = planted("400-900", (list(KINDS) * (count * 2))[: count * 8])
    said = []
    threading.Thread(target=lambda: said.extend(line.split() for line in loop.stdout), daemon=True).start()
    others, watched = busy(), []
    for number in range(count):
        guarding = guard()
        await_watch(guarding)
        begun = time.time_ns()
        time.sleep(random.uniform(2, 5))
        watched.append((begun, time.time_ns()))
        guarding.kill()
        guarding.wait()
        if (number + 1) % 20 == 0:
            print(f"{number + 1} kills", flush=True)
    guarding = guard()
    time.sleep(15)
    end(guarding)
    loop.kill()
    for other in others:
        other.kill()
    accounts = entries()
    total, without = 0, []
    for at_ns, kind in said:
        for begun, ended in watched:
            # Beside the guard's start and its end nobody knows on which side of it the miss itself was.
            if begun + 50_000_000 < int(at_ns) < ended - 50_000_000:
                total += 1
                if not account_of(int(at_ns), accounts):
                    without.append((ended - int(at_ns)) / 1e9)
    numbers = [entry["number"] for entry in accounts]
    print(f"{total} misses in {count} guards that were killed: {len(without)} without an account, "
          f"{sum(before > 1 for before in without)} of them more than a second before the kill, the earliest {max(without, default=0):.2f} s before")
    print(f"accounts are numbered without a gap: {numbers == list(range(numbers[0], numbers[0] + len(numbers)))}")


COUNTER = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
end = time.monotonic() + float(sys.argv[2])
count = 0
while time.monotonic() < end:
    for _ in range(1000): pass
    count += 1
print(count)
"""


def half(guarded):
    guarding = guard() if guarded else None
    if guarding:
        await_watch(guarding)
        time.sleep(3)
    cpus = sorted(os.sched_getaffinity(0))
    loop = planted(str(int((chosen.seconds + SETTLES_S) * 1000)), [])
    # Within this time the guard finds the threads and leaves their CPU; it stands for months.
    time.sleep(SETTLES_S)
    loop.send_signal(signal.SIGUSR1)
    counters = [start([sys.executable, "-c", COUNTER, str(cpu), str(chosen.seconds - 1)], stdout=subprocess.PIPE, text=True) for cpu in cpus]
    counts = [int(counter.communicate()[0]) for counter in counters]
    wakeups = re.findall(r"\d+", figures(loop)[1][0])
    if guarding:
        end(guarding)
    # In µs, the resolution of the program.
    return counts, int(wakeups[2]) / 1000, int(wakeups[4]) / 1000


def interval(values):
    """Median, and the 95 % interval that order statistics give it."""
    ordered = sorted(values)
    apart = int(0.98 * len(ordered) ** 0.5)
    low, high = max(len(ordered) // 2 - apart, 0), min((len(ordered) - 1) // 2 + apart, len(ordered) - 1)
    return f"{statistics.median(ordered):+.2f} ({ordered[low]:+.2f} to {ordered[high]:+.2f})"


def cost():
    added, median, p99 = [], [], []
    for number in range(chosen.count or 30):
        order = [False, True]
        random.shuffle(order)
        halves = {guarded: half(guarded) for guarded in order}
        (plain, plain_p50, plain_p99), (traced, traced_p50, traced_p99) = halves[False], halves[True]
        added.append(sum((before - after) / before * 100 for before, after in zip(plain, traced)))
        median.append(traced_p50 - plain_p50)
        p99.append(traced_p99 - plain_p99)
        print(f"round {number + 1}: added {added[-1]:+.2f} % of a CPU, p50 {median[-1]:+.0f} µs, p99 {p99[-1]:+.0f} µs", flush=True)
    print(f"added CPU time, % of one CPU: {interval(added)}\nadded p50, µs: {interval(median)}\nadded p99, µs: {interval(p99)}")
    print("\n".join(sorted({line for line in (place / 'lines').read_text().splitlines() if "not recorded" in line})[-3:]))


{"misses": misses, "kills": kills, "cost": cost}[chosen.what]()
