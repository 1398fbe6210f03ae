"""Makes runs unless some are named, and asks every reader in `oracles` what it makes of their exports."""

import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

import cases
from exported import Skipped
from oracles import fuego, junit, kcidb, lava, markdown, parquet, prometheus, recipes, squad, tap

ORACLES = {
    "JUnit": junit, "TAP": tap, "LAVA": lava, "KCIDB": kcidb, "SQUAD": squad, "Fuego": fuego, "Prometheus": prometheus,
    "Markdown": markdown, "Parquet": parquet,
}


def ask(name, question):
    """Prints the answer; says whether it is a refusal."""
    try:
        print(f"  {name}: {question()}", flush=True)
    except Skipped as reason:
        print(f"  {name}: SKIPPED, {reason}", flush=True)
    except Exception as refusal:
        print(f"  {name}: REFUSED, {type(refusal).__name__}: {refusal}", flush=True)
        if os.environ.get("VERBOSE"):
            traceback.print_exc()
        return True
    return False


def ask_about(made, left_out, tools):
    """Asks about each case as it is made; says how many were refused. One that cannot be made is, too."""
    refused = 0
    try:
        for case in made:
            print(f"{case.name}: {len(case.runs)} run(s), {case.count('fail')} failed, {case.count('pass')} passed, "
                  f"{case.count('undecided', 'measured')} undecided or without a limit, {case.count('error')} unusable")
            for name, oracle in ORACLES.items():
                if name.lower() not in left_out:
                    refused += ask(name, lambda: oracle.check(case, tools))
    except (AssertionError, OSError, subprocess.CalledProcessError) as failure:
        print(f"there are no more runs to ask about: {failure}", flush=True)
        refused += 1
    return refused


def main():
    tools, *runs = sys.argv[1:]
    tools, left_out = pathlib.Path(tools), os.environ.get("SKIP", "").lower().split()
    refused = 0
    with tempfile.TemporaryDirectory() as work:
        for made in (cases.of, cases.of_founding_talk):
            refused += ask_about(made(os.environ["TARDY"], pathlib.Path(work), runs), left_out, tools)
    print("docs/how-to/test-systems.md:")
    for name, check in recipes.CHECKS.items():
        refused += ask(name, lambda: check(tools))
    if refused:
        sys.exit(f"{refused} refused (VERBOSE=1 shows where)")


main()
