//! Archives in an S3-compatible object store: one object each, named by the address of the archive.
//!
//! `archives/AB/DIGEST.tar` is a whole archive as one stream, `pruned/AB/DIGEST.tar` one whose raw traces were removed, with the list of
//! what it contained, and `pins/AB/DIGEST.json` says why its traces are kept. An object is there whole or not at all: it is sent in one
//! request, or in parts that become an object when all of them have arrived.

mod address;
mod connection;
mod keeping;
mod pieces;
mod signing;

pub use address::ObjectsAddress;
pub(crate) use pieces::Source;

use crate::digest::is_address;
use crate::error::StoreError;
use crate::form::Form;
use crate::packing::PackedArchive;
use connection::Connections;
use futures_util::StreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as Name;
use object_store::{Error, GetResult, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig};
use pieces::{Part, Sink};
use signing::Signing;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

/// A request that fails for a reason that may pass is made again within this time.
const RETRY_MAX: Duration = Duration::from_secs(30);
const RETRIES: usize = 5;
/// An archive that is being fetched stops for this long at most.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Pieces on the way between the task of a connection and the thread of a disk.
const PIECES: usize = 2;
/// Archives that a list has at most; ten times what a large lab has.
const LISTED_MAX: usize = 10_000_000;

const FORMS: [(Form, &str); 2] = [(Form::Whole, "archives"), (Form::Pruned, "pruned")];

/// An open object store. Clones share their connections.
#[derive(Debug, Clone)]
pub(crate) struct Objects {
    address: Arc<ObjectsAddress>,
    store: Arc<AmazonS3>,
}

impl Objects {
    pub fn open(address: &ObjectsAddress) -> Result<Self, StoreError> {
        let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_MAX, ..RetryConfig::default() };
        let connections = Connections::to(&address.endpoint)
            .map_err(|error| StoreError::ObjectsAccess { store: address.to_string(), because: error.to_string() })?;
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&address.bucket)
            .with_endpoint(&address.endpoint)
            .with_region(&address.region)
            .with_access_key_id(&address.key_id)
            .with_secret_access_key(&address.secret_key)
            .with_allow_http(true)
            .with_retry(retry)
            // Few are removed, and not every server removes many at once.
            .with_disable_bulk_delete(true)
            .with_crypto_provider(Arc::new(Signing))
            .with_http_connector(connections);
        if let Some(token) = &address.session_token {
            builder = builder.with_token(token);
        }
        let address = Arc::new(address.clone());
        let store = builder.build().map_err(|source| StoreError::Objects { store: address.to_string(), source })?;
        Ok(Self { address, store: Arc::new(store) })
    }

    fn failed(&self) -> impl FnOnce(Error) -> StoreError {
        let store = self.address.to_string();
        move |source| StoreError::Objects { store, source }
    }

    fn name(&self, folder: &str, digest: &str, kind: &str) -> Name {
        Name::from(format!("{}/{folder}/{}/{digest}.{kind}", self.address.prefix, &digest[..2]))
    }

    fn archive_name(&self, form: Form, digest: &str) -> Name {
        let (_, folder) = FORMS[form as usize];
        self.name(folder, digest, "tar")
    }

    /// Length of an archive in this form, if it is there.
    pub async fn bytes(&self, form: Form, digest: &str) -> Result<Option<u64>, StoreError> {
        match self.store.head(&self.archive_name(form, digest)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed()(error)),
        }
    }

    /// In which form an archive is there, if it is.
    pub async fn form(&self, digest: &str) -> Result<Option<Form>, StoreError> {
        for (form, _) in FORMS {
            if self.bytes(form, digest).await?.is_some() {
                return Ok(Some(form));
            }
        }
        Ok(None)
    }

    /// Sends an archive. It is on the disks of the object store when this returns.
    pub async fn send(&self, form: Form, digest: &str, packed: PackedArchive) -> Result<(), StoreError> {
        let name = self.archive_name(form, digest);
        let (sender, mut parts) = channel(PIECES);
        let writer = tokio::task::spawn_blocking(move || {
            let mut sink = Sink::of(sender);
            packed.write(&mut sink).map_err(io::Error::other)?;
            sink.end()
        });
        let sent = self.send_parts(&name, &mut parts).await;
        // Ends the thread if the object store does not take what it writes.
        drop(parts);
        let written = writer.await?;
        sent?;
        written.map_err(StoreError::io(digest))
    }

    async fn send_parts(&self, name: &Name, parts: &mut Receiver<Part>) -> Result<(), StoreError> {
        let Some(first) = parts.recv().await else { return Ok(()) };
        if first.is_last {
            let put = self.store.put(name, PutPayload::from(first.bytes)).await;
            return put.map(drop).map_err(self.failed());
        }
        let mut upload = self.store.put_multipart(name).await.map_err(self.failed())?;
        let mut part = Some(first);
        while let Some(Part { bytes, is_last }) = part {
            if let Err(error) = upload.put_part(PutPayload::from(bytes)).await {
                let _ = upload.abort().await;
                return Err(self.failed()(error));
            }
            if is_last {
                return upload.complete().await.map(drop).map_err(self.failed());
            }
            part = parts.recv().await;
        }
        // The thread ended before the last part: it returns why.
        upload.abort().await.map_err(self.failed())
    }

    /// An archive in this form, to read in a thread; `None` if it is not there.
    pub async fn fetch(&self, form: Form, digest: &str) -> Result<Option<Source>, StoreError> {
        let found = match self.store.get(&self.archive_name(form, digest)).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(self.failed()(error)),
        };
        let (sender, pieces) = channel(PIECES);
        tokio::spawn(async move {
            let mut stream = found.into_stream();
            loop {
                let piece = match timeout(IDLE_MAX, stream.next()).await {
                    Ok(None) => break,
                    Ok(Some(piece)) => piece.map(|bytes| bytes.to_vec()).map_err(io::Error::other),
                    Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the object store sends nothing more")),
                };
                let failed = piece.is_err();
                // The reader may end before: it has limits.
                if sender.send(piece).await.is_err() || failed {
                    break;
                }
            }
        });
        Ok(Some(Source::of(pieces)))
    }

    pub async fn remove(&self, form: Form, digest: &str) -> Result<(), StoreError> {
        match self.store.delete(&self.archive_name(form, digest)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed()(error)),
        }
    }

    /// Addresses of all archives, in any form. Objects with other names are none of them.
    pub async fn digests(&self) -> Result<BTreeSet<String>, StoreError> {
        let mut digests = BTreeSet::new();
        for (_, folder) in FORMS {
            let mut names = self.store.list(Some(&Name::from(format!("{}/{folder}", self.address.prefix))));
            while let Some(found) = names.next().await {
                let found = found.map_err(self.failed())?;
                let digest = found.location.filename().and_then(|name| name.strip_suffix(".tar"));
                digests.extend(digest.filter(|digest| is_address(digest)).map(str::to_owned));
                if digests.len() >= LISTED_MAX {
                    return Ok(digests);
                }
            }
        }
        Ok(digests)
    }

    /// A short document about an archive, if it is there.
    pub async fn pins(&self, digest: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let found: GetResult = match self.store.get(&self.name("pins", digest, "json")).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(self.failed()(error)),
        };
        let (mut stream, mut bytes) = (found.into_stream(), Vec::new());
        loop {
            match timeout(IDLE_MAX, stream.next()).await {
                Ok(None) => return Ok(Some(bytes)),
                Ok(Some(piece)) => bytes.extend_from_slice(&piece.map_err(self.failed())?),
                Err(_) => return Err(self.unreadable("it sends nothing more")),
            }
            if bytes.len() as u64 > bytes_max {
                return Err(self.unreadable("the pins of a run are larger than any that it can have"));
            }
        }
    }

    pub async fn put_pins(&self, digest: &str, json: Vec<u8>) -> Result<(), StoreError> {
        let put = self.store.put(&self.name("pins", digest, "json"), PutPayload::from(json)).await;
        put.map(drop).map_err(self.failed())
    }
}
