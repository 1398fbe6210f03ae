"""JUnit XML, by junitparser."""

import junitparser

KINDS = {
    "measured": junitparser.Skipped, "undecided": junitparser.Skipped, "fail": junitparser.Failure,
    "error": junitparser.Error,
}


def check(case, tools):
    document = junitparser.JUnitXml.fromfile(str(case.file("junit")))
    suites = list(document)
    assert len(suites) == len(case.outcomes), f"{len(suites)} suites of {len(case.outcomes)} runs"
    for suite, outcomes, summary in zip(suites, case.outcomes, case.summaries):
        found = [it.result[0].__class__ if it.result else None for it in suite]
        assert found == [KINDS.get(outcome) for outcome in outcomes], f"{found} of {outcomes}"
        assert (suite.tests, suite.failures, suite.errors) == (
            len(outcomes), outcomes.count("fail"), outcomes.count("error"))
        figures = {item.name: item.value for item in suite.properties()}
        latest = summary["all_cpus"]["max"]
        assert latest is None or float(figures["latency_max_us"]) * 1000 == latest, figures["latency_max_us"]
        if summary["environment"]:
            assert figures["kernel"] == summary["environment"]["kernel_release"]
    names = [(suite.name, it.name) for suite in suites for it in suite]
    assert len(set(names)) == len(names), f"two cases have one name: {names}"
    assert (document.tests, document.failures, document.errors) == (
        len(names), case.count("fail"), case.count("error"))
    return f"{len(suites)} suite(s), {len(names)} cases, {document.failures} failed, {document.errors} errors"
