//! Converts what the user writes for a role, `logger:port=/dev/ttyUSB0`, to a machine and its method.

use super::RunRole;
use crate::method::{METHODS, MethodOptions, MethodRequest, MethodWordsError, Role, Undivided};
use std::fmt;
use thiserror::Error;

/// A machine with the options of its end of the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRequest {
    /// Name of a target, or `local`.
    pub machine: String,
    /// As behind the name of a method.
    pub options: String,
}

/// Why a method cannot be divided between two machines as written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RoleWordsError {
    #[error("write latmon:ADDRESS for a board, or NAME[:KEY=VALUE,...] for another target")]
    NoName,
    #[error("{method} has one machine; these have another one for the stimuli: {}", with_roles())]
    NoRoles { method: String },
    #[error("leave role={role} out of the method: the target answers, and the other machine gives the stimuli")]
    RoleGiven { role: String },
    #[error("the {role} machine needs {key}=")]
    Missing { role: RunRole, key: &'static str },
    #[error("the {role} machine: {source}")]
    Words { role: RunRole, source: MethodWordsError },
}

fn with_roles() -> String {
    let with_roles = METHODS.iter().filter(|one| one.method.options().end().is_some());
    with_roles.map(|one| one.name).collect::<Vec<_>>().join(", ")
}

impl RoleRequest {
    /// Parses `NAME[:KEY=VALUE,...]`. Whether the options fit a method, [`Self::divide`] finds out.
    ///
    /// # Errors
    /// [`RoleWordsError::NoName`].
    pub fn parse(text: &str) -> Result<Self, RoleWordsError> {
        let (machine, options) = text.split_once(':').unwrap_or((text, ""));
        let machine = machine.trim();
        if machine.is_empty() || machine == "latmon" {
            return Err(RoleWordsError::NoName);
        }
        Ok(Self { machine: machine.into(), options: options.trim().into() })
    }

    /// The method of the target, and that of this machine. Devices, lines and interfaces are those of one machine each; what
    /// belongs to the wire is taken over.
    ///
    /// # Errors
    /// [`RoleWordsError`].
    pub fn divide(&self, method: &MethodRequest) -> Result<(MethodRequest, MethodRequest), RoleWordsError> {
        let no_roles = || RoleWordsError::NoRoles { method: method.name().into() };
        if method.end().is_none() {
            return Err(no_roles());
        }
        let text = format!("{}:{}", method.name(), self.options);
        let role = RunRole::Stimulus;
        let mut target = method.clone();
        let mut stimulus = MethodRequest::parse(&text).map_err(|source| RoleWordsError::Words { role, source })?;
        let divided = MethodOptions::divide(&mut target.options, &mut stimulus.options);
        divided.map_err(|undivided| match undivided {
            Undivided::NoRoles => no_roles(),
            Undivided::RoleGiven { role } => RoleWordsError::RoleGiven { role },
            Undivided::Missing { role, key } => RoleWordsError::Missing { role: of_end(role), key },
        })?;
        Ok((target, stimulus))
    }
}

/// The machine that has this end of the wire.
fn of_end(role: Role) -> RunRole {
    match role {
        Role::Answer => RunRole::Target,
        Role::Both | Role::Stimulus => RunRole::Stimulus,
    }
}

impl fmt::Display for RoleRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.options.is_empty() {
            true => out.write_str(&self.machine),
            false => write!(out, "{}:{}", self.machine, self.options),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(method: &str, stimulus: &str) -> Result<(String, String), String> {
        let request = RoleRequest::parse(stimulus).map_err(|error| error.to_string())?;
        assert_eq!(RoleRequest::parse(&request.to_string()), Ok(request.clone()));
        let methods = request.divide(&MethodRequest::parse(method).unwrap());
        methods.map(|(target, stimulus)| (target.text(), stimulus.text())).map_err(|error| error.to_string())
    }

    #[test]
    fn each_machine_has_its_own_end_of_the_wire() {
        let expected = |target: &str, stimulus: &str| Ok((target.to_owned(), stimulus.to_owned()));
        assert_eq!(
            divided("serial:port=/dev/ttyS1,hops=4,baud=9600", "pc:port=/tmp/uart"),
            expected(
                "serial:baud=9600,hops=4,port=/dev/ttyS1,role=answer",
                "serial:baud=9600,port=/tmp/uart,role=stimulus"
            )
        );
        assert_eq!(
            divided("gpio:in=23,out=21", "pi : in=5,out=6,sample=arrival"),
            expected("gpio:in=23,out=21,role=answer", "gpio:in=5,out=6,role=stimulus,sample=arrival")
        );
        assert_eq!(
            divided("udp:address=192.0.2.7:7700,hops=1", "pc"),
            expected("udp:address=192.0.2.7:7700,hops=1,role=answer", "udp:address=192.0.2.7:7700,role=stimulus")
        );
        assert_eq!(
            divided("udp:address=0.0.0.0:7700", "pc:address=198.51.100.7:7700"),
            expected("udp:address=0.0.0.0:7700,role=answer", "udp:address=198.51.100.7:7700,role=stimulus")
        );
        assert_eq!(divided("parallel", "pc"), expected("parallel:role=answer", "parallel:role=stimulus"));
    }

    #[test]
    fn what_cannot_be_divided_is_refused_with_what_to_write() {
        for (method, stimulus, said) in [
            ("timer", "pc", "udp, serial, ethernet, gpio, parallel"),
            ("storage", "pc", "storage has one machine"),
            ("udp", "pc", "the target machine needs address="),
            ("serial:role=both", "pc", "leave role=both out"),
            ("serial:role=stimulus,port=/dev/ttyS0", "pc", "leave role=stimulus out"),
            ("serial:port=/dev/ttyS0", "pc:role=answer", "leave role=answer out"),
            ("serial:port=/dev/ttyS0", "pc:prot=/dev/ttyS0", "the stimulus machine: serial has no option `prot`"),
            ("ethernet:interface=eth0", "pc", "the stimulus machine needs interface="),
            ("ethernet", "pc:interface=eth0", "the target machine needs interface="),
            ("serial", ":port=/dev/ttyS0", "latmon:ADDRESS"),
            ("serial", "latmon", "latmon:ADDRESS"),
        ] {
            let refused = divided(method, stimulus).unwrap_err();
            assert!(refused.contains(said), "{method} and {stimulus}: {refused}");
        }
    }
}
