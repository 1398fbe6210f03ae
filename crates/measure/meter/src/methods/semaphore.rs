//! `semaphore`: from a post until the waiting thread runs. svsematest's method, and the same with POSIX semaphores.

use super::error::MethodError;
use super::stimulus::{self, PartnerPlace, Post, Receive, Received, Requested};
use super::{MeasuringMethod, Site, Station};
use crate::journal::{Entry, Journal};
use crate::kernel::semaphore::{PosixSemaphore, SysvSemaphore};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, MethodRequest};
use std::io;
use std::path::Path;
use std::sync::Arc;

pub struct Semaphore;

impl Post for PosixSemaphore {
    fn post(&self) {
        PosixSemaphore::post(self);
    }
}

impl Receive for Arc<PosixSemaphore> {
    #[inline]
    fn receive(&mut self) -> Received {
        if self.wait() { Received::Stimulus } else { Received::Broken }
    }
}

impl Post for SysvSemaphore {
    fn post(&self) {
        SysvSemaphore::post(self);
    }
}

impl Receive for Arc<SysvSemaphore> {
    #[inline]
    fn receive(&mut self) -> Received {
        if self.wait() { Received::Stimulus } else { Received::Broken }
    }
}

fn is_sysv(request: &MethodRequest) -> bool {
    request.value("kind") == Some("sysv")
}

fn refused(source: io::Error) -> MethodError {
    MethodError::Refused { method: Method::Semaphore, action: "make a semaphore", source }
}

fn stations<S>(site: &Site, mut semaphore: impl FnMut() -> Result<S, MethodError>) -> Result<Vec<Station>, MethodError>
where
    S: Post + 'static,
    Arc<S>: Receive,
{
    let mut stations = Vec::new();
    for cpu in site.measured {
        let stimulus = Arc::new(semaphore()?);
        stations.push(if stimulus::requests(site.request()) {
            let request = Arc::new(semaphore()?);
            stimulus::requested_station(site, *cpu, Requested::by(stimulus, request))
        } else {
            stimulus::station(*cpu, PartnerPlace::of(site, *cpu), stimulus.clone(), stimulus)
        });
    }
    Ok(stations)
}

impl MeasuringMethod for Semaphore {
    fn obstacles(&self, root: &Path, request: Option<&MethodRequest>) -> Vec<Obstacle> {
        if !request.is_some_and(is_sysv) || root.join("proc/sysvipc/sem").exists() {
            return Vec::new();
        }
        vec![Obstacle {
            kind: ObstacleKind::Kernel,
            text: "the kernel has no System V semaphores (CONFIG_SYSVIPC)".into(),
            fix: "use kind=posix".into(),
        }]
    }

    fn open(&self, site: &Site, journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        if is_sysv(site.request()) {
            stations(site, || {
                let key = SysvSemaphore::unused_key().map_err(refused)?;
                journal.note(Entry::SysvSemaphore { key })?;
                SysvSemaphore::create(key).map_err(refused)
            })
        } else {
            stations(site, || PosixSemaphore::new().map_err(refused))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_system_v_is_named_only_for_that_kind() {
        let root = tempfile::tempdir().unwrap();
        let sysv = MethodRequest::parse("semaphore:kind=sysv").unwrap();
        let posix = MethodRequest::parse("semaphore").unwrap();
        assert!(Semaphore.obstacles(root.path(), Some(&posix)).is_empty());
        let obstacles = Semaphore.obstacles(root.path(), Some(&sysv));
        assert_eq!(obstacles.len(), 1);
        assert!(obstacles[0].text.contains("CONFIG_SYSVIPC"));
    }
}
