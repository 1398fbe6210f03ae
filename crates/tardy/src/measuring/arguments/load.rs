//! The options of `tardy run` and `tardy watch` about the load.

use archive::settings::LoadRequest;
use clap::Args;

#[derive(Debug, Args)]
pub struct LoadArguments {
    /// Run a load during the measurement: a built-in one with its number of workers, like dentry:4, or a program on the
    /// target, like stress-ng:matrix,ops=1000,cpus=0-1; `tardy load list` lists them
    #[arg(long = "load", value_name = "NAME[:WORKERS]", value_parser = LoadRequest::parse, help_heading = "Load")]
    pub(super) loads: Vec<LoadRequest>,
    /// Run a shell command as a load during the measurement; whenever it ends with success, start it again
    #[arg(long = "load-cmd", value_name = "COMMAND", help_heading = "Load")]
    pub(super) load_commands: Vec<String>,
    /// Run a shell command as a load once; it may end before the measurement does
    #[arg(long = "load-once", value_name = "COMMAND", help_heading = "Load")]
    load_once: Vec<String>,
}

impl LoadArguments {
    pub fn requests(&self) -> Vec<LoadRequest> {
        let command = |once| move |line: &String| LoadRequest::Command { line: line.clone(), once };
        let commands = self.load_commands.iter().map(command(false)).chain(self.load_once.iter().map(command(true)));
        self.loads.iter().cloned().chain(commands).collect()
    }
}
