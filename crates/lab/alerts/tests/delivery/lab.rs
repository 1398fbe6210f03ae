//! An index with a change between two runs of a board whose name is hostile.

use fixtures::postgres::Server;
use std::fs;
use std::path::{Path, PathBuf};
use store::{Address, Store};
use synthetic_run::SyntheticRun;

/// A text that would be a link, a mention, a reference, HTML, a command, a new header and the end of a code span.
pub const HOSTILE: &str = "pi`</code>`` @all #1 !1 <img src=x onerror=alert(1)> [x](http://evil)";
/// Of the index when nothing has happened yet.
pub const START: i64 = 1_000_000_000_000;
pub const MINUTE_NS: i64 = 60_000_000_000;

pub struct Lab {
    folder: tempfile::TempDir,
    settings: tempfile::TempDir,
    address: Address,
}

impl Lab {
    pub fn on_sqlite() -> Self {
        Self::with(Address::directory)
    }

    pub fn on_postgres(server: &Server) -> Self {
        Self::with(|archives| Address::parse(&server.database(), archives).unwrap())
    }

    fn with(address: impl FnOnce(&Path) -> Address) -> Self {
        let (folder, settings) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let address = address(folder.path());
        Self { folder, settings, address }
    }

    pub async fn open(&self) -> Store {
        Store::open(&self.address).await.unwrap()
    }

    pub async fn pool(&self) -> sqlx::AnyPool {
        sqlx::any::install_default_drivers();
        sqlx::AnyPool::connect(&self.address.url(&fs::canonicalize(self.folder.path()).unwrap())).await.unwrap()
    }

    /// A file beside the settings, such as a secret.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.settings.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// The settings in a text, with one rule that sends everything to these destinations.
    pub fn settings(&self, destinations: &str) -> alerts::Settings {
        let names: Vec<String> = destinations
            .lines()
            .filter_map(|line| line.strip_prefix("[destination.")?.strip_suffix(']'))
            .map(|name| format!("\"{name}\""))
            .collect();
        let rule = format!("link = \"https://lab.example/\"\n[[rule]]\nto = [{}]\n", names.join(", "));
        self.parsed(&format!("{rule}{destinations}"))
    }

    pub fn parsed(&self, text: &str) -> alerts::Settings {
        alerts::Settings::parse(text, &self.settings.path().join("alerts.toml")).unwrap()
    }

    /// Makes the destinations known before anything changes.
    pub async fn known(&self, store: &Store, settings: &alerts::Settings) {
        settings.announce(store, START).await.unwrap();
    }

    /// A change of `p99.9` to the worse, found a minute after the start; returns its name.
    pub async fn add_change(&self, store: &Store, name: &str, board: &str) -> String {
        let mut digests = Vec::new();
        for (number, kernel) in ["6.1.0", "6.1.1-`rt`"].into_iter().enumerate() {
            let path = self.folder.path().join(format!("{name}-{number}"));
            SyntheticRun::of(board, kernel, START + number as i64 * MINUTE_NS).write(&path);
            digests.push(store.ingest(&path).await.unwrap().digest);
        }
        let scenario = store.run(&digests[1]).await.unwrap().unwrap().run.scenario;
        let sql = "INSERT INTO changes (change, scenario, figure, before_digest, after_digest, level_before, level_after, p_value, \
                   differences, sentence, triage, found_unix_ns) VALUES ($1, $2, 'p99.9', $3, $4, 50000, 80000, 0.0001, $5, \
                   'p99.9 went from 50.0 µs to 80.0 µs', 'new', $6)";
        let differences =
            format!(r#"[{{"what":"kernel","a":"6.1.0","b":{}}}]"#, serde_json::to_string(HOSTILE).unwrap());
        let query = sqlx::query(sql).bind(name).bind(scenario).bind(&digests[0]).bind(&digests[1]).bind(differences);
        query.bind(START + MINUTE_NS).execute(&self.pool().await).await.unwrap();
        name.to_owned()
    }

    /// A change of another figure that the same run shows first.
    pub async fn add_figure(&self, change: &str, name: &str, figure: &str, levels_ns: [f64; 2]) {
        let sql = "INSERT INTO changes (change, scenario, figure, before_digest, after_digest, level_before, level_after, p_value, \
                   differences, sentence, triage, found_unix_ns) SELECT $1, scenario, $2, before_digest, after_digest, $3, $4, p_value, \
                   differences, $5, triage, found_unix_ns FROM changes WHERE change = $6";
        let query = sqlx::query(sql).bind(name).bind(figure).bind(levels_ns[0]).bind(levels_ns[1]);
        let query = query.bind(format!("{figure} changed")).bind(change);
        assert_eq!(query.execute(&self.pool().await).await.unwrap().rows_affected(), 1);
    }
}
