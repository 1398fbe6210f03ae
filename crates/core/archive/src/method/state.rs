//! Whether a machine can run a method, and what it lacks if not.

use serde::{Deserialize, Serialize};

/// Kind of a missing thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObstacleKind {
    /// The kernel was built without it.
    Kernel,
    /// A module of the kernel that is not loaded.
    Module,
    Device,
    /// A permission of the user or of the container.
    Right,
    /// A wire or cable.
    Wiring,
    /// Another program uses it.
    InUse,
    /// Too few CPUs.
    Cpus,
}

/// Something that keeps a method from running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obstacle {
    pub kind: ObstacleKind,
    /// The missing thing.
    pub text: String,
    /// How to fix it; empty if there is no fix.
    pub fix: String,
}

/// One method on one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodState {
    /// Its name: a meter may have more methods than its host.
    pub method: String,
    /// Empty: it can run.
    pub obstacles: Vec<Obstacle>,
}
