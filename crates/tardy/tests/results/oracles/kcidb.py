"""KCIDB, by the schema of kcidb-io."""

import json

import kcidb_io

WORDS = {"pass": "PASS", "fail": "FAIL", "undecided": "SKIP", "measured": "DONE", "error": "ERROR"}


def check(case, tools):
    document = json.loads(case.text("kcidb"))
    assert kcidb_io.schema.LATEST.is_compatible(document)
    kcidb_io.schema.LATEST.validate(document)
    tests = document["tests"]
    statuses = [test["status"] for test in tests if "number" not in test]
    assert statuses == [WORDS[outcome] for run in case.outcomes for outcome in run], statuses
    assert {test["status"] for test in tests if "number" in test} <= {"DONE"}
    ids = [test["id"] for test in tests]
    assert len(set(ids)) == len(ids), "two tests have one id"
    builds = {build["id"] for build in document.get("builds", [])}
    assert {test["build_id"] for test in tests} <= builds
    issues = {issue["id"] for issue in document.get("issues", [])}
    incidents = document.get("incidents", [])
    assert all(it["issue_id"] in issues and it["test_id"] in ids for it in incidents)
    given = json.loads(case.text("kcidb", options=["--build-id", "maestro:1", "--origin", "lab_1"]))
    kcidb_io.schema.LATEST.validate(given)
    assert {test["build_id"] for test in given["tests"]} == {"maestro:1"} and "builds" not in given
    return f"valid; {len(tests)} tests, {len(issues)} issues, {len(incidents)} incidents"
