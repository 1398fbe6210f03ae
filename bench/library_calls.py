#!/usr/bin/env python3
"""Prints what a call of the C library costs while `tardy audit --by preload` records it, and while it does not."""

import argparse
import os
import statistics
import subprocess
import tempfile

from system_calls import ROOT, cost


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--tardy", default=f"{ROOT}/dist/bin/tardy")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        loop = f"{folder}/functions_loop"
        subprocess.run(["cc", "-O2", "-pthread", "-o", loop, f"{ROOT}/bench/functions_loop.c"], check=True)
        environment = dict(os.environ, TARDY_STATE_DIR=f"{folder}/state")

        def audit(by, *words):
            out = tempfile.mkdtemp(dir=folder) + "/run"
            return [arguments.tardy, "audit", "--settle", "0", "--out", out, "--quiet", "--by", by, "--", loop, *words]

        ways = {
            "bare": lambda kind: [loop, kind, "fifo"],
            "--by interception": lambda kind: audit("interception", kind, "fifo"),
            "--by preload, ordinary thread": lambda kind: audit("preload", kind),
            "--by preload, real-time thread": lambda kind: audit("preload", kind, "fifo"),
        }
        print(f"{'ns per call':52} {'median':>9} {'smallest':>9} {'over bare':>10}")
        for kind, name in {"heap": "malloc, free", "mutex": "mutex lock, unlock"}.items():
            found = {way: [] for way in ways}
            for _ in range(arguments.rounds):
                for way, words in ways.items():
                    found[way].append(cost(words(kind), environment))
            bare = None
            for way, figures in found.items():
                figures = [figure for figure in figures if figure]
                if not figures:
                    print(f"{name + ', ' + way:52} {'-':>9}")
                    continue
                median = statistics.median(figure[0] for figure in figures)
                bare = median if bare is None else bare
                smallest = min(figure[1] for figure in figures)
                print(f"{name + ', ' + way:52} {median:9.1f} {smallest:9.1f} {median - bare:10.1f}")


main()
