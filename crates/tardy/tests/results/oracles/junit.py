"""JUnit XML, by junitparser."""

import junitparser

KINDS = {
    "measured": junitparser.Skipped, "undecided": junitparser.Skipped, "fail": junitparser.Failure,
    "error": junitparser.Error,
}


def check(case, tools):
    document = junitparser.JUnitXml.fromfile(str(case.file("junit")))
    suites, begin = list(document), 0
    assert len(suites) == len(case.suites), f"{len(suites)} suites of {len(case.suites)} runs and plans"
    for suite, (is_round, length) in zip(suites, case.suites):
        end = begin + length
        outcomes = [outcome for run in case.outcomes[begin:end] for outcome in run]
        found = [it.result[0].__class__ if it.result else None for it in suite]
        assert found == [KINDS.get(outcome) for outcome in outcomes], f"{found} of {outcomes}"
        assert (suite.tests, suite.failures, suite.errors) == (
            len(outcomes), outcomes.count("fail"), outcomes.count("error"))
        figures = {item.name: item.value for item in suite.properties()}
        # One class a run; of a plan its name begins with the plan's, and that of each figure with the rest.
        classes = list(dict.fromkeys(it.classname for it in suite))
        assert len(classes) == length, classes
        for name, summary in zip(classes, case.summaries[begin:end]):
            step = name.removeprefix(f"{suite.name}.") + "." if is_round else ""
            latest = summary["all_cpus"]["max"]
            assert latest is None or float(figures[f"{step}latency_max_us"]) * 1000 == latest, figures
            if summary["environment"]:
                assert figures[f"{step}kernel"] == summary["environment"]["kernel_release"]
        begin = end
    names = [(it.classname, it.name) for suite in suites for it in suite]
    assert len(set(names)) == len(names), f"two cases have one name: {names}"
    assert (document.tests, document.failures, document.errors) == (
        len(names), case.count("fail"), case.count("error"))
    return f"{len(suites)} suite(s), {len(names)} cases, {document.failures} failed, {document.errors} errors"
