//! An index of every earlier version of the schema is updated when it is opened, and keeps what it has.

use crate::promises::Lab;
use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use std::fs;
use std::path::Path;
use store::{Outcome, Standing};
use synthetic_run::SyntheticRun;

/// The migrations for a database, oldest first, as files of the crate.
fn migrations(is_sqlite: bool) -> Vec<Migration> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let other = if is_sqlite { ".postgres.sql" } else { ".sqlite.sql" };
    let files = files.into_iter().filter(|file| !file.to_str().unwrap().ends_with(other));
    let migration = |file: std::path::PathBuf| {
        let name = file.file_name().unwrap().to_str().unwrap();
        let (version, name) = name.split_once('_').unwrap();
        let (version, name) = (version.parse().unwrap(), name.split('.').next().unwrap().to_owned());
        let sql = sqlx::AssertSqlSafe(fs::read_to_string(&file).unwrap()).into_sql_str();
        Migration::new(version, name.into(), MigrationType::Simple, sql, false)
    };
    files.map(migration).collect()
}

/// Rows as the first version wrote them.
const ROWS: [&str; 4] = [
    "INSERT INTO scenarios VALUES ('s', 'words', 'pi', 'idle', 'timer', -9223372036854775808)",
    "INSERT INTO runs (digest, location, id, scenario, kernel, kernel_line, preemption, environment, settings, started_unix_ns, \
     measured_ns, state, valid, degraded, emulated, virtual_time, verdict, standing, samples, latency_max_ns, limit_ns, over_limit, \
     missed, spikes, worst_cause, histogram, outline, figures, summary, bytes, ingested_unix_ns) VALUES ('d', 'there', 'id', 's', \
     '6.1.0', '6.1', 'rt', '', '', 1, 2, 'complete', 1, 0, 0, 0, 'pass', 'good', 3, 90000, 100000, 0, NULL, 1, 'irq-storm', $1, $1, \
     '{\"latency_ns\":{\"p50\":7,\"p99.9\":8},\"compared\":{}}', '{}', 10, 11)",
    "INSERT INTO coverage VALUES ('s', '6.1.0', 1, 3, 2, 90000)",
    "INSERT INTO causes (digest, culprit, spikes, latency_max_ns) VALUES ('d', 'irq-storm', 1, 90000)",
];

pub async fn an_index_of_an_earlier_schema_is_updated_and_keeps_its_runs(mut lab: Lab) {
    let all = migrations(lab.is_sqlite());
    assert!(all.len() >= 6, "the test reads the files of the crate");
    for number in 1..all.len() {
        lab.renew().await;
        let pool = lab.pool().await;
        Migrator::with_migrations(all[..number].to_vec()).run(&pool).await.unwrap();
        for sql in ROWS {
            let query = sqlx::query(sql);
            let query = if sql.contains("$1") { query.bind(Vec::<u8>::new()) } else { query };
            query.execute(&pool).await.unwrap();
        }
        let store = lab.open().await;
        let fleet = store.fleet().await.unwrap();
        let (newest, coverage) = (&fleet.rows[0].newest, &fleet.rows[0].coverage);
        assert_eq!(
            (newest.board.as_str(), newest.standing, coverage.samples),
            ("pi", Standing::Good, 3),
            "from {number}"
        );
        assert_eq!(store.culprits(0, 10).await.unwrap().len(), 1);
        let sql = "SELECT p50_ns, p99_9_ns FROM lab_v1_runs";
        assert_eq!(sqlx::query_as::<_, (i64, i64)>(sql).fetch_one(&pool).await.unwrap(), (7, 8));
        // And it takes new runs.
        let added = lab.add(&store, "new", &SyntheticRun::of("pi", "6.1.1", 1)).await;
        assert_eq!(added.outcome, Outcome::Added);
        let rebuilt = store.rebuild(vec![lab.inside("new")], &mut |_| {}).await.unwrap();
        assert_eq!((rebuilt.runs, rebuilt.removed), (1, 1), "the archive of the old row is not there");
    }
}
