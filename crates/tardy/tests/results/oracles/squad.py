"""SQUAD, by a server of its own on loopback: what was submitted is read back over its API."""

import json
import os
import subprocess

from exported import Skipped

WORDS = {"pass": "pass", "fail": "fail", "undecided": "skip", "error": "skip"}


def check(case, tools):
    python = tools / "squad/bin/python"
    if not python.exists():
        raise Skipped("SQUAD is not to be had; see above")
    files = [case.file(form) for form in ("squad-tests", "squad-metrics", "squad-metadata")]
    tests, metrics, metadata = (json.loads(path.read_text()) for path in files)
    server = [python, os.path.join(os.path.dirname(__file__), "../squad_server.py"), case.directory, *files]
    # It keeps what it is sent below the current directory.
    ended = subprocess.run(server, capture_output=True, text=True, cwd=case.directory)
    assert ended.returncode == 0, ended.stderr[-2000:]
    stored = json.loads((case.directory / "squad.json").read_text())
    wanted = [WORDS[outcome] for run in case.outcomes for outcome in run if outcome != "measured"]
    assert list(tests.values()).count("fail") == wanted.count("fail") and len(tests) == len(wanted), (tests, wanted)
    assert stored["tests"] == tests, stored["tests"]
    assert stored["metrics"] == {name: [it["value"], it["unit"]] for name, it in metrics.items()}
    assert stored["job_id"] == metadata["job_id"]
    return f"HTTP {stored['code']}; {len(tests)} tests and {len(metrics)} metrics stored as they were sent"
