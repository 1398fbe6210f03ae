//! Files of samples from elsewhere: times at both ends of what 64 bits hold, and more samples than there is memory.

use super::Place;
use serde_json::Value;
use std::fs::{self, File};

/// More than a verb may use.
const FILE_BYTES: u64 = 600 << 20;

fn measured_with(place: &Place, method: &str) {
    let path = place.run().join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["settings"]["method"]["name"] = method.into();
    fs::write(path, manifest.to_string()).unwrap();
}

fn sample(due_ns: i64, latency_ns: i64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&due_ns.to_le_bytes());
    bytes[8..].copy_from_slice(&latency_ns.to_le_bytes());
    bytes
}

#[test]
fn an_execution_map_of_impossible_times_is_drawn() {
    let place = Place::new();
    measured_with(&place, "map");
    let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    let samples: Vec<u8> = ends.iter().flat_map(|due| ends.iter().flat_map(|late| sample(*due, *late))).collect();
    fs::create_dir_all(place.run().join("samples")).unwrap();
    fs::write(place.run().join("samples/0.bin"), samples).unwrap();
    let picture = place.tardy(&["export", "here/run", "--format", "map-svg", "-o", "-"]);
    assert!(picture.contains("</svg>"), "{picture}");
    place.every_verb(&["parquet"]);
    place.assert_nothing_outside_changed();
}

#[test]
fn an_execution_map_of_more_samples_than_there_is_memory_is_drawn() {
    let place = Place::new();
    measured_with(&place, "map");
    fs::create_dir_all(place.run().join("samples")).unwrap();
    fs::write(place.run().join("samples/0.bin"), sample(1_000_000, 500_000)).unwrap();
    let file = File::options().write(true).open(place.run().join("samples/0.bin")).unwrap();
    file.set_len(FILE_BYTES).unwrap();
    let picture = place.tardy(&["export", "here/run", "--format", "map-svg", "-o", "-"]);
    assert!(picture.contains("500.0 us from 1000000 ns"), "{picture}");
}
