//! The changes that a setup makes to the machine, and their reversal. All of them outlive the kernel, or are made again at boot.

pub mod access;
mod fault;
mod file;
mod line;
pub mod places;
pub mod program;
mod trace_mount;

use super::undo_error::UndoError;
use archive::setup::SetupChange;
use fault::Fault;
use std::io;

/// Makes the change.
///
/// # Errors
/// Errors of the kernel; the change may be half made.
pub fn make(change: &SetupChange) -> io::Result<()> {
    match change {
        SetupChange::Line { path, before, after } => line::replace(path, before.as_deref(), Some(after)).map(drop),
        SetupChange::Directory { path } => file::make_directory(path),
        SetupChange::File { path, text } => file::create(path, text),
        SetupChange::Program { path, access, capabilities } => program::install(path, *access, capabilities),
        SetupChange::Access { path, after, .. } => access::write(path, *after),
        SetupChange::TraceMount { path, after, .. } => trace_mount::reconfigure(path, *after),
    }
}

/// Undoes the change; undoing it twice is harmless. Returns whether there was anything left to undo.
///
/// # Errors
/// The remaining fault, and how to fix it.
pub fn undo(change: &SetupChange) -> Result<bool, UndoError> {
    let path = change.path();
    if !places::may_have(change) {
        return Err(UndoError::NotOfSetup { path: path.to_owned() });
    }
    let undone = match change {
        SetupChange::Line { before, after, .. } => line::undo(path, before.as_deref(), after),
        SetupChange::Directory { .. } => Ok(file::remove_directory(path)),
        SetupChange::File { text, .. } => file::undo(path, text),
        SetupChange::Program { .. } => file::remove(path).map_err(Fault::Io),
        SetupChange::Access { before, after, .. } => access::undo(path, *before, *after),
        SetupChange::TraceMount { before, after, others, .. } => trace_mount::undo(path, *before, *after, others),
    };
    undone.map_err(|fault| fault.at(path))
}

/// Description of the undone change.
pub fn describe(change: &SetupChange) -> String {
    let path = change.path().display();
    match change {
        SetupChange::Line { before: None, after, .. } => format!("line {after} of {path} removed"),
        SetupChange::Line { before: Some(before), .. } => format!("line {before} of {path}"),
        SetupChange::Directory { .. } | SetupChange::File { .. } | SetupChange::Program { .. } => {
            format!("{path} removed")
        }
        SetupChange::Access { .. } => format!("owner, group and mode of {path}"),
        SetupChange::TraceMount { .. } => format!("group and mode of the trace file system at {path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::setup::Access;
    use std::collections::BTreeMap;
    use std::path::Path;

    #[test]
    fn a_setup_is_undone_in_its_own_files_alone() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("file");
        std::fs::write(&path, "text").unwrap();
        let access = Access { uid: 0, gid: 0, mode: 0 };
        let through = |name: &str| Path::new(name).parent().unwrap().join("..").join(path.strip_prefix("/").unwrap());
        for path in [path.clone(), through("/etc/group"), "/etc/passwd".into(), "/etc".into(), "/dev/mem".into()] {
            let changes = [
                SetupChange::Line { path: path.clone(), before: None, after: "root".into() },
                SetupChange::File { path: path.clone(), text: "text".into() },
                SetupChange::Program { path: path.clone(), access, capabilities: Vec::new() },
                SetupChange::Access { path: path.clone(), before: access, after: access },
                SetupChange::TraceMount { path, before: access, after: access, others: BTreeMap::new() },
            ];
            for change in changes {
                assert!(matches!(undo(&change), Err(UndoError::NotOfSetup { .. })), "{change:?}");
            }
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
    }
}
