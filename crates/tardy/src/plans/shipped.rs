//! The plans of `plans/`, inside the program: a user who has only the program runs them under the same paths.

use std::path::Path;

const SHIPPED: [(&str, &str); 6] = [
    ("plans/founding-talk.toml", include_str!("../../../../plans/founding-talk.toml")),
    ("plans/osadl.toml", include_str!("../../../../plans/osadl.toml")),
    ("plans/overnight.toml", include_str!("../../../../plans/overnight.toml")),
    ("plans/smoke.toml", include_str!("../../../../plans/smoke.toml")),
    ("plans/storage-study.toml", include_str!("../../../../plans/storage-study.toml")),
    ("plans/three-kernels.toml", include_str!("../../../../plans/three-kernels.toml")),
];

/// The shipped plan of this path.
pub fn text(path: &Path) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, _)| path == Path::new(shipped)).map(|(_, text)| *text)
}
