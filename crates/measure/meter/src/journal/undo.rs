//! Undoes changes, last first, each with a time limit: a change that hangs in the kernel does not block the others.

use super::entry::Entry;
use super::setting_roots::SettingRoots;
use super::undo_error::UndoError;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time after which a step is reported, and given up.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    pub slow: Duration,
    pub hung: Duration,
}

/// Together they are below the silence after which a host assumes that a meter has ended.
pub const PATIENCE: Patience = Patience { slow: Duration::from_secs(2), hung: Duration::from_secs(30) };

/// One change and the result of undoing it: whether there was anything to undo, or what is still wrong.
pub type Undone = (Entry, Result<bool, UndoError>);

/// Undoes changes that were made in this order. `slow` is called for each step that takes long.
pub fn undo_all(
    entries: Vec<Entry>,
    roots: &SettingRoots,
    patience: Patience,
    slow: &mut dyn FnMut(&Entry),
) -> Vec<Undone> {
    let mut hung = false;
    let steps = entries.into_iter().rev().map(|entry| {
        let (step, roots) = (entry.clone(), roots.clone());
        // What blocks one step may block others as well.
        let left = if hung { patience.slow } else { patience.hung.saturating_sub(patience.slow) };
        let result = within(patience.slow, left, move || step.undo(&roots), || slow(&entry));
        let result = result.unwrap_or_else(|| {
            hung = true;
            Err(UndoError::Hangs { what: entry.describe(), seconds: (patience.slow + left).as_secs() })
        });
        (entry, result)
    });
    steps.collect()
}

/// The result of a step, if it ends within both times; `slow` is called after the first of them. A step that is given
/// up continues in its thread, for which nothing waits.
fn within<T: Send + 'static>(
    first: Duration,
    second: Duration,
    step: impl FnOnce() -> T + Send + 'static,
    slow: impl FnOnce(),
) -> Option<T> {
    let (output, answer) = channel();
    let started = thread::Builder::new().name("tardy:restore".into()).spawn(move || drop(output.send(step())));
    if started.is_err() {
        return None;
    }
    match answer.recv_timeout(first) {
        Err(RecvTimeoutError::Timeout) => {
            slow();
            answer.recv_timeout(second).ok()
        }
        answered => answered.ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn a_step_that_hangs_is_reported_and_given_up() {
        let (release, held) = channel::<()>();
        let mut slow = 0;
        assert_eq!(within(SHORT, SHORT, move || held.recv().is_ok(), || slow += 1), None);
        assert_eq!(slow, 1);
        drop(release);
        assert_eq!(within(Duration::from_secs(60), SHORT, || 7, || slow += 1), Some(7));
        assert_eq!(slow, 1);
        assert_eq!(within(SHORT, SHORT, || -> u8 { panic!("of the test") }, || slow += 1), None);
    }

    #[test]
    fn a_step_that_hangs_does_not_stop_the_others() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        std::fs::write(path("setting"), "2").unwrap();
        // Reading a pipe without a writer never returns.
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path("hangs"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let entry =
            |name: &str| Entry::Setting { path: path(name), before: "1".into(), after: "2".into(), intended: false };
        let mut slow = Vec::new();
        let patience = Patience { slow: Duration::from_millis(300), hung: Duration::from_millis(600) };
        let undone = undo_all(
            vec![entry("setting"), entry("hangs")],
            &SettingRoots::below(root.path()),
            patience,
            &mut |entry| {
                slow.push(entry.describe());
            },
        );
        assert!(matches!(&undone[..], [(_, Err(UndoError::Hangs { .. })), (_, Ok(true))]), "{undone:?}");
        assert_eq!(std::fs::read_to_string(path("setting")).unwrap(), "1\n");
        assert!(slow.len() == 1 && slow[0].contains("hangs"), "{slow:?}");
    }
}
