//! The two forms in which an archive is kept.

/// Whether a copy of an archive has its raw traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Whole,
    /// Without raw traces.
    Pruned,
}
