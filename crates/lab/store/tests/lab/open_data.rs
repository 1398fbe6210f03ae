//! Open data for other programs: the views, and the Parquet files.

use crate::both::finish;
use crate::promises::Lab;
use fixtures::repository::repository_path;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use prerequisites::require;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use store::open_data::ExportError;
use synthetic_run::SyntheticRun;

const DAY_NS: i64 = 86_400_000_000_000;
/// With every letter that a folder's name or a query could stumble over.
const ODD_BOARD: &str = "lab=1/rack 2'µ";

/// A board that turns bad in March, and one with an odd name and no limit.
async fn write(lab: &Lab) -> store::Store {
    let store = lab.open().await;
    for day in 0..4 {
        let started = 20_500 * DAY_NS + day * 20 * DAY_NS;
        let spikes = (0..day).map(|spike| (90_000 + spike, Some("irq-storm".to_owned()))).collect();
        let limit_ns = Some(if day < 2 { 200_000 } else { 50_000 });
        let run = SyntheticRun { spikes, limit_ns, ..SyntheticRun::of("pi", &format!("6.1.{day}"), started) };
        lab.add(&store, &format!("pi{day}"), &run).await;
    }
    lab.add(&store, "odd", &SyntheticRun::of(ODD_BOARD, "6.1.0", 20_500 * DAY_NS)).await;
    store
}

/// A row by the names of its columns.
type Shown = BTreeMap<String, Value>;

fn shown(row: &Row) -> Shown {
    let value = |field: &Field| match field {
        Field::Str(text) => json!(text),
        Field::Long(number) | Field::TimestampMicros(number) => json!(number),
        Field::Bool(truth) => json!(truth),
        Field::Double(number) => json!(number),
        Field::Null => Value::Null,
        other => panic!("no column has {other:?}"),
    };
    row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
}

/// Every row of a table, with the folders that its file is in.
fn rows(export: &Path, table: &str) -> Vec<(String, Shown)> {
    let mut rows = Vec::new();
    for board in fs::read_dir(export.join(table)).unwrap().map(|entry| entry.unwrap().path()) {
        for month in fs::read_dir(&board).unwrap().map(|entry| entry.unwrap().path()) {
            let file = fs::File::open(month.join("rows.parquet")).unwrap();
            let reader = SerializedFileReader::new(file).unwrap();
            let folders = month.strip_prefix(export.join(table)).unwrap().display().to_string();
            rows.extend(reader.get_row_iter(None).unwrap().map(|row| (folders.clone(), shown(&row.unwrap()))));
        }
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

pub async fn an_export_has_every_run_in_its_partition(lab: Lab) {
    let store = write(&lab).await;
    let directory = lab.outside("export");
    let exported = store.export(&directory).await.unwrap();
    let counted: Vec<(&str, u64)> = exported.tables.iter().map(|table| (table.table.as_str(), table.rows)).collect();
    let runs = rows(&directory, "runs");
    assert_eq!((counted[0], runs.len()), (("runs", 5), 5));
    let folders: Vec<&str> = runs.iter().map(|(folders, _)| folders.as_str()).collect();
    let of_pi =
        ["board=pi/month=2026-02", "board=pi/month=2026-03", "board=pi/month=2026-03", "board=pi/month=2026-04"];
    assert_eq!(folders[1..], of_pi);
    assert_eq!(folders[0], "board=lab%3D1%2Frack%202%27%C2%B5/month=2026-02");
    let histograms = rows(&directory, "histograms");
    for (_, row) in &runs {
        let known = store.run(row["digest"].as_str().unwrap()).await.unwrap().unwrap().run;
        assert_eq!((&row["kernel"], &row["samples"]), (&json!(known.kernel), &json!(known.samples)));
        assert_eq!((&row["latency_max_ns"], &row["limit_ns"]), (&json!(known.latency_max_ns), &json!(known.limit_ns)));
        assert_eq!(row["started_at"], json!(known.started_unix_ns / 1000));
        let of_run = histograms.iter().filter(|(_, bucket)| bucket["digest"] == row["digest"]);
        let samples: i64 = of_run.map(|(_, bucket)| bucket["count"].as_i64().unwrap()).sum();
        assert_eq!(json!(samples), row["samples"], "every sample is in a bucket");
    }
    let causes = rows(&directory, "causes");
    let spikes: i64 = causes.iter().map(|(_, row)| row["spikes"].as_i64().unwrap()).sum();
    assert_eq!((causes.len(), spikes), (3, 1 + 2 + 3));
    let again = store.export(&directory).await.unwrap_err();
    assert!(matches!(again, ExportError::NotEmpty(_)), "{again}");
    assert_eq!(fs::read_dir(lab.outside("")).unwrap().count(), 1, "nothing is left beside it");
}

/// Python with the package `duckdb`, which `make test` installs.
fn python() -> PathBuf {
    repository_path("target/duckdb/bin/python")
}

#[test]
fn five_questions_of_a_lab_are_answered_by_duckdb() {
    require!(Prepared("Python with duckdb (make target/duckdb/bin/python)", python().exists()));
    let lab = Lab::on_sqlite();
    let directory = lab.outside("export");
    finish(async { write(&lab).await.export(&directory).await.unwrap() });
    let script = repository_path("crates/lab/store/tests/open_data/ask.py");
    let mut asked = Command::new(python());
    asked.arg(script).arg("duckdb").arg(repository_path("docs/how-to/open-data.md")).arg(&directory);
    let output = asked.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers: Vec<Vec<Value>> = serde_json::from_slice(&output.stdout).unwrap();
    let [worst, bad, causes, shares, months] = <[_; 5]>::try_from(answers).unwrap();
    let boards: Vec<&Value> = worst.iter().map(|row| &row["board"]).collect();
    assert_eq!(boards, [&json!("pi"), &json!(ODD_BOARD)]);
    assert_eq!((&worst[0]["kernel"], &worst[0]["worst_us"]), (&json!("6.1.3"), &json!(90.002)));
    assert_eq!(bad.len(), 1);
    assert_eq!(
        (&bad[0]["board"], &bad[0]["first_bad"], &bad[0]["worst_cause"]),
        (&json!("pi"), &json!("6.1.2"), &json!("irq-storm"))
    );
    assert_eq!(
        (&causes[0]["culprit"], &causes[0]["spikes"], &causes[0]["boards"]),
        (&json!("irq-storm"), &json!(6), &json!(1))
    );
    assert_eq!((shares.len(), &shares[0]["above"]), (1, &json!(6)));
    assert_eq!(months.iter().filter(|row| row["board"] == "pi").count(), 3);
    assert_eq!(months.iter().find(|row| row["month"] == "2026-03").unwrap()["runs"], json!(2));
}

pub async fn views_have_the_figures_of_the_runs(lab: Lab) {
    let store = write(&lab).await;
    store.ingest(&lab.inside("odd")).await.unwrap();
    let pool = lab.pool().await;
    let sql = "SELECT board, month, started_at, p50_ns, p99_9_ns, raw FROM lab_v1_runs WHERE board <> 'pi'";
    let row: (String, String, String, i64, i64, i64) = sqlx::query_as(sql).fetch_one(&pool).await.unwrap();
    assert_eq!((row.0.as_str(), row.1.as_str(), row.2.as_str()), (ODD_BOARD, "2026-02", "2026-02-16T00:00:00Z"));
    assert!(row.3 > 0 && row.3 <= row.4 && row.5 == 1, "{row:?}");
    let sql = "SELECT culprit, spikes FROM lab_v1_causes WHERE kernel = '6.1.3'";
    let row: (String, i64) = sqlx::query_as(sql).fetch_one(&pool).await.unwrap();
    assert_eq!(row, ("irq-storm".to_owned(), 3));
}
