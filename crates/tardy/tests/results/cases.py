"""The runs that are exported: those named, or some that are made for it."""

import json
import pathlib
import shlex
import shutil
import subprocess

from exported import Exported

# Lenient enough that eight seconds on any machine suffice for a pass.
LIMITS = [
    "--limit", "latency < 1us", "--limit", "latency < 10s", "--limit", "p99 < 5s", "--allow", "350/h",
    "--confidence", "51", "--accept", "emulated,virtual,container,non-rt,unknown",
]
HOSTILE = "<o>&\"st]]>|%_*`#@\u2028\x1b[31m${jndi}"
PLAN = """
loads = ["none", "messaging", { name = "two <&> three", command = "sleep 60" }, "cpu"]
[measurement]
duration = "2s"
degrade = true
[[limits]]
limit = "latency < 1us"
[[limits]]
limit = "latency < 10s"
allow = "350/h"
load = "messaging"
[verdict]
confidence = 51
accept = ["emulated", "virtual", "container", "non-rt", "unknown"]
"""
FOUNDING_TALK = pathlib.Path(__file__).parents[4] / "plans/founding-talk.toml"


def of(tardy, work, named):
    """Yields the cases one by one."""
    if named:
        yield Exported(tardy, "with the limits of the run", work / "own", named, [])
        yield Exported(tardy, "with other limits", work / "other", named, LIMITS)
        return
    run = _run(tardy, work / "run", 0, "--duration", "8s", "--every-sample", "--load", "messaging")
    yield Exported(tardy, "one run with limits", work / "limits", [run], LIMITS)
    yield Exported(tardy, "one run without a limit", work / "plain", [run], [])
    hostile = _hostile(tardy, work)
    broken = _run(tardy, work / "broken", 3, "--duration", "1s", "--load-cmd", "false", "--trace", "off")
    yield Exported(tardy, "three runs, one with odd names, one of no use", work / "odd", [run, hostile, broken], LIMITS)
    round = _round(tardy, work)
    yield Exported(tardy, "a plan, one step of no use, one never run", work / "plan", [round], [])
    yield Exported(tardy, "the same plan and a run beside it", work / "beside", [round, run], LIMITS)


def of_founding_talk(tardy, work, named):
    """The same of the plan that tardy was made for."""
    if named:
        return
    if not shutil.which("qemu-system-x86_64"):
        print("plans/founding-talk.toml on a virtual machine: SKIPPED, there is no QEMU (packaging/install-dependencies --e2e)")
        return
    founding = _founding_talk(tardy, work)
    yield Exported(tardy, "plans/founding-talk.toml on a virtual machine", work / "founding", [founding], [])
    yield Exported(tardy, "the same with other limits", work / "founding-limits", [founding], LIMITS)


def _run(tardy, out, code, *words, before=()):
    ended = subprocess.run([*before, tardy, "run", *words, "--degrade", "--out", out], capture_output=True, text=True)
    assert ended.returncode in (0, code), ended.stderr
    return out


def _round(tardy, work):
    """The directory of a plan. One of its steps has a load that does nothing, and another has no archive."""
    (work / "night.toml").write_text(PLAN)
    round = work / "night"
    ended = subprocess.run([tardy, "run", work / "night.toml", "--out", round], capture_output=True, text=True)
    assert ended.returncode in (1, 3), ended.stderr
    (gone,) = round.glob("04-*")
    shutil.rmtree(gone)
    return round


def _founding_talk(tardy, work):
    """The directory of the case that tardy was made for: eight seconds instead of an hour."""
    kernel = ["--kernel", "debian:6.1-rt", "--accel", "tcg"]
    subprocess.run([tardy, "target", "add", "vm", *kernel, "--here"], cwd=work, check=True, capture_output=True)
    words = [FOUNDING_TALK.resolve(), "--duration", "8s", "--out", work / "talk"]
    ended = subprocess.run([tardy, "run", *words], cwd=work, capture_output=True, text=True)
    # On an emulated machine its limit is not judged.
    assert ended.returncode == 3 and "NO VERDICT: the machine was emulated" in ended.stdout, ended.stdout + ended.stderr
    (archive,) = (work / "talk").glob("01-*")
    explained = subprocess.run([tardy, "explain", archive, "--json"], capture_output=True, check=True)
    spikes = json.loads(explained.stdout)["spikes"]
    # A host that is busy with other things lets the guest copy its snapshots too late for some of the spikes.
    accounted = [spike for spike in spikes if spike["phases"]]
    explained = sum(spike["status"] == "explained" for spike in accounted)
    print(f"plans/founding-talk.toml, for 8 s: {len(spikes)} spikes, {len(accounted)} with an account to the nanosecond, "
          f"{explained} explained")
    assert all(sum(owner["ns"] for phase in spike["phases"] for owner in phase["owners"]) == spike["latency_ns"]
               for spike in accounted), "an account does not add up"
    assert accounted, "no spike has a snapshot of its time: is the host too busy?"
    return work / "talk"


def _hostile(tardy, work):
    """A run on a host and beside programs whose names are made of what formats use for themselves."""
    program = work / HOSTILE.replace("/", "")
    program.write_text("#!/bin/sh\nwhile :; do sleep 0.01; done\n")
    program.chmod(0o755)
    named = 'printf %s "$0" > /proc/sys/kernel/hostname && exec "$@"'
    host = ["unshare", "--uts", "sh", "-c", named, HOSTILE[:50]]
    may = subprocess.run([*host, "true"], capture_output=True).returncode == 0
    words = ["--duration", "2s", "--limit", "100ms", "--load-cmd", shlex.quote(str(program))]
    return _run(tardy, pathlib.Path(work) / "hostile", 1, *words, before=host if may else ())
