//! Copies the report page built by `ui/` to where the crate includes it.

use std::path::Path;
use std::{env, fs};

const PAGE: &str = "../../../ui/dist/report.html";

fn main() {
    println!("cargo:rerun-if-changed={PAGE}");
    let source = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR")).join(PAGE);
    let copy = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("report.html");
    let page = match fs::read_to_string(&source) {
        Ok(page) => page,
        Err(error) => {
            eprintln!("failed to read the report page {}: {error}; run `make ui` first", source.display());
            std::process::exit(1);
        }
    };
    for place in ["<!--tardy:title-->", "<!--tardy:body-->", "\"tardy:data\""] {
        if page.matches(place).count() != 1 {
            eprintln!("{} must hold {place} once; run `make ui` again", source.display());
            std::process::exit(1);
        }
    }
    fs::write(copy, page).expect("OUT_DIR is writable");
}
