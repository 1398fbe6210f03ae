//! A virtual machine in which commands run before the measurement: they make devices, or go on beside it.

use crate::measured::measure;
use archive::settings::RunSettings;
use machines::qemu::QemuTarget;
use machines::{Caveat, Command, Exit, Output, RunningCommand, Target, TargetError};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(180);

pub struct Prepared {
    machine: QemuTarget,
    /// Static programs and their places in the machine.
    pub programs: Vec<(PathBuf, String)>,
    /// Still to run, in this order.
    pub commands: Vec<Vec<String>>,
}

impl Prepared {
    pub fn new(machine: QemuTarget) -> Self {
        Self { machine, programs: Vec::new(), commands: Vec::new() }
    }

    /// A run with these settings into this directory, which must succeed.
    pub fn measure(&mut self, settings: RunSettings, directory: PathBuf) {
        measure(self, settings, directory, PATIENCE);
    }

    fn run(&mut self, words: &[String]) -> Result<(), TargetError> {
        // The machine's only program is the meter, which becomes another one.
        let arguments = ["end-with-meter".to_owned()].into_iter().chain(words.iter().cloned()).collect();
        let command = Command { program: "tardy-meter".into(), arguments };
        let mut running = self.machine.start(&command)?;
        while matches!(running.read(PATIENCE), Output::Bytes(_)) {}
        let exit = running.wait(PATIENCE);
        assert_eq!(exit, Some(Exit::Code(0)), "{words:?}: {:?}", running.diagnostics());
        Ok(())
    }
}

impl Target for Prepared {
    fn name(&self) -> &str {
        self.machine.name()
    }

    fn prepare(&mut self) -> Result<(), TargetError> {
        self.machine.prepare()?;
        self.programs.iter().try_for_each(|(from, to)| self.machine.send_file(from, Path::new(to)))
    }

    fn send_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        self.machine.send_file(from, to)
    }

    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningCommand>, TargetError> {
        for words in std::mem::take(&mut self.commands) {
            self.run(&words)?;
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
        self.machine.close()
    }
}
