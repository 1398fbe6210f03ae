//! The group whose members measure.

use crate::journal::setup::places::{GROUP_SHADOWS, GROUPS};
use archive::setup::{GROUP, SetupChange};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Numbers of groups of the system, in the order in which Debian assigns them.
const SYSTEM_GIDS: std::ops::RangeInclusive<u32> = 100..=999;

#[derive(Debug, Error)]
#[error(
    "the group {GROUP} has other members ({members}), who would get the same access; `tardy setup --undo` reverts the setup \
     for another user, `gpasswd -d USER {GROUP}` removes a member"
)]
pub struct ForeignMembers {
    members: String,
}

/// The group as it is to be.
#[derive(Debug)]
pub struct Group {
    pub gid: u32,
    pub changes: Vec<SetupChange>,
}

/// The group with this user as its only member. A file that cannot be read has no groups.
///
/// # Errors
/// [`ForeignMembers`].
pub fn planned(root: &Path, user: &str) -> Result<Group, ForeignMembers> {
    let groups = text(root, GROUPS).unwrap_or_default();
    let found = line_of(&groups);
    let members = found.and_then(|line| line.rsplit(':').next()).unwrap_or_default();
    if members.split(',').any(|member| !member.is_empty() && member != user) {
        return Err(ForeignMembers { members: members.into() });
    }
    let gid = found.and_then(|line| line.split(':').nth(2)?.parse().ok()).unwrap_or_else(|| free_gid(&groups));
    let mut changes = Vec::new();
    changes.extend(with_member(GROUPS, found, &format!("{GROUP}:x:{gid}:"), user));
    if let Ok(shadows) = text(root, GROUP_SHADOWS) {
        changes.extend(with_member(GROUP_SHADOWS, line_of(&shadows), &format!("{GROUP}:!::"), user));
    }
    Ok(Group { gid, changes })
}

fn text(root: &Path, path: &str) -> io::Result<String> {
    fs::read_to_string(root.join(path.trim_start_matches('/')))
}

fn line_of(text: &str) -> Option<&str> {
    text.lines().find(|line| line.split(':').next() == Some(GROUP))
}

fn with_member(path: &str, found: Option<&str>, new: &str, user: &str) -> Option<SetupChange> {
    let line = found.unwrap_or(new);
    let is_member = line.rsplit(':').next() == Some(user);
    let after = format!("{line}{user}");
    (!is_member).then(|| SetupChange::Line { path: path.into(), before: found.map(str::to_owned), after })
}

fn free_gid(groups: &str) -> u32 {
    let taken: BTreeSet<u32> = groups.lines().filter_map(|line| line.split(':').nth(2)?.parse().ok()).collect();
    SYSTEM_GIDS.rev().find(|gid| !taken.contains(gid)).unwrap_or(*SYSTEM_GIDS.start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(groups: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/group"), groups).unwrap();
        root
    }

    #[test]
    fn a_new_group_has_the_highest_free_number() {
        let group = planned(machine("root:x:0:\nused:x:999:\n").path(), "me").unwrap();
        assert_eq!(group.gid, 998);
        let line = SetupChange::Line { path: GROUPS.into(), before: None, after: "tardy:x:998:me".into() };
        assert_eq!(group.changes, [line]);
    }

    #[test]
    fn a_group_with_the_user_stays() {
        assert_eq!(planned(machine("tardy:x:200:me\n").path(), "me").unwrap().changes, []);
        let empty = planned(machine("tardy:x:200:\n").path(), "me").unwrap();
        assert!(matches!(&empty.changes[..], [SetupChange::Line { before: Some(_), .. }]), "{empty:?}");
    }

    #[test]
    fn nobody_else_gets_access() {
        let error = planned(machine("tardy:x:200:me,you\n").path(), "me").unwrap_err().to_string();
        assert!(error.contains("me,you") && error.contains("--undo"), "{error}");
    }
}
