//! The kernel's tracing file system: its features, its users, and the caller's own instances.
//!
//! Nothing here touches the settings of the top-level buffer or of an instance of another program.

#![allow(clippy::disallowed_methods, reason = "the half of this crate that does I/O")]

mod capabilities;
mod error;
mod file;
mod foreign;
mod instance;
mod metadata;
mod raw_pages;
mod tracer;

use std::path::{Path, PathBuf};

pub use capabilities::Capabilities;
pub use error::{Action, TracefsError};
pub use foreign::{ForeignTracing, Written};
pub use instance::Instance;
pub use raw_pages::RawPages;

/// Usual mount points, the newer one first.
pub const USUAL_ROOTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A mounted tracing file system, or a directory that looks like one.
#[derive(Clone, Debug)]
pub struct Tracefs {
    root: PathBuf,
}

impl Tracefs {
    pub fn at(root: impl Into<PathBuf>) -> Tracefs {
        Tracefs { root: root.into() }
    }

    /// The first of [`USUAL_ROOTS`] where one is mounted and readable.
    pub fn find() -> Result<Tracefs, TracefsError> {
        let [newer, older] = USUAL_ROOTS.map(|root| Tracefs::at(root).check());
        newer.or_else(|error| older.map_err(|_| error))
    }

    /// The same, if a tracing file system is mounted there and readable.
    pub fn check(self) -> Result<Tracefs, TracefsError> {
        match file::read(&self.root.join("trace_clock")) {
            Ok(_) => Ok(self),
            Err(TracefsError::Missing { .. }) => Err(TracefsError::NotMounted { root: self.root }),
            Err(error) => Err(error),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Names of all instances, sorted; empty if there are none or they cannot be listed.
    pub fn instances(&self) -> Vec<String> {
        file::folder_names(&self.root.join("instances"))
    }

    /// Creates a new instance. An existing one with that name is an error: it may belong to another program.
    pub fn create_instance(&self, name: &str) -> Result<Instance, TracefsError> {
        let path = self.instance_path(name)?;
        file::create_folder(&path)?;
        Ok(Instance::new(self.root.clone(), name.to_owned(), path))
    }

    /// Opens an existing instance, as after a crash of the program that created it.
    pub fn open_instance(&self, name: &str) -> Result<Instance, TracefsError> {
        let path = self.instance_path(name)?;
        file::read(&path.join("trace_clock"))?;
        Ok(Instance::new(self.root.clone(), name.to_owned(), path))
    }

    pub fn remove_instance(&self, name: &str) -> Result<(), TracefsError> {
        file::remove_folder(&self.instance_path(name)?)
    }

    fn instance_path(&self, name: &str) -> Result<PathBuf, TracefsError> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Err(TracefsError::InstanceName { name: name.to_owned() });
        }
        Ok(self.root.join("instances").join(name))
    }
}

#[cfg(test)]
mod tests;
