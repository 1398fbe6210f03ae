"""ask.py ENGINE DOCUMENT EXPORT: asks every question in SQL of a document about an export of a lab, and prints the answers as JSON: a list of
rows for each question. ENGINE is duckdb, or spark, which runs in this process (local mode); questions are written for DuckDB."""

import json
import os
import re
import sys

FILES = r"read_parquet\('(\w+)/\*/\*/\*\.parquet', hive_partitioning = true\)"
# Functions that Spark calls by another name.
SPARK = {"arg_max": "max_by", "arg_min": "min_by"}


def duckdb_answers(questions):
    import duckdb

    for question in questions:
        answer = duckdb.sql(question)
        yield [dict(zip(answer.columns, row)) for row in answer.fetchall()]


def spark_answers(questions):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    for table in sorted({table for question in questions for table in re.findall(FILES, question)}):
        spark.read.option("basePath", table).parquet(table).createOrReplaceTempView(f"files_of_{table}")
    for question in questions:
        question = re.sub(FILES, r"files_of_\1", question).rstrip().rstrip(";")
        for theirs, ours in SPARK.items():
            question = question.replace(theirs, ours)
        yield [row.asDict() for row in spark.sql(question).collect()]


def main():
    engine, document, export = sys.argv[1:]
    with open(document, encoding="utf-8") as text:
        questions = re.findall(r"```sql\n(.*?)```", text.read(), re.DOTALL)
    os.chdir(export)
    answers = {"duckdb": duckdb_answers, "spark": spark_answers}[engine](questions)
    as_number = lambda value: int(value) if str(value).isdigit() else float(value) if type(value).__name__ == "Decimal" else str(value)
    print(json.dumps(list(answers), default=as_number))


main()
