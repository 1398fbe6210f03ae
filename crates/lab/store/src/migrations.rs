//! Every version of the schema, in order. A released one never changes: its checksum is in each database.

use crate::database::{Database, Engine};
use crate::error::StoreError;
use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

const BEFORE_VIEWS: [(i64, &str, &str); 6] = [
    (1, "runs", include_str!("../migrations/0001_runs.sql")),
    (2, "retention", include_str!("../migrations/0002_retention.sql")),
    (3, "queue", include_str!("../migrations/0003_queue.sql")),
    (4, "changes", include_str!("../migrations/0004_changes.sql")),
    (5, "actions", include_str!("../migrations/0005_actions.sql")),
    (6, "triggers", include_str!("../migrations/0006_triggers.sql")),
];

/// Views for programs outside: dates and figures as each database reads them.
fn views(engine: Engine) -> (i64, &'static str, &'static str) {
    let sql = match engine {
        Engine::Sqlite => include_str!("../migrations/0007_views.sqlite.sql"),
        Engine::Postgres => include_str!("../migrations/0007_views.postgres.sql"),
    };
    (7, "views", sql)
}

const AFTER_VIEWS: [(i64, &str, &str); 7] = [
    (8, "holds", include_str!("../migrations/0008_holds.sql")),
    (9, "drifts", include_str!("../migrations/0009_drifts.sql")),
    (10, "alerts", include_str!("../migrations/0010_alerts.sql")),
    (11, "alert_parts", include_str!("../migrations/0011_alert_parts.sql")),
    (12, "newest_of_a_standing", include_str!("../migrations/0012_newest_of_a_standing.sql")),
    (13, "news", include_str!("../migrations/0013_news.sql")),
    (14, "held", include_str!("../migrations/0014_held.sql")),
];

/// Brings a database to the newest version. Of several processes that start at once, one does it.
pub async fn run(database: &Database) -> Result<(), StoreError> {
    let all = BEFORE_VIEWS.into_iter().chain([views(database.engine())]).chain(AFTER_VIEWS);
    let migrations: Vec<Migration> = all
        .map(|(version, name, sql)| {
            Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
        })
        .collect();
    let _alone = database.alone().await;
    Ok(Migrator::with_migrations(migrations).run(database.pool()).await?)
}
