//! The documents that `--json` prints keep the fields of released versions: scripts depend on them.
//!
//! docs/reference/schemas/documents.txt has each field of each document of an example, with its type. To write it again:
//! UPDATE_SCHEMAS=1 cargo test -p tardy --all-features --test verbs documents

use fixtures::fake_meter::Ended;
use fixtures::repository::copy;
use fixtures::repository::repository_path;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

/// Verbs whose documents do not depend on the machine that prints them.
const VERBS: [&[&str]; 25] = [
    &["compare", "v1", "again"],
    &["compare", "v1", "again", "--brief"],
    &["explain", "v1"],
    &["explain", "v1", "--brief"],
    &["explain", "v1", "--brief", "--spike", "11"],
    &["explain", "v1", "--brief", "--evidence", "11.1.1"],
    &["explain", "v1", "--bound"],
    &["explain", "--diff", "v1", "again"],
    &["lab", "history", "."],
    &["judge", "v1", "--limit", "latency < 100us"],
    &["judge", "v1", "--limit", "latency < 100us", "--brief"],
    &["list", "."],
    &["list", ".", "--brief"],
    &["list", "loads"],
    &["list", "loads", "--brief"],
    &["list", "methods", "--brief"],
    &["lab", "publish", "v1", "--key", "key", "--new-key"],
    &["lab", "check-publication", "publication.tar", "--key", "key.pub"],
    &["lab", "store", "ingest", "v1"],
    &["lab", "store", "list"],
    &["lab", "store", "doctor"],
    &["lab", "store", "changes"],
    &["lab", "store", "alerts"],
    &["lab", "queue", "list"],
    &["lab", "queue", "trigger", "list"],
];

/// Words that now begin verbs, and those of released versions, which still work.
const FORMER_NAMES: [(&str, &str); 6] = [
    ("tardy lab history", "tardy history"),
    ("tardy list loads", "tardy load list"),
    ("tardy lab publish", "tardy publish"),
    ("tardy lab check-publication", "tardy verify"),
    ("tardy lab store", "tardy store"),
    ("tardy lab queue", "tardy queue"),
];

type Fields = BTreeMap<String, BTreeSet<&'static str>>;

/// Adds every field below the value: `/name` in an object, `/*` in an array.
fn add(path: &str, value: &Value, fields: &mut Fields) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    fields.entry(path.into()).or_default().insert(kind);
    match value {
        Value::Array(values) => values.iter().for_each(|value| add(&format!("{path}/*"), value, fields)),
        Value::Object(named) => named.iter().for_each(|(name, value)| add(&format!("{path}/{name}"), value, fields)),
        _ => {}
    }
}

/// The fields of every document, a line each.
fn printed() -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    for name in ["v1", "again"] {
        copy(&repository_path("corpus/archives/v1"), &folder.path().join(name));
    }
    let manifest = folder.path().join("again/manifest.json");
    // Verbs refuse to compare a run with itself.
    fs::write(&manifest, fs::read_to_string(&manifest).unwrap().replace("\"example\"", "\"again\"")).unwrap();
    let mut lines = BTreeSet::new();
    for words in VERBS {
        let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
        let ended = Ended::of(tardy.args(words).arg("--json").current_dir(folder.path()).output().unwrap());
        assert!(matches!(ended.code, Some(0 | 1 | 4)), "{words:?}: {}{}", ended.stdout, ended.stderr);
        let mut fields = Fields::new();
        add("", &ended.json(), &mut fields);
        for (path, kinds) in fields {
            let kinds: Vec<&str> = kinds.into_iter().collect();
            lines.insert(format!("tardy {}: {path} {}", words.join(" "), kinds.join(" or ")));
        }
    }
    lines
}

/// A line of a released version with the words of today.
fn renamed(line: &str) -> String {
    let name = FORMER_NAMES.iter().find(|(_, was)| line.starts_with(was));
    name.map_or_else(|| line.to_owned(), |(now, was)| line.replacen(was, now, 1))
}

#[test]
fn no_field_of_a_document_disappears_or_changes_its_type() {
    let fields = printed();
    let path = repository_path("docs/reference/schemas/documents.txt");
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, fields.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }
    let documented: BTreeSet<String> = fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    let changed: Vec<&String> = documented.symmetric_difference(&fields).collect();
    assert!(changed.is_empty(), "documents.txt is stale: {changed:#?}");
    for version in fs::read_dir(repository_path("docs/reference/schemas/released")).unwrap() {
        let path = version.unwrap().path().join("documents.txt");
        let released = fs::read_to_string(&path).unwrap();
        let gone: Vec<&str> = released.lines().filter(|line| !fields.contains(&renamed(line))).collect();
        assert!(gone.is_empty(), "{} promises: {gone:#?}", path.display());
    }
}
