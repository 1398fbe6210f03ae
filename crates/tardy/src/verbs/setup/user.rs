//! The user of a setup.

use crate::exit::UsageError;
use rustix::process::geteuid;
use std::env;
use std::process::{Command, Stdio};

const ROOT: &str = "root measures without a setup";

#[derive(Debug)]
pub struct User {
    pub name: String,
    pub uid: u32,
}

/// The named user, or the one who runs tardy, also through sudo.
///
/// # Errors
/// [`UsageError`] of a user who does not exist, and of root.
pub fn named_or_own(named: Option<&str>) -> Result<User, UsageError> {
    let name = named.map(str::to_owned).or_else(own).ok_or_else(|| unnamed(ROOT))?;
    // It knows users of every directory service.
    let uid = id(&["-u", "--", &name]).and_then(|text| text.parse().ok());
    match uid {
        None => Err(UsageError(format!("this machine has no user {name}; `getent passwd` lists its users"))),
        Some(0) => Err(unnamed(ROOT)),
        Some(uid) => Ok(User { name, uid }),
    }
}

fn own() -> Option<String> {
    if geteuid().is_root() { env::var("SUDO_USER").ok().filter(|name| !name.is_empty()) } else { id(&["-un"]) }
}

fn unnamed(why: &str) -> UsageError {
    UsageError(format!("{why}: name the user who is to measure with --user"))
}

fn id(arguments: &[&str]) -> Option<String> {
    let output = Command::new("id").args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_unknown_users_are_refused_with_the_fix() {
        let refused = |name| named_or_own(Some(name)).unwrap_err().to_string();
        assert!(refused("root").contains("--user"));
        assert!(refused("no such user").contains("getent passwd"));
        assert!(refused("-u").contains("getent passwd"));
    }
}
