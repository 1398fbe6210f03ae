"""Reads what `tardy export` wrote with the readers that the formats' own projects publish."""

import json
import pathlib
import re
import sys

import duckdb
import junitparser
import kcidb_io
from prometheus_client.parser import text_string_to_metric_families

work = pathlib.Path(sys.argv[1])
text = {path.name: path.read_text() for path in work.iterdir() if path.is_file() and path.suffix != ".parquet"}
run = json.loads(text["json"])["summary"]

suites = list(junitparser.JUnitXml.fromfile(str(work / "junit")))
kinds = [type(result) for suite in suites for case in suite for result in case.result]
assert kinds.count(junitparser.Failure) == len(suites), kinds
assert all(suite.tests == len(list(suite)) for suite in suites)
figures = {item.name: item.value for item in suites[0].properties()}
assert float(figures["latency_max_us"]) * 1000 == run["all_cpus"]["max"], figures["latency_max_us"]
print(f"JUnit: {len(suites)} suite(s), {sum(suite.tests for suite in suites)} cases, {len(suites)} failed")

document = json.loads(text["kcidb"])
kcidb_io.schema.LATEST.validate(document)
statuses = [test["status"] for test in document["tests"]]
assert statuses.count("FAIL") == len(suites) and statuses.count("DONE") > 10, statuses
print(f"KCIDB: valid, {len(statuses)} tests, {len(document.get('incidents', []))} incidents")

# LAVA's dispatcher finds signals with this expression and then splits the words.
signal = re.compile(r"<LAVA_SIGNAL_(\S+) ([^>]+)>")
lines = text["lava"].splitlines()
assert all(signal.fullmatch(line) for line in lines if line != "<LAVA_SIGNAL_TESTSET STOP>"), lines
cases = [dict(word.split("=", 1) for word in signal.match(line)[2].split()) for line in lines if "TESTCASE" in line]
assert {case["RESULT"] for case in cases} <= {"pass", "fail", "skip", "unknown"}
assert sum("MEASUREMENT" in case for case in cases) > 10
assert all(case["RESULT"] == "unknown" for case in cases if "MEASUREMENT" in case)
print(f"LAVA: {len(cases)} signals")

families = {family.name: family for family in text_string_to_metric_families(text["prometheus"])}
counts = [s.value for s in families["tardy_wakeup_latency_seconds"].samples if s.name.endswith("_count")]
assert sum(counts) >= sum(cpu["cycles"] for cpu in run["cpus"])
assert [s.value for s in families["tardy_limit"].samples].count(0.0) == len(suites)
print(f"Prometheus: {len(families)} families")

metrics, tests = json.loads(text["squad-metrics"]), json.loads(text["squad-tests"])
assert all(isinstance(metric["value"], (int, float)) for metric in metrics.values())
assert set(tests.values()) <= {"pass", "fail", "skip"} and not set(tests) & set(metrics)
print(f"SQUAD: {len(tests)} tests, {len(metrics)} metrics")

fuego = json.loads(text["fuego"])
assert fuego["status"] == "FAIL" and fuego["schema_version"] == "1.0"
assert [case["status"] for case in fuego["test_sets"][0]["test_cases"]][0] == "FAIL"
print("Fuego: judged by its criteria")

parquet = work / "samples.parquet"
if parquet.exists():
    rows, latest = duckdb.sql(f"select count(*), max(latency_ns) from '{parquet}'").fetchone()
    assert latest == run["all_cpus"]["max"] and rows == sum(cpu["cycles"] for cpu in run["cpus"]), (rows, latest)
    print(f"Parquet: {rows} rows in DuckDB, the latest {latest} ns")
