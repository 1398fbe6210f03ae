"""Fuego's run.json. Its reader cannot be had apart from Fuego, so this compares with what its criteria must make of it."""

import json

from exported import Skipped


def check(case, tools):
    seen = []
    for run, summary in zip(case.runs, case.summaries):
        if not run.exists():
            continue
        latest = summary["all_cpus"]["max"]
        plain = document(case, run)
        assert plain["status"] == ("SKIP" if summary["valid"] else "ERROR"), "passed without criteria"
        if latest is None:
            continue
        for value, wanted in ((latest / 1000, "PASS"), (latest / 1000 - 0.001, "FAIL")):
            criteria = case.directory / "criteria.json"
            criteria.write_text(json.dumps({"schema_version": "1.0", "criteria": [
                {"tguid": "default.latencies.max_latency", "reference": {"value": value, "operator": "le"}}]}))
            judged = document(case, run, "--criteria", criteria)
            cases = {it["name"]: it["status"] for it in judged["test_sets"][0]["test_cases"]}
            assert cases["latencies"] == wanted, cases
            seen.append(judged["status"])
    if not seen:
        raise Skipped("no run has a latency")
    return f"by its criteria: {', '.join(seen)}"


def document(case, run, *options):
    document = json.loads(case.text("fuego", runs=[run], limited=False, options=options))
    assert document["schema_version"] == "1.0" and document["metadata"]["start_time"].isdigit()
    return document
