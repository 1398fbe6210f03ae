"""The runs that are exported: those named, or some that are made for it."""

import pathlib
import shlex
import subprocess

from exported import Exported

# Lenient enough that eight seconds on any machine suffice for a pass.
LIMITS = [
    "--limit", "latency < 1us", "--limit", "latency < 10s", "--limit", "p99 < 5s", "--allow", "350/h",
    "--confidence", "51", "--accept", "emulated,virtual,container,non-rt,unknown",
]
HOSTILE = "<o>&\"st]]>|%_*`#@\u2028\x1b[31m${jndi}"
PLAN = """
loads = ["none", "messaging", { name = "two <&> three", command = "sleep 60" }]
[measurement]
duration = "2s"
degrade = true
[[limits]]
limit = "latency < 1us"
[[limits]]
limit = "latency < 10s"
loads = ["messaging"]
"""


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


def _run(tardy, out, code, *words, before=()):
    ended = subprocess.run([*before, tardy, "run", *words, "--degrade", "--out", out], capture_output=True, text=True)
    assert ended.returncode in (0, code), ended.stderr
    return out


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
