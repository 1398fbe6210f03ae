//! A copy of the index of git, below `target`: patches change it and cargo compiles it. Edits that are not staged are not in it.

use crate::{failure, git, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The copy, and beside it what cargo built of it.
const PLACE: &str = "target/additions/tree";
const BUILT: &str = "target/additions/build";
/// `make ui` builds it, and the crate `report` includes it.
const PAGES: &str = "ui/dist";

pub struct Copy(PathBuf);

impl Copy {
    pub fn of_the_index() -> Self {
        let copy = Self(root().join(PLACE));
        if copy.0.exists() {
            fs::remove_dir_all(&copy.0).unwrap();
        }
        assert_eq!(failure(&git(&["checkout-index", "--all", &format!("--prefix={PLACE}/")])), None);
        copy.take_pages();
        copy
    }

    fn take_pages(&self) {
        let into = self.0.join(PAGES);
        fs::create_dir_all(&into).unwrap();
        let pages = fs::read_dir(root().join(PAGES)).expect("`make ui` has built the pages");
        for page in pages.map(Result::unwrap) {
            fs::copy(page.path(), into.join(page.file_name())).unwrap();
        }
    }

    pub fn apply(&self, patch: &Path, options: &[&str]) {
        let place = format!("--directory={PLACE}");
        let patch = patch.to_string_lossy();
        let words = [&["apply", &place], options, &[&*patch]].concat();
        assert_eq!(failure(&git(&words)), None, "{patch}");
    }

    /// Errors and warnings of the compiler.
    pub fn complaint(&self) -> Option<String> {
        let checked = Command::new(env!("CARGO"))
            .args(["check", "--quiet", "--offline", "--package", "tardy", "--package", "tardy-meter"])
            .env("CARGO_TARGET_DIR", root().join(BUILT))
            .current_dir(&self.0)
            .output()
            .expect("cargo runs");
        let said = String::from_utf8_lossy(&checked.stderr).into_owned();
        (!checked.status.success() || said.contains("warning")).then_some(said)
    }
}
