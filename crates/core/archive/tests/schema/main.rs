//! The JSON schemas in docs/reference/schemas are those of this crate's documents, and every document still keeps what a
//! released version promised.
#![cfg(feature = "schema")]

mod compatible;

use archive::audit::AuditDescription;
use archive::explanation::Explanation;
use archive::manifest::Manifest;
use archive::message::Message;
use archive::recorded::Recorded;
use archive::settings::RunSettings;
use archive::summary::RunSummary;
use compatible::breaks;
use fixtures::repository::repository_path;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// As it is written: what a program that reads the document can rely on.
fn schema<T: JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    schema.insert("title".into(), title.into());
    schema.to_value()
}

/// Each document by the name of its schema's file.
fn documents() -> [(&'static str, Value); 7] {
    [
        ("audit-description", schema::<AuditDescription>("audit/description.json")),
        ("explanations", schema::<Vec<Explanation>>("explanations.json")),
        ("manifest", schema::<Manifest>("manifest.json")),
        ("message", schema::<Message>("A message in stream.tardy")),
        ("recorded", schema::<Recorded>("recorded.json")),
        ("run-settings", schema::<RunSettings>("What a meter reads before it measures")),
        ("run-summary", schema::<RunSummary>("tardy run --json")),
    ]
}

fn folder() -> PathBuf {
    repository_path("docs/reference/schemas")
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.schema.json"))
}

#[test]
fn the_documented_schemas_are_those_of_the_code() {
    for (name, schema) in documents() {
        let path = file(&folder(), name);
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let documented = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            documented == text,
            "{name}.schema.json is stale; UPDATE_SCHEMAS=1 cargo test -p archive --features schema --test schema"
        );
    }
}

#[test]
fn every_released_document_is_kept() {
    let released = folder().join("released");
    let versions: Vec<PathBuf> = fs::read_dir(&released).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!versions.is_empty(), "docs/reference/schemas/released holds no version");
    for version in versions {
        for (name, schema) in documents() {
            // A document that the version did not have yet breaks no promise of it.
            let Ok(old) = fs::read_to_string(file(&version, name)) else { continue };
            let found = breaks(&serde_json::from_str(&old).unwrap(), &schema);
            assert!(found.is_empty(), "{name} breaks a promise of {}:\n{}", version.display(), found.join("\n"));
        }
        for entry in fs::read_dir(&version).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if !name.ends_with(".schema.json") {
                continue;
            }
            let kept = documents().iter().any(|(kept, _)| name == format!("{kept}.schema.json"));
            assert!(kept, "{name} of {} is no longer written", version.display());
        }
    }
}
