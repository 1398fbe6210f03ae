//! The resources that all calls of a session share.

use super::directories::Directories;
use super::parameter::{Given, Parameter};
use super::temporary::Temporary;
use account::{Account, ExplanationSource};
use archive::reader::Run;
use std::sync::atomic::AtomicBool;

/// A run, for every tool that takes one.
pub const RUN: Parameter =
    Parameter::text("run", "Archive as `list_runs` names it, an id below the directories, or `latest`").required();

#[derive(Debug)]
pub struct Context {
    pub directories: Directories,
    /// Whether the user allowed measurements.
    pub may_measure: bool,
    pub temporary: Temporary,
    /// A measurement in progress must end.
    pub must_stop: AtomicBool,
}

impl Context {
    pub fn new(directories: Directories, may_measure: bool) -> Self {
        Self { directories, may_measure, temporary: Temporary::of_process(), must_stop: AtomicBool::new(false) }
    }

    /// The archive that an argument names.
    ///
    /// # Errors
    /// If it may not be opened, or is no archive.
    pub fn run(&self, given: &Given, parameter: &Parameter) -> anyhow::Result<Run> {
        Ok(Run::open(self.directories.resolve(given.required_text(parameter)?)?)?)
    }

    /// The account of [`RUN`], explained from its traces.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn account(&self, given: &Given) -> anyhow::Result<Account> {
        Ok(Account::of(self.run(given, &RUN)?, ExplanationSource::Traces))
    }
}
