"""Prometheus' text format, by its Python client and, where it is installed, by promtool."""

import math
import shutil
import subprocess

from prometheus_client.parser import text_string_to_metric_families

VALUES = {"pass": 1, "fail": 0, "undecided": -1, "error": -1}


def check(case, tools):
    text = case.text("prometheus")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    histogram = families["tardy_wakeup_latency_seconds"].samples
    counts = [it.value for it in histogram if it.name.endswith("_count")]
    assert sum(counts) == sum(cpu["cycles"] for summary in case.summaries for cpu in summary["cpus"]), counts
    whole = [it.value for it in histogram if it.labels.get("le") == "+Inf"]
    assert whole == counts, "the last bucket is not all"
    limits = [it.value for it in families["tardy_limit"].samples]
    assert limits == [VALUES[it] for run in case.outcomes for it in run[1:]], limits
    latest = [it.value for it in families["tardy_wakeup_latency_max_seconds"].samples]
    wanted = [cpu["latency_ns"]["max"] for summary in case.summaries for cpu in summary["cpus"]]
    assert all(math.isclose(a * 1e9, b) for a, b in zip(latest, (ns for ns in wanted if ns is not None), strict=True))
    labels = [(it.name, *sorted(it.labels.items())) for family in families.values() for it in family.samples]
    assert len(set(labels)) == len(labels), "two samples have the same labels"
    if not shutil.which("promtool"):
        return f"{len(families)} families, {len(labels)} samples; no promtool here to ask"
    tool = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert tool.returncode == 0, tool.stderr
    return f"{len(families)} families, {len(labels)} samples, by promtool as well"
