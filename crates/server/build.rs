//! Copies the script and the styles built by `ui/` to where the crate includes them.

use std::path::Path;
use std::{env, fs};

fn main() {
    for name in ["lab.js", "lab.css"] {
        let source = format!("../../ui/dist/{name}");
        println!("cargo:rerun-if-changed={source}");
        let source = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR")).join(source);
        let copy = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join(name);
        if let Err(error) = fs::copy(&source, copy) {
            eprintln!("failed to read {}: {error}; run `make ui` first", source.display());
            std::process::exit(1);
        }
    }
}
