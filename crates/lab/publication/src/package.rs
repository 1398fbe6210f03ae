//! Writes a publication: runs, their checksums and a signature in one tar file, the same for the same runs and key.

use crate::anonymous::{AnonymousRun, Contents};
use crate::description::{PUBLICATION_VERSION, Publication};
use crate::openssh::{PrivateKey, Signature};
use crate::rules::RULES_VERSION;
use crate::{DESCRIPTION, NAMESPACE, README, RUNS, SIGNATURE, SUMS};
use archive::packed::{PackedError, PackedFile, PackedWriter};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use thiserror::Error;

/// Why a publication is not written.
#[derive(Debug, Error)]
pub enum PackageError {
    #[error("failed to publish: two of the runs are the same, {0}; name each once")]
    Twice(String),
    #[error("failed to read samples: {0}")]
    Samples(io::Error),
    #[error("failed to write the publication: {0}")]
    Packed(#[from] PackedError),
}

const INSTRUCTIONS: &str = "\
Measurements of how late Linux wakes tasks, made anonymous and signed with `tardy lab publish`.

To check and open it, with the public key of its publisher in publisher.pub:
  tardy lab check-publication PUBLICATION --key publisher.pub --into runs

Without tardy:
  tar -xf PUBLICATION
  echo \"publisher $(cat publisher.pub)\" > allowed
  ssh-keygen -Y verify -f allowed -I publisher -n tardy-publication -s SHA256SUMS.sig < SHA256SUMS
  sha256sum --check SHA256SUMS
";

/// A file to be written, with its checksum.
struct Entry {
    sum: String,
    contents: Contents,
}

/// Writes a publication of these runs, and returns what it holds.
///
/// # Errors
/// [`PackageError`].
pub fn write(
    runs: Vec<AnonymousRun>,
    tool_version: &str,
    key: &PrivateKey,
    sink: impl Write,
) -> Result<Publication, PackageError> {
    let mut description = Publication {
        publication_version: PUBLICATION_VERSION,
        tool_version: tool_version.into(),
        rules_version: RULES_VERSION,
        ..Publication::default()
    };
    let mut entries = BTreeMap::new();
    for run in runs {
        for (kind, change) in &run.changes.kinds {
            *description.changed.entry((*kind).into()).or_default() += change.replaced + change.removed;
        }
        if description.runs.contains(&run.id) {
            return Err(PackageError::Twice(run.id));
        }
        for (name, contents) in run.files {
            entries.insert(format!("{RUNS}/{}/{name}", run.id), entry(contents)?);
        }
        description.runs.push(run.id);
    }
    description.runs.sort();
    let mut text = serde_json::to_vec_pretty(&description).expect("its keys are texts");
    text.push(b'\n');
    entries.insert(DESCRIPTION.into(), entry(Contents::Bytes(text))?);
    entries.insert(README.into(), entry(Contents::Bytes(INSTRUCTIONS.into()))?);
    let sums: String = entries.iter().map(|(name, entry)| format!("{}  {name}\n", entry.sum)).collect();
    let signature = Signature::of(sums.as_bytes(), NAMESPACE, key).text(NAMESPACE);
    entries.insert(SUMS.into(), entry(Contents::Bytes(sums.into_bytes()))?);
    entries.insert(SIGNATURE.into(), entry(Contents::Bytes(signature.into_bytes()))?);
    let mut packed = PackedWriter::new(sink);
    for (name, entry) in entries {
        match entry.contents {
            Contents::Bytes(bytes) => packed.file(&PackedFile { name, bytes: bytes.len() as u64 }, bytes.as_slice())?,
            Contents::Samples(file, bytes) => packed.file(&PackedFile { name, bytes }, file)?,
        }
    }
    packed.end()?;
    Ok(description)
}

fn entry(contents: Contents) -> Result<Entry, PackageError> {
    let (sum, contents) = match contents {
        Contents::Bytes(bytes) => (Sha256::digest(&bytes), Contents::Bytes(bytes)),
        Contents::Samples(mut file, bytes) => {
            let sum = digest(&mut file, bytes).map_err(PackageError::Samples)?;
            (sum, Contents::Samples(file, bytes))
        }
    };
    Ok(Entry { sum: hexadecimal(&sum), contents })
}

fn digest(file: &mut File, bytes: u64) -> io::Result<sha2::digest::Output<Sha256>> {
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    let mut rest = file.take(bytes);
    loop {
        match rest.read(&mut buffer)? {
            0 => break,
            count => sum.update(&buffer[..count]),
        }
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(sum.finalize())
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
