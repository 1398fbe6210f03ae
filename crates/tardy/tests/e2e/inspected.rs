//! A virtual machine whose settings are read in the guest before and after a run.

use crate::measured::measure;
use archive::settings::RunSettings;
use machines::qemu::QemuTarget;
use machines::{Caveat, Command, Output, RunningCommand, Target, TargetError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(120);

/// Contents of files by path; `None` for those that the guest does not have.
pub type Values = BTreeMap<String, Option<String>>;

pub struct Inspected {
    machine: QemuTarget,
    paths: Vec<String>,
    scratch: PathBuf,
    pub before: Option<Values>,
    pub after: Option<Values>,
}

impl Inspected {
    pub fn new(machine: QemuTarget, paths: &[&str], scratch: &Path) -> Self {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        Self { machine, paths, scratch: scratch.join("value"), before: None, after: None }
    }

    /// A run with these settings into this directory, which must succeed. Preparing it may take as long as `patience`.
    pub fn measure(&mut self, settings: RunSettings, directory: PathBuf, patience: Duration) {
        measure(self, settings, directory, patience);
    }

    fn values(&mut self) -> Values {
        let mut values = Values::new();
        for path in &self.paths {
            let fetched = self.machine.fetch_file(Path::new(path), &self.scratch);
            let value = match fetched {
                Ok(()) => Some(std::fs::read_to_string(&self.scratch).unwrap()),
                Err(error) => {
                    assert!(error.to_string().contains("No such file"), "{error}");
                    None
                }
            };
            values.insert(path.clone(), value);
        }
        values
    }

    /// Boots the machine so that its settings can be read.
    fn boot(&mut self) -> Result<(), TargetError> {
        let version = Command { program: "tardy-meter".into(), arguments: vec!["--version".into()] };
        let mut running = self.machine.start(&version)?;
        while matches!(running.read(PATIENCE), Output::Bytes(_)) {}
        assert!(running.wait(PATIENCE).is_some());
        Ok(())
    }
}

impl Target for Inspected {
    fn name(&self) -> &str {
        self.machine.name()
    }

    fn prepare(&mut self) -> Result<(), TargetError> {
        self.machine.prepare()
    }

    fn send_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        self.machine.send_file(from, to)
    }

    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningCommand>, TargetError> {
        if self.before.is_none() {
            self.boot()?;
            self.before = Some(self.values());
        }
        self.machine.start(command)
    }

    fn fetch_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        self.machine.fetch_file(from, to)
    }

    fn slowdown(&self) -> u32 {
        self.machine.slowdown()
    }

    fn console(&self) -> Vec<u8> {
        self.machine.console()
    }

    fn forgets(&self) -> bool {
        self.machine.forgets()
    }

    fn caveat(&self) -> Option<Caveat> {
        self.machine.caveat()
    }

    fn close(&mut self) -> Result<(), TargetError> {
        // The run reports why a machine went down.
        let is_up = self.machine.fetch_file(Path::new("/proc/version"), &self.scratch).is_ok();
        self.after = is_up.then(|| self.values());
        self.machine.close()
    }
}
