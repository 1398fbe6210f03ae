//! Compresses the meters that the program carries: the files `tardy-meter-ARCHITECTURE` of the directory that
//! `TARDY_CARRIED_METERS` names. Without the variable it carries none.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "TARDY_CARRIED_METERS";
const PREFIX: &str = "tardy-meter-";
/// The smallest result in acceptable time.
const LEVEL: u8 = 10;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let folder = env::var_os(VARIABLE).filter(|folder| !folder.is_empty());
    let entries = folder.map_or_else(String::new, |folder| carry(Path::new(&folder), &out));
    fs::write(out.join("carried_meters.rs"), format!("&[\n{entries}]\n")).expect("OUT_DIR is writable");
}

/// The entries of the list, one for each meter in the folder.
fn carry(folder: &Path, out: &Path) -> String {
    println!("cargo::rerun-if-changed={}", folder.display());
    let listed = fs::read_dir(folder).unwrap_or_else(|error| panic!("{VARIABLE}: {}: {error}", folder.display()));
    let mut names: Vec<String> = listed
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|it| it.starts_with(PREFIX))
        .collect();
    names.sort();
    assert!(!names.is_empty(), "{VARIABLE}: {} contains no {PREFIX}ARCHITECTURE", folder.display());
    names.iter().map(|name| entry(&folder.join(name), &name[PREFIX.len()..], out)).collect()
}

fn entry(meter: &Path, architecture: &str, out: &Path) -> String {
    println!("cargo::rerun-if-changed={}", meter.display());
    let bytes = fs::read(meter).unwrap_or_else(|error| panic!("{}: {error}", meter.display()));
    let file = format!("meter-{architecture}.zlib");
    fs::write(out.join(&file), miniz_oxide::deflate::compress_to_vec_zlib(&bytes, LEVEL)).expect("OUT_DIR is writable");
    format!(
        "    CarriedMeter {{\n        architecture: {architecture:?},\n        bytes: {},\n        \
         compressed: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\")),\n    }},\n",
        bytes.len()
    )
}
