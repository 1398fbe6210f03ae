//! What a boot is used for beside measuring: to record wake-ups, or to learn the names of the kernel's functions.

use super::arguments::value;
use std::path::PathBuf;

/// Nothing of it is asked for by a run.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    pub recording: Option<Recording>,
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
        let mut name = self.prefix.clone().into_os_string();
        name.push(format!(".{wake_up}"));
        name.into()
    }
}

impl Extras {
    /// Words for QEMU.
    pub fn words(&self) -> Vec<String> {
        let Some(recording) = &self.recording else { return Vec::new() };
        let at: String = recording.wake_ups.iter().map(|number| format!(",at={number}")).collect();
        let plugin = format!("{},out={}{at}", value(&recording.plugin), value(&recording.prefix));
        ["-plugin".into(), plugin].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorder_is_told_its_wake_ups() {
        let recording = Recording { plugin: "/r.so".into(), prefix: "/tmp/a,b".into(), wake_ups: vec![3, 17] };
        assert_eq!(recording.path(17), PathBuf::from("/tmp/a,b.17"));
        let extras = Extras { recording: Some(recording), symbols: false };
        assert_eq!(extras.words().join(" "), "-plugin /r.so,out=/tmp/a,,b,at=3,at=17");
        assert!(Extras::default().words().is_empty());
    }
}
