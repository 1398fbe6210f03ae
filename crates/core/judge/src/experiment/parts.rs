//! How the figures of an experiment share the allowed error.

/// Share of the allowed error for the primary figure; the others share the rest.
const PRIMARY_PART: f64 = 0.8;

/// Shares of the allowed error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    pub primary: f64,
    /// Of each other figure.
    pub other: f64,
}

impl Parts {
    pub fn of(others: usize) -> Self {
        match others {
            0 => Self { primary: 1.0, other: 1.0 },
            others => Self { primary: PRIMARY_PART, other: (1.0 - PRIMARY_PART) / others as f64 },
        }
    }
}
