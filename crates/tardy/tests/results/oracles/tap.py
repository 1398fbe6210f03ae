"""TAP 13, by `prove` and by tap.py, which reads the YAML as well; KTAP by `prove`, which knows no difference here."""

import re
import shutil
import subprocess

import tap.parser

from exported import Skipped


def check(case, tools):
    path = case.file("tap")
    lines = [line for line in tap.parser.Parser().parse_file(str(path)) if line.category == "test"]
    outcomes = [outcome for run in case.outcomes for outcome in run]
    assert [line.ok for line in lines] == [outcome not in ("fail", "error") for outcome in outcomes]
    assert [bool(line.skip) for line in lines] == [outcome in ("measured", "undecided") for outcome in outcomes]
    assert not any(line.todo for line in lines)
    assert all(line.yaml_block["message"] for line in lines), "a message is lost"
    if not shutil.which("prove"):
        raise Skipped("there is no prove; it comes with Perl (tap.py accepts it)")
    proved = {form: prove(case.file(form), outcomes) for form in ("tap", "ktap")}
    assert proved["tap"] == proved["ktap"], proved
    return f"{len(lines)} cases in tap.py and in prove: {proved['tap']}"


def prove(path, outcomes):
    """What prove says of a file; it must count what failed, and nothing else."""
    ended = subprocess.run(["prove", "-v", "-e", "cat", path], capture_output=True, encoding="utf-8", errors="replace")
    broken = sum(outcome in ("fail", "error") for outcome in outcomes)
    said = ended.stdout + ended.stderr
    assert (ended.returncode == 0) == (broken == 0), said
    if broken:
        assert f"Failed {broken}/{len(outcomes)} subtests" in said, said
    assert "Parse errors" not in said, said
    return re.search(r"Result: (.*)", said)[1]
