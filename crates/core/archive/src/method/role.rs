//! The ends of a wire: which of them a machine has, and how two machines share the options of one method.

use super::values::{OptionValue, choices};

pub const ROLE: &str = "the ends of the wire on this machine: both; the one that gives the stimulus and measures the round trip; or \
                        the one that answers another machine and measures how long it took";
pub const WIRED_ROLE: &str = "answer another machine, or give the stimulus and measure the round trip";

choices! {
    /// The ends of a wire that a machine has.
    Role { Both = "both", Stimulus = "stimulus", Answer = "answer" }
}

choices! {
    /// The end of a wire that leads to another machine.
    WiredRole { Answer = "answer", Stimulus = "stimulus" }
}

impl From<WiredRole> for Role {
    fn from(role: WiredRole) -> Self {
        match role {
            WiredRole::Answer => Self::Answer,
            WiredRole::Stimulus => Self::Stimulus,
        }
    }
}

/// Why two machines cannot share a method with these options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undivided {
    /// The method has one machine.
    NoRoles,
    /// The user gave a role, which is not for the user to choose here.
    RoleGiven { role: String },
    /// The end with this role has no other machine without this option.
    Missing { role: Role, key: &'static str },
}

/// Has the target answer and the other machine give the stimuli.
///
/// # Errors
/// [`Undivided::RoleGiven`].
pub(super) fn assign<R: OptionValue + PartialEq>(
    target: &mut Option<R>,
    stimulus: &mut Option<R>,
    answers: R,
    gives_stimuli: R,
) -> Result<(), Undivided> {
    let given = |role: &R| Err(Undivided::RoleGiven { role: role.text() });
    if let Some(role) = target.as_ref().filter(|role| **role != answers) {
        return given(role);
    }
    *target = Some(answers);
    match stimulus.replace(gives_stimuli) {
        Some(role) => given(&role),
        None => Ok(()),
    }
}

/// Requires an option of both machines.
///
/// # Errors
/// [`Undivided::Missing`].
pub(super) fn require<T>(key: &'static str, target: &Option<T>, stimulus: &Option<T>) -> Result<(), Undivided> {
    match (target, stimulus) {
        (None, _) => Err(Undivided::Missing { role: Role::Answer, key }),
        (_, None) => Err(Undivided::Missing { role: Role::Stimulus, key }),
        (Some(_), Some(_)) => Ok(()),
    }
}
