//! The directory of archives, and whether it has what the index says.

use super::Finding;
use crate::Store;
use crate::error::StoreError;
use archive::reader::ArchiveState;
use rustix::fs::{Access, access, statfs};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A run with raw traces takes some megabytes.
const FREE_MIN_BYTES: u64 = 1 << 30;
/// File systems of other hosts, as `statfs` numbers them: NFS, SMB, SMB 2. SQLite's journal needs memory that all its users share.
const OF_OTHER_HOSTS: [u64; 3] = [0x6969, 0xff53_4d42, 0xfe53_4d42];
/// Names that a sentence lists.
const NAMED: usize = 3;

impl Store {
    pub(super) async fn archive_health(
        &self,
        archives: &[PathBuf],
        index: &str,
    ) -> Result<(u64, Vec<Finding>), StoreError> {
        let rows: Vec<(String, String)> = sqlx::query_as("SELECT location, digest FROM runs ORDER BY location")
            .fetch_all(self.database.pool())
            .await?;
        let of_objects = self.object_health(rows.iter().map(|(_, digest)| digest), index).await;
        let (store, archives, options) = (self.clone(), archives.to_vec(), index.to_owned());
        let looked = tokio::task::spawn_blocking(move || {
            let known: BTreeSet<String> = rows.into_iter().map(|(location, _)| location).collect();
            let mut findings = store.directory_health();
            // With an object store the directory has copies alone.
            if store.objects.is_none() {
                findings.extend(store.missing(&known, &options));
            }
            findings.extend(store.unknown(&known, &archives, &options));
            (free_bytes(store.archives()), findings)
        });
        let (free_bytes, mut findings) = looked.await?;
        findings.extend(of_objects);
        if free_bytes < FREE_MIN_BYTES {
            let detail = format!("{} MB are free in {}", free_bytes >> 20, self.archives().display());
            findings.push(Finding::new(
                "disk-full",
                detail,
                format!("`tardy lab store prune --dry-run{index}` lists the raw traces that nothing needs"),
            ));
        }
        Ok((free_bytes, findings))
    }

    fn directory_health(&self) -> Vec<Finding> {
        let (root, mut findings) = (self.archives(), Vec::new());
        if let Err(error) = access(root, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
            let detail = format!("this user cannot write into {}: {error}", root.display());
            findings.push(Finding::new(
                "archives-read-only",
                detail,
                "run as the user of the lab, or change the owner",
            ));
        }
        let is_remote = statfs(root).is_ok_and(|of| OF_OTHER_HOSTS.contains(&(of.f_type as u64)));
        if is_remote && !self.database.is_server() {
            let detail = format!("the index in {} is on a file system of another host", root.display());
            let fix = "keep it on a local disk, or use PostgreSQL (--store postgres://...): SQLite is not safe there";
            findings.push(Finding::new("index-remote", detail, fix));
        }
        let tokens = root.join("tokens");
        if tokens.metadata().is_ok_and(|of| of.permissions().mode() & 0o077 != 0) {
            let fix = format!("chmod 600 {}", tokens.display());
            findings.push(Finding::new("tokens-readable", "other users can read the hashes of the tokens", fix));
        }
        findings
    }

    /// Rows whose archive the object store does not have.
    async fn object_health(&self, digests: impl Iterator<Item = &String>, index: &str) -> Option<Finding> {
        let there = match self.objects.as_ref()?.digests().await {
            Ok(there) => there,
            Err(error) => {
                let fix = "check the server, AWS_ENDPOINT_URL, the keys and the name of the bucket";
                return Some(Finding::new("objects-unreachable", error.to_string(), fix));
            }
        };
        let missing: Vec<&String> = digests.filter(|digest| !there.contains(*digest)).collect();
        let detail = format!("{} not in the object store: {}", amount(missing.len(), "run"), some(&missing));
        let fix = format!("`tardy lab store ingest DIR{index}` on the host that has them");
        (!missing.is_empty()).then(|| Finding::new("objects-missing", detail, fix))
    }

    /// Rows whose archive is gone.
    fn missing(&self, known: &BTreeSet<String>, index: &str) -> Option<Finding> {
        let missing: Vec<&String> = known.iter().filter(|location| !self.artefacts.path(location).is_dir()).collect();
        let detail = format!("{} of the index without an archive: {}", amount(missing.len(), "run"), some(&missing));
        let fix = format!("bring them back from a backup, or forget them: `tardy lab store rebuild{index}`");
        (!missing.is_empty()).then(|| Finding::new("archives-missing", detail, fix))
    }

    /// Archives that the index does not have, but those of runs that go on.
    fn unknown(&self, known: &BTreeSet<String>, archives: &[PathBuf], index: &str) -> Option<Finding> {
        let unknown: Vec<String> = archives
            .iter()
            .filter_map(|archive| Some((archive, self.artefacts.location(archive)?)))
            .filter(|(_, location)| !known.contains(location))
            .filter(|(archive, _)| ArchiveState::of(archive).is_ok_and(|state| !state.goes_on))
            .map(|(_, location)| location)
            .collect();
        let detail = format!("{} not in the index: {}", amount(unknown.len(), "archive"), some(&unknown));
        let fix = format!(
            "`tardy lab store ingest {}{index}`; `tardy lab serve{index}` adds new ones by itself",
            self.archives().display()
        );
        (!unknown.is_empty()).then(|| Finding::new("archives-unknown", detail, fix))
    }
}

fn free_bytes(root: &Path) -> u64 {
    rustix::fs::statvfs(root).map_or(u64::MAX, |of| of.f_bavail.saturating_mul(of.f_frsize))
}

fn amount(number: usize, noun: &str) -> String {
    words::figures::counted(number as u64, noun)
}

fn some(names: &[impl AsRef<str>]) -> String {
    let more = if names.len() > NAMED { ", ..." } else { "" };
    let named: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    format!("{}{more}", named.join(", "))
}
