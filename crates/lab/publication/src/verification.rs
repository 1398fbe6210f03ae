//! Checks a publication from an untrusted source in one pass, and unpacks its runs only as they prove to be signed.

use crate::description::{PUBLICATION_VERSION, Publication};
use crate::openssh::{PublicKey, Signature, SignatureError};
use crate::package::hexadecimal;
use crate::{DESCRIPTION, NAMESPACE, RUNS, SIGNATURE, SUMS};
use archive::directory::ArchiveDirectory;
use archive::packed::{PackedError, PackedFile, PackedLimits, PackedReader};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use thiserror::Error;

const LIMITS: PackedLimits = PackedLimits { files_max: 100_000, bytes_max: 1 << 38 };
/// Of sums, signature and description, which are kept in memory.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// Why a publication is refused.
#[derive(Debug, Error)]
pub enum VerificationError {
    #[error("{0}")]
    Packed(#[from] PackedError),
    #[error("it is not a publication: it has no {0}")]
    Foreign(&'static str),
    #[error("the signature of {SUMS}: {0}")]
    Signature(#[from] SignatureError),
    #[error("it is signed by {0}, which is not a trusted key")]
    Untrusted(String),
    #[error("{SUMS} is not a list of checksums, in line {0}")]
    Sums(usize),
    #[error("{0:?} is in it and not in {SUMS}: it was added later")]
    Extra(String),
    #[error("{0:?} is in {SUMS} and not in it: it was removed")]
    Missing(String),
    #[error("{0:?} was changed: its checksum differs from {SUMS}")]
    Changed(String),
    #[error("{DESCRIPTION} does not describe it: {0}")]
    Description(String),
    #[error("it has version {0}, and this tardy reads {PUBLICATION_VERSION}; update tardy")]
    Newer(u32),
    #[error("failed to unpack {name:?}: {source}")]
    Unpack { name: String, source: io::Error },
}

/// A publication that is as its publisher signed it.
#[derive(Debug)]
pub struct Verified {
    pub key: PublicKey,
    pub publication: Publication,
    pub files: u64,
    pub bytes: u64,
}

/// Checks that a trusted key signed everything that comes from the source, and nothing else comes. The runs go into a
/// directory; after an error it holds what was read until then, and nothing in it counts.
///
/// # Errors
/// [`VerificationError`].
pub fn verify(
    source: impl Read,
    trusted: &[PublicKey],
    into: Option<&ArchiveDirectory>,
) -> Result<Verified, VerificationError> {
    let mut reader = PackedReader::new(source, LIMITS);
    let mut found = BTreeMap::new();
    let (mut sums, mut listed, mut description) = (None, None, None);
    let (mut key, mut bytes) = (None, 0);
    while let Some(file) = reader.next_file()? {
        bytes += file.bytes;
        match file.name.as_str() {
            SUMS => sums = Some(text(&mut reader, &file)?.1),
            SIGNATURE => {
                let signed = sums.as_ref().ok_or(VerificationError::Foreign(SUMS))?;
                let text = String::from_utf8_lossy(&text(&mut reader, &file)?.1).into_owned();
                let signature = Signature::parse(&text, NAMESPACE)?;
                signature.check(signed, NAMESPACE)?;
                if !trusted.contains(&signature.key) {
                    return Err(VerificationError::Untrusted(signature.key.fingerprint()));
                }
                key = Some(signature.key);
                listed = Some(sums_in(signed)?);
            }
            DESCRIPTION => {
                let (sum, text) = text(&mut reader, &file)?;
                found.insert(file.name, sum);
                description = Some(text);
            }
            name => {
                let run = name.strip_prefix(RUNS).and_then(|name| name.strip_prefix('/'));
                // Names are in byte order: the runs come after the signature.
                match &listed {
                    Some(listed) if !listed.contains_key(name) => return Err(VerificationError::Extra(name.into())),
                    None if run.is_some() => return Err(VerificationError::Foreign(SIGNATURE)),
                    _ => {}
                }
                let to = match (run, into) {
                    (Some(run), Some(into)) => Some((into, run)),
                    _ => None,
                };
                let sum = copied(&mut reader, name, to)?;
                found.insert(file.name, sum);
            }
        }
    }
    let key = key.ok_or(VerificationError::Foreign(if sums.is_some() { SIGNATURE } else { SUMS }))?;
    compare(&listed.unwrap_or_default(), &found)?;
    let publication = described(&description.ok_or(VerificationError::Foreign(DESCRIPTION))?, &found)?;
    Ok(Verified { key, publication, files: found.len() as u64, bytes })
}

/// The file in memory, with its checksum.
fn text(reader: &mut PackedReader<impl Read>, file: &PackedFile) -> Result<(String, Vec<u8>), VerificationError> {
    if file.bytes > TEXT_BYTES_MAX {
        let (name, bytes) = (file.name.clone(), file.bytes);
        return Err(PackedError::TooLarge { name, bytes, bytes_max: TEXT_BYTES_MAX }.into());
    }
    let mut text = vec![0; usize::try_from(file.bytes).unwrap_or(0)];
    let mut filled = 0;
    while filled < text.len() {
        filled += reader.read_piece(&mut text[filled..])?;
    }
    Ok((hexadecimal(&Sha256::digest(&text)), text))
}

/// Reads a file to its end, into a directory if one is given. Returns its checksum.
fn copied(
    reader: &mut PackedReader<impl Read>,
    name: &str,
    to: Option<(&ArchiveDirectory, &str)>,
) -> Result<String, VerificationError> {
    let fail = |source| VerificationError::Unpack { name: name.into(), source };
    let mut written = to.map(|(into, run)| into.create(run)).transpose().map_err(fail)?;
    let (mut sum, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match reader.read_piece(&mut buffer)? {
            0 => return Ok(hexadecimal(&sum.finalize())),
            count => {
                sum.update(&buffer[..count]);
                written.iter_mut().try_for_each(|file| file.write_all(&buffer[..count])).map_err(fail)?;
            }
        }
    }
}

/// Checksums by name.
fn sums_in(text: &[u8]) -> Result<BTreeMap<String, String>, VerificationError> {
    let text = std::str::from_utf8(text).map_err(|_| VerificationError::Sums(1))?;
    let mut sums = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = || VerificationError::Sums(index + 1);
        let (sum, name) = line.split_once("  ").ok_or_else(wrong)?;
        let is_sum = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_sum || sums.insert(name.to_owned(), sum.to_owned()).is_some() {
            return Err(wrong());
        }
    }
    Ok(sums)
}

fn compare(listed: &BTreeMap<String, String>, found: &BTreeMap<String, String>) -> Result<(), VerificationError> {
    for (name, sum) in found {
        match listed.get(name) {
            None => return Err(VerificationError::Extra(name.clone())),
            Some(listed) if listed != sum => return Err(VerificationError::Changed(name.clone())),
            Some(_) => {}
        }
    }
    match listed.keys().find(|name| !found.contains_key(*name)) {
        Some(missing) => Err(VerificationError::Missing(missing.clone())),
        None => Ok(()),
    }
}

fn described(text: &[u8], found: &BTreeMap<String, String>) -> Result<Publication, VerificationError> {
    let publication: Publication =
        serde_json::from_slice(text).map_err(|error| VerificationError::Description(error.to_string()))?;
    if publication.publication_version > PUBLICATION_VERSION {
        return Err(VerificationError::Newer(publication.publication_version));
    }
    let run_of = |name: &'_ String| Some(name.strip_prefix(RUNS)?.strip_prefix('/')?.split_once('/')?.0.to_owned());
    let runs: BTreeSet<String> = found.keys().filter_map(run_of).collect();
    if !publication.runs.iter().eq(runs.iter()) {
        return Err(VerificationError::Description("the runs that it names are others".into()));
    }
    Ok(publication)
}
