//! Uses of a boot other than measuring: recording wake-ups, stopping at an instant, or reading the names of the
//! kernel's functions.

use std::path::{Path, PathBuf};

/// Extension of the file that shows that the machine has stopped.
const STOPPED: &str = "stopped";

/// A plain run uses none of these.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    pub recording: Option<Recording>,
    pub standing: Option<Standing>,
    /// The guest also sends the names of the kernel's functions, which makes it another trajectory.
    pub symbols: bool,
}

/// Settings of the flight recorder. The guest's time is the same with and without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The plugin.
    pub plugin: PathBuf,
    /// Path prefix of the records; the number of the wake-up follows after a dot.
    pub prefix: PathBuf,
    /// Wake-ups to record, counted from 0 as in the file of samples.
    pub wake_ups: Vec<u64>,
}

impl Recording {
    /// The path of a wake-up's record.
    pub fn path(&self, wake_up: u64) -> PathBuf {
        beside(&self.prefix, wake_up)
    }
}

/// Settings for stopping a machine at an instant, with QEMU's debugger interface. The guest's time up to there is the
/// same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The plugin.
    pub plugin: PathBuf,
    /// Socket of the debugger interface.
    pub socket: PathBuf,
    /// Path without extension of the file that shows that it has stopped.
    pub prefix: PathBuf,
    /// Blocks that it executes before.
    pub blocks: u64,
}

impl Standing {
    /// The file is created when the machine stops.
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
    /// Arguments for QEMU.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(recording) = &self.recording {
            let at: String = recording.wake_ups.iter().map(|number| format!(",at={number}")).collect();
            let plugin = format!("{},out={}{at}", value(&recording.plugin), value(&recording.prefix));
            words.extend(["-plugin".into(), plugin]);
        }
        if let Some(standing) = &self.standing {
            let (plugin, prefix) = (value(&standing.plugin), value(&standing.prefix));
            // Nothing is recorded, so the smallest buffer suffices.
            words.extend(["-plugin".into(), format!("{plugin},out={prefix},stop={},blocks=1", standing.blocks)]);
            words.extend(["-gdb".into(), format!("unix:{},server=on,wait=off", value(&standing.socket))]);
        }
        words
    }
}

/// A path inside an option of QEMU, where a comma would start the next part.
pub fn value(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorder_gets_its_wake_ups() {
        let recording = Recording { plugin: "/r.so".into(), prefix: "/tmp/a,b".into(), wake_ups: vec![3, 17] };
        assert_eq!(recording.path(17), PathBuf::from("/tmp/a,b.17"));
        let extras = Extras { recording: Some(recording), ..Extras::default() };
        assert_eq!(extras.words().join(" "), "-plugin /r.so,out=/tmp/a,,b,at=3,at=17");
        assert!(Extras::default().words().is_empty());
    }

    #[test]
    fn a_machine_that_is_to_stand_gets_its_place() {
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
