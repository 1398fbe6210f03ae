//! What a boot is used for beside measuring: to record wake-ups, to stand still at an instant, or to learn the names of the
//! kernel's functions.

use super::arguments::value;
use std::path::{Path, PathBuf};

/// Ending of the file that says that the machine stands.
const STOPPED: &str = "stopped";

/// Nothing of it is asked for by a run.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    pub recording: Option<Recording>,
    pub standing: Option<Standing>,
    /// The guest sends the names of the kernel's functions, too, which makes it another trajectory.
    pub symbols: bool,
}

/// What the flight recorder is asked for. The guest's time is the same with and without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The plugin.
    pub plugin: PathBuf,
    /// Records are written to files of this name with the number of their wake-up behind a dot.
    pub prefix: PathBuf,
    /// Wake-ups to record, counted from 0 as in the file of samples.
    pub wake_ups: Vec<u64>,
}

impl Recording {
    /// Where the record of a wake-up is.
    pub fn path(&self, wake_up: u64) -> PathBuf {
        beside(&self.prefix, wake_up)
    }
}

/// A machine that is to stand still at an instant, with QEMU's debugger interface. The guest's time up to there is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The plugin.
    pub plugin: PathBuf,
    /// Socket of the debugger's interface.
    pub socket: PathBuf,
    /// Name of the file that says that it stands, but for its ending.
    pub prefix: PathBuf,
    /// Blocks it executes before.
    pub blocks: u64,
}

impl Standing {
    /// Made when the machine stands.
    pub fn stopped(&self) -> PathBuf {
        beside(&self.prefix, STOPPED)
    }
}

fn beside(prefix: &Path, ending: impl std::fmt::Display) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    name.into()
}

impl Extras {
    /// Words for QEMU.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(recording) = &self.recording {
            let at: String = recording.wake_ups.iter().map(|number| format!(",at={number}")).collect();
            let plugin = format!("{},out={}{at}", value(&recording.plugin), value(&recording.prefix));
            words.extend(["-plugin".into(), plugin]);
        }
        if let Some(standing) = &self.standing {
            let (plugin, prefix) = (value(&standing.plugin), value(&standing.prefix));
            // Nothing is recorded, so the least is remembered.
            words.extend(["-plugin".into(), format!("{plugin},out={prefix},stop={},blocks=1", standing.blocks)]);
            words.extend(["-gdb".into(), format!("unix:{},server=on,wait=off", value(&standing.socket))]);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorder_is_told_its_wake_ups() {
        let recording = Recording { plugin: "/r.so".into(), prefix: "/tmp/a,b".into(), wake_ups: vec![3, 17] };
        assert_eq!(recording.path(17), PathBuf::from("/tmp/a,b.17"));
        let extras = Extras { recording: Some(recording), ..Extras::default() };
        assert_eq!(extras.words().join(" "), "-plugin /r.so,out=/tmp/a,,b,at=3,at=17");
        assert!(Extras::default().words().is_empty());
    }

    #[test]
    fn a_machine_that_is_to_stand_is_told_where() {
        let standing =
            Standing { plugin: "/r.so".into(), socket: "/tmp/gdb".into(), prefix: "/tmp/at".into(), blocks: 90210 };
        assert_eq!(standing.stopped(), PathBuf::from("/tmp/at.stopped"));
        let extras = Extras { standing: Some(standing), ..Extras::default() };
        assert_eq!(
            extras.words().join(" "),
            "-plugin /r.so,out=/tmp/at,stop=90210,blocks=1 -gdb unix:/tmp/gdb,server=on,wait=off"
        );
    }
}
