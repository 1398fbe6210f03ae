"""Runs, what `tardy judge` says of them, and the files that `tardy export` makes of them."""

import json
import pathlib
import re
import subprocess

# A verdict of `tardy judge`, as an outcome that every format has a word for.
OUTCOMES = {"pass": "pass", "fail": "fail", "not_enough_data": "undecided", "no_verdict": "undecided"}


# Of a step of a plan that has no archive.
NOT_RUN = {"valid": False, "id": "", "cpus": [], "all_cpus": {"max": None}, "environment": None}


class Exported:
    """One case: `named`, archives and directories of plans, exported together by `tardy` with the options `limits`."""

    def __init__(self, tardy, name, directory, named, limits):
        self.tardy, self.name, self.directory, self.limits = tardy, name, pathlib.Path(directory), limits
        self.directory.mkdir(parents=True)
        self.named = [pathlib.Path(it) for it in named]
        # For each that is named its archives, and all of them together; of a plan one for each step, also where none is.
        parts = [self._steps(it) if self._is_round(it) else [(it, None)] for it in self.named]
        self.suites = [(self._is_round(it), len(part)) for it, part in zip(self.named, parts)]
        runs = [run for part in parts for run in part]
        self.runs = [run for run, _ in runs]
        self.summaries = [self._summary(run) for run in self.runs]
        self.judged = [
            self._judged(run) if run.exists() else {"judgements": [{"verdict": "no_verdict"}] * len(limits)}
            for run, limits in runs
        ]
        # For each run the outcomes of its cases: the measurement itself, then one for each limit.
        self.outcomes = [
            ["measured", *(OUTCOMES[it["verdict"]] for it in judged["judgements"])]
            if summary["valid"] else ["error"] * (1 + len(judged["judgements"]))
            for summary, judged in zip(self.summaries, self.judged)
        ]

    @staticmethod
    def _is_round(directory):
        return (directory / "round.json").exists()

    def _steps(self, directory):
        """The newest archive of each step of a plan, with the step's limits."""
        shown = subprocess.run(
            [self.tardy, "plan", "show", "--json", directory / "plan.toml"], capture_output=True, check=True)
        steps = []
        for step in json.loads(shown.stdout)["steps"]:
            tries = [it for it in directory.iterdir() if re.match(rf"0*{step['step']}-", it.name)]
            tries.sort(key=lambda it: int(it.suffix[1:] or 1))
            typed = [word for word in self.limits if word == "--limit"]
            steps.append((tries[-1] if tries else directory / f"no archive of step {step['step']}",
                          typed or step["limits"]))
        return steps

    def _summary(self, run):
        if not run.exists():
            return NOT_RUN
        return json.loads(self.bytes("json", [run], limited=False))["summary"]

    def _judged(self, run):
        printed = subprocess.run([self.tardy, "judge", run, "--json", *self.limits], capture_output=True, text=True)
        if printed.returncode == 2:
            raise RuntimeError(printed.stderr)
        return json.loads(printed.stdout)

    def bytes(self, form, runs=None, limited=True, options=()):
        """What `tardy export` writes."""
        limits = self.limits if limited else []
        words = [self.tardy, "export", *(runs or self.named), "--format", form, *limits, *options, "--output", "-"]
        printed = subprocess.run(words, capture_output=True)
        if printed.returncode != 0:
            raise RuntimeError(printed.stderr.decode())
        return printed.stdout

    def text(self, form, **how):
        return self.bytes(form, **how).decode()

    def file(self, form, **how):
        """The same as a file."""
        path = self.directory / form
        path.write_bytes(self.bytes(form, **how))
        return path

    def count(self, *outcomes):
        """How many cases of all runs ended so."""
        return sum(outcome in outcomes for run in self.outcomes for outcome in run)


class Skipped(Exception):
    """A reader that is not there, with the reason."""
