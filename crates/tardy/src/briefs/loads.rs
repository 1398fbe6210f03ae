//! The loads that can run during a measurement.

use crate::exit::UsageError;
use account::brief::BRIEF_VERSION;
use account::brief::fitted::{Shrink, fitted};
use archive::load::{BUILTIN_LOADS, BuiltinLoad, LoadWordsError, PROGRAM_LOADS, ProgramLoad, builtin, program};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct BriefLoads {
    brief_version: u32,
    /// Built into the meter.
    builtin: Vec<&'static str>,
    /// Programs that the target must have.
    programs: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<BriefLoad>,
}

/// Everything about the one that is asked for.
#[derive(Debug, Serialize)]
struct BriefLoad {
    name: &'static str,
    what: &'static str,
    /// The unit of its progress.
    unit: &'static str,
    needs: &'static str,
    /// As `run --load` takes it.
    example: String,
}

/// The names of all loads, or everything about one.
///
/// # Errors
/// If the load does not exist.
pub fn loads(name: Option<&str>) -> Result<BriefLoads, UsageError> {
    let (builtin, programs) = match name {
        Some(_) => (Vec::new(), Vec::new()),
        None => (names(BUILTIN_LOADS.iter().map(|load| load.name)), names(PROGRAM_LOADS.iter().map(|load| load.name))),
    };
    let load = name.map(|name| found(name).ok_or_else(|| unknown(name))).transpose()?;
    Ok(fitted(BriefLoads { brief_version: BRIEF_VERSION, builtin, programs, load }))
}

/// The refusal of a load that does not exist.
pub fn unknown(name: &str) -> UsageError {
    UsageError(LoadWordsError::Unknown { name: name.into() }.to_string())
}

fn names(all: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    all.collect()
}

fn found(name: &str) -> Option<BriefLoad> {
    builtin(name).map(of_builtin).or_else(|| program(name).map(of_program))
}

fn of_builtin(load: &BuiltinLoad) -> BriefLoad {
    let example = format!("{}:4", load.name);
    BriefLoad { name: load.name, what: load.what, unit: load.unit, needs: load.needs, example }
}

fn of_program(load: &ProgramLoad) -> BriefLoad {
    BriefLoad { name: load.name, what: load.what, unit: load.unit, needs: load.fix, example: load.example.into() }
}

impl Shrink for BriefLoads {
    fn shrink(&mut self) -> bool {
        self.programs.pop().or_else(|| self.builtin.pop()).is_some()
    }
}
