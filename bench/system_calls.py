#!/usr/bin/env python3
"""Prints what recording a system call costs: interception and trace events of `tardy audit`, strace and perf trace."""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def cost(words, environment):
    """Median and smallest ns per call that the loop printed, the last line of two figures."""
    result = subprocess.run(words, capture_output=True, text=True, env=environment)
    lines = [line.split() for line in (result.stdout + result.stderr).splitlines()]
    figures = [line for line in lines if len(line) == 2 and all(word.replace(".", "").isdigit() for word in line)]
    return [float(word) for word in figures[-1]] if figures else None


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--tardy", default=f"{ROOT}/dist/bin/tardy")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        loop = f"{folder}/getppid_loop"
        subprocess.run(["cc", "-O2", "-o", loop, f"{ROOT}/bench/getppid_loop.c"], check=True)
        environment = dict(os.environ, TARDY_STATE_DIR=f"{folder}/state")

        def audit(*words):
            out = tempfile.mkdtemp(dir=folder) + "/run"
            return [arguments.tardy, "audit", "--settle", "0", "--out", out, "--quiet", *words, "--", loop]

        ways = {
            "bare": lambda: [loop],
            "tardy audit --by interception": lambda: audit("--by", "interception"),
            "tardy audit --no-stacks": lambda: audit("--no-stacks"),
            "tardy audit": lambda: audit(),
            "strace": lambda: ["strace", "-o", "/dev/null", loop],
            "perf trace": lambda: ["perf", "trace", "-o", "/dev/null", loop],
        }
        found = {way: [] for way in ways}
        for _ in range(arguments.rounds):
            for way, words in ways.items():
                if shutil.which(words()[0]):
                    found[way].append(cost(words(), environment))
        bare = None
        print(f"{'ns per call':32} {'median':>9} {'smallest':>9} {'over bare':>10}")
        for way, figures in found.items():
            figures = [figure for figure in figures if figure]
            if not figures:
                print(f"{way:32} {'-':>9}")
                continue
            median = statistics.median(figure[0] for figure in figures)
            bare = median if bare is None else bare
            print(f"{way:32} {median:9.1f} {min(figure[1] for figure in figures):9.1f} {median - bare:10.1f}")


if __name__ == "__main__":
    main()
