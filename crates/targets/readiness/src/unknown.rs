//! Facts that a rule needs and that are not known.

/// Why nothing can be said: a sentence without the full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown(pub String);
