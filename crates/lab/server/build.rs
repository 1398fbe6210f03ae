//! Copies the script and the styles built by `ui/` to where the crate includes them.

use std::path::Path;
use std::{env, fs};

fn main() {
    for name in ["lab.js", "lab.css"] {
        let source = format!("../../../ui/dist/{name}");
        println!("cargo:rerun-if-changed={source}");
        let source = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR")).join(source);
        let copy = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join(name);
        let Err(error) = fs::copy(&source, &copy) else { continue };
        let missing = format!("failed to read {}: {error}; run `make ui` first", source.display());
        // Pages show every number without them, so tests of the crates need no npm.
        if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
            eprintln!("{missing}");
            std::process::exit(1);
        }
        println!("cargo:warning={missing}");
        fs::write(copy, "").expect("OUT_DIR is writable");
    }
}
