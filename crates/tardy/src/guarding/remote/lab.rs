//! Archives with misses to the server of a lab, once each has ended. The server has no place for single accounts.

use super::super::delivery::{Logged, Output};
use super::super::ring;
use super::{Place, Settings, refused};
use crate::lab::push::address::ServerAddress;
use crate::lab::push::{self, Failure as PushFailure};
use alerts::{Failure, Secret, SecretPlace};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;
use tls::Roots;

/// The table `[lab]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabSettings {
    /// `https://HOST`, as for `tardy lab store push`.
    server: String,
    /// With the role run.
    token: Option<SecretPlace>,
    /// Certificates of authorities, instead of the system's.
    ca_file: Option<PathBuf>,
}

/// The server.
pub struct LabOutput {
    server: ServerAddress,
    token: Option<Secret>,
    roots: Roots,
    ring: PathBuf,
}

impl Settings for LabSettings {
    type Opened = LabOutput;

    fn open(self, place: &Place<'_>) -> Result<LabOutput, String> {
        let server = ServerAddress::parse(&self.server).map_err(|error| error.to_string())?;
        let token = self.token.map(|token| token.read(place.folder)).transpose().map_err(|error| error.to_string())?;
        if token.is_some() && server.is_open() {
            return Err("the token would travel in clear; write https:// in `server`".into());
        }
        let roots = Roots::from(self.ca_file.map(|file| place.folder.join(file)));
        Ok(LabOutput { server, token, roots, ring: place.ring.to_owned() })
    }
}

impl Output for LabOutput {
    const NAME: &'static str = "lab";
    const KINDS: &'static [&'static str] = &["archived"];
    /// The server may be busy, and the line slow.
    const ATTEMPT: Duration = Duration::from_secs(1800);

    async fn deliver(&mut self, entry: &Logged) -> Result<(), Failure> {
        let archive = ring::session(&self.ring, &entry.session);
        let Some(archive) = archive.filter(|archive| archive.exists()) else {
            return Err(refused(format!("the archive {} is not in the ring any more", entry.session)));
        };
        let token = self.token.as_ref().map(Secret::shown);
        match push::send(&archive, &self.server, token, &self.roots).await {
            Ok(_) => Ok(()),
            Err(PushFailure::ThisArchive(because)) => Err(refused(because)),
            Err(PushFailure::Line(because) | PushFailure::EveryArchive(because)) => Err(Failure::of(because)),
        }
    }
}
