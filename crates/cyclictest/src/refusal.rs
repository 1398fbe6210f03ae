//! Why there is no result, and the exit status that says so.

/// A line for standard error and how the process ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub text: String,
    pub exit_status: i32,
}

impl Refusal {
    /// The command line asks for something that does not exist or fit together.
    pub fn usage(text: impl Into<String>) -> Self {
        Self { text: text.into(), exit_status: 2 }
    }

    /// The machine does not let it be measured.
    pub fn unable(text: impl Into<String>) -> Self {
        Self { text: text.into(), exit_status: 3 }
    }
}
