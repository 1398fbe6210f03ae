//! The setup of a machine for one user: its steps, its changes, and what still takes root.

use archive::setup::{Access, Capability, GROUP, Hindrance, SetupChange};

/// Actions that a setup does not permit, each with its reason.
pub const STILL_ROOT: [(&str, &str); 4] = [
    ("run --set, check --apply", "a kernel setting changes the machine for every user"),
    ("methods with a device", "its owner gives access: `tardy list methods NAME` names the device"),
    ("programs of other users", "the kernel shows their memory and files to their owner and to root"),
    ("the global trace", "its files stay read-only for the group: a run records into an instance of its own"),
];

/// A change, as a line.
pub fn change(change: &SetupChange) -> String {
    let path = change.path().display();
    match change {
        SetupChange::Line { before: None, after, .. } => format!("add to {path}: {after}"),
        SetupChange::Line { before: Some(before), after, .. } => format!("replace in {path}: {before} by {after}"),
        SetupChange::Directory { .. } => format!("create {path}"),
        SetupChange::File { text, .. } => format!("write {path}: {}", settings(text)),
        SetupChange::Program { access, capabilities, .. } => {
            format!("install {path}: {}, {}", self::access(access), capability_names(capabilities))
        }
        SetupChange::Access { before, after, .. } => format!("{path}: {} to {}", access(before), access(after)),
        SetupChange::TraceMount { after: Access { gid, mode, .. }, .. } => {
            format!("mount -o remount,gid={gid},mode={mode:04o} {path}")
        }
    }
}

/// The reason why a step cannot be made, and the fix.
pub fn hindrance(hindrance: &Hindrance) -> String {
    match hindrance {
        Hindrance::ForeignFile { path } => {
            format!("{} has another text; undo the earlier setup, or move the file away", path.display())
        }
        Hindrance::Missing { path } => format!("this machine has no {}", path.display()),
        Hindrance::Hidden { path } => format!("unknown: only root can see {}", path.display()),
        Hindrance::NoCapabilities { path } => {
            format!("the file system of {} is mounted nosuid, which disables capabilities", path.display())
        }
        Hindrance::NoSystemd => {
            "this machine runs without systemd: run `sudo tardy setup --apply` again after each boot".into()
        }
    }
}

/// The next action of a user who was given access.
pub fn sign_in(user: &str) -> String {
    format!("The group is active in new sessions: log in again as {user}, or run `newgrp {GROUP}`, then `tardy check`.")
}

fn access(access: &Access) -> String {
    format!("{}:{} {:04o}", access.uid, access.gid, access.mode)
}

/// The lines of a file without comments.
fn settings(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("; ")
}

fn capability_names(capabilities: &[Capability]) -> String {
    let name = |capability: &Capability| match capability {
        Capability::IpcLock => "cap_ipc_lock",
        Capability::SysNice => "cap_sys_nice",
        Capability::Perfmon => "cap_perfmon",
    };
    let names: Vec<&str> = capabilities.iter().map(name).collect();
    if names.is_empty() { "no capability".into() } else { names.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_names_the_file_and_the_access() {
        let access = |gid, mode| Access { uid: 0, gid, mode };
        let device = SetupChange::Access { path: "/dev/x".into(), before: access(0, 0o600), after: access(9, 0o660) };
        assert_eq!(change(&device), "/dev/x: 0:0 0600 to 0:9 0660");
        let capabilities = vec![Capability::IpcLock, Capability::SysNice];
        let meter = SetupChange::Program { path: "/m".into(), access: access(9, 0o750), capabilities };
        assert_eq!(change(&meter), "install /m: 0:9 0750, cap_ipc_lock cap_sys_nice");
        let limits = SetupChange::File { path: "/l".into(), text: "# why\n@tardy - rtprio 95\n".into() };
        assert_eq!(change(&limits), "write /l: @tardy - rtprio 95");
    }
}
