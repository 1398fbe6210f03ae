//! The options about the load, of every verb that measures.

use super::declared::{key, no_key, options};
use archive::settings::{LoadRequest, RunSettings};
use runner::plan::options::Place::Measurement;

options! {
    pub struct LoadArguments, "Load" {
        /// Run a load during the measurement: a built-in one with its number of workers, like dentry:4, or a program on the
        /// target, like stress-ng:matrix,ops=1000,cpus=0-1; `tardy list loads` lists them
        #[arg(long = "load", value_name = "NAME[:WORKERS]", value_parser = LoadRequest::parse)]
        pub(super) loads: Vec<LoadRequest> => Common, no_key("`loads`, above the sections, has the loads");
        /// Run a shell command as a load during the measurement; whenever it ends with success, start it again
        #[arg(long = "load-cmd", value_name = "COMMAND")]
        pub(super) load_commands: Vec<String> => Common, no_key("`loads`, above the sections, has the loads, with a `command`");
        /// Run a shell command as a load once; it may end before the measurement does
        #[arg(long = "load-once", value_name = "COMMAND")]
        load_once: Vec<String> => Rare, no_key("the loads of a plan last as long as the measurement");
        /// Measure to the end although a load died
        #[arg(long)]
        keep_going: bool => Rare, key(Measurement);
    }
}

impl LoadArguments {
    pub fn apply(&self, settings: &mut RunSettings) {
        let command = |once| move |line: &String| LoadRequest::Command { line: line.clone(), once };
        let commands = self.load_commands.iter().map(command(false)).chain(self.load_once.iter().map(command(true)));
        settings.keep_going = self.keep_going;
        settings.loads = self.loads.iter().cloned().chain(commands).collect();
    }
}
