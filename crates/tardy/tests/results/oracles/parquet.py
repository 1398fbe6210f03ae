"""Parquet, by DuckDB, pandas and Arrow."""

import duckdb
import pandas
import pyarrow.parquet

from exported import Skipped


def check(case, tools):
    rows = 0
    for run, summary in zip(case.runs, case.summaries):
        if not (run / "samples").is_dir():
            continue
        path = case.file("parquet", runs=[run], limited=False).rename(case.directory / "samples.parquet")
        cycles, latest = sum(cpu["cycles"] for cpu in summary["cpus"]), summary["all_cpus"]["max"]
        assert duckdb.sql(f"select count(*), max(latency_ns) from '{path}'").fetchall() == [(cycles, latest)]
        frame = pandas.read_parquet(path)
        assert (len(frame), frame.latency_ns.max()) == (cycles, latest)
        by_cpu = frame.groupby("cpu").latency_ns.max().to_dict()
        assert by_cpu == {cpu["cpu"]: cpu["latency_ns"]["max"] for cpu in summary["cpus"]}, by_cpu
        about = {key.decode(): value.decode() for key, value in pyarrow.parquet.read_schema(path).metadata.items()}
        assert any(value.endswith(summary["id"]) for value in about.values()), about
        rows += cycles
    if not rows:
        raise Skipped("no run has every sample (--every-sample)")
    return f"{rows} rows in DuckDB, pandas and Arrow"
