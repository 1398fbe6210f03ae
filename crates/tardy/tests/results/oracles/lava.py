"""LAVA's signals, by the code that reads a job's console in lava-dispatcher; result.txt by the words it may hold."""

import re
import sys

import pexpect

from exported import Skipped

WORDS = {"pass": "pass", "fail": "fail", "undecided": "skip", "measured": "unknown", "error": "unknown"}


def packages(tools):
    """Makes LAVA's modules ones that can be imported."""
    directory = tools / "lava/usr/lib/python3/dist-packages"
    if not directory.is_dir():
        raise Skipped("lava-common and lava-dispatcher are not to be had: they are packages of Debian")
    if str(directory) not in sys.path:
        sys.path.append(str(directory))


class Log:
    """The dispatcher's log: what it would send to the server."""

    def __init__(self):
        self.sent, self.errors = [], []

    def results(self, result):
        self.sent.append(result)

    def error(self, text, *values):
        self.errors.append(text % values if values else text)

    exception = warning = error

    def __getattr__(self, name):
        return lambda *values: None


def sent(path):
    """What the dispatcher makes of a console that prints this file in a test."""
    from lava_common.exceptions import ConnectionClosedError
    from lava_dispatcher.actions.test.shell import TestShellAction

    action = TestShellAction()
    action.logger = Log()
    action._reset_patterns()
    # What <LAVA_SIGNAL_STARTRUN> does, which needs a job around it.
    action.signal_director.test_uuid, action.definition = "1", "0_latency"
    console = pexpect.spawn("cat", [str(path)], encoding="utf-8", echo=False, timeout=20)
    try:
        while action._keep_running(console, 20, "#"):
            pass
    except ConnectionClosedError:
        pass
    assert not action.logger.errors, action.logger.errors
    return action.logger.sent


def check(case, tools):
    lines = case.text("lava-result").splitlines()
    line = re.compile(r"[\w.-]+ (pass|fail|skip|unknown)( \S+ \w+)?|lava-test-set (start|stop) [\w.-]+")
    assert all(line.fullmatch(it) for it in lines), lines
    packages(tools)
    found = sent(case.file("lava"))
    outcomes = [WORDS[outcome] for run in case.outcomes for outcome in run]
    assert [it["result"] for it in found if "measurement" not in it] == outcomes, found
    figures = [it for it in found if "measurement" in it]
    assert all(it["result"] == "unknown" and it["units"] in ("us", "count") for it in figures)
    latest = [summary["all_cpus"]["max"] for summary in case.summaries]
    assert [it["measurement"] * 1000 for it in figures if it["case"] == "latency_max"] == [
        ns for ns in latest if ns is not None]
    sets = list(dict.fromkeys(it["set"] for it in found))
    assert len(sets) == len(case.runs), sets
    return f"{len(found)} results in {len(sets)} set(s), {len(figures)} of them with a measurement"
