"""Runs, what `tardy judge` says of them, and the files that `tardy export` makes of them."""

import json
import pathlib
import subprocess

# A verdict of `tardy judge`, as an outcome that every format has a word for.
OUTCOMES = {"pass": "pass", "fail": "fail", "not_enough_data": "undecided", "no_verdict": "undecided"}


class Exported:
    """One case: `runs` exported together by `tardy` with the options `limits`."""

    def __init__(self, tardy, name, directory, runs, limits):
        self.tardy, self.name, self.directory, self.limits = tardy, name, pathlib.Path(directory), limits
        self.directory.mkdir(parents=True)
        self.runs = [pathlib.Path(run) for run in runs]
        self.summaries = [json.loads(self.bytes("json", [run], limited=False))["summary"] for run in self.runs]
        self.judged = [self._judged(run) for run in self.runs]
        # For each run the outcomes of its cases: the measurement itself, then one for each limit.
        self.outcomes = [
            ["measured", *(OUTCOMES[it["verdict"]] for it in judged["judgements"])]
            if summary["valid"] else ["error"] * (1 + len(judged["judgements"]))
            for summary, judged in zip(self.summaries, self.judged)
        ]

    def _judged(self, run):
        printed = subprocess.run([self.tardy, "judge", run, "--json", *self.limits], capture_output=True, text=True)
        if printed.returncode == 2:
            raise RuntimeError(printed.stderr)
        return json.loads(printed.stdout)

    def bytes(self, form, runs=None, limited=True, options=()):
        """What `tardy export` writes."""
        limits = self.limits if limited else []
        words = [self.tardy, "export", *(runs or self.runs), "--format", form, *limits, *options, "--output", "-"]
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
