"""Makes runs unless some are named, and asks every reader in `oracles` what it makes of their exports."""

import os
import pathlib
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


def main():
    tools, *runs = sys.argv[1:]
    tools, left_out = pathlib.Path(tools), os.environ.get("SKIP", "").lower().split()
    refused = 0
    with tempfile.TemporaryDirectory() as work:
        for case in cases.of(os.environ["TARDY"], pathlib.Path(work), runs):
            print(f"{case.name}: {len(case.runs)} run(s), {case.count('fail')} failed, {case.count('pass')} passed, "
                  f"{case.count('undecided', 'measured')} undecided or without a limit, {case.count('error')} unusable")
            for name, oracle in ORACLES.items():
                if name.lower() not in left_out:
                    refused += ask(name, lambda: oracle.check(case, tools))
    print("docs/test-systems.md:")
    for name, check in recipes.CHECKS.items():
        refused += ask(name, lambda: check(tools))
    if refused:
        sys.exit(f"{refused} refused (VERBOSE=1 shows where)")


main()
