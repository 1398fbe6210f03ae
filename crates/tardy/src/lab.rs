//! Shared by the verbs of a lab: where its index is, who works with it, what it serves, who signs, archives to its server, and waiting for its database.

pub mod arguments;
pub mod child;
pub mod experiments;
pub mod publication_key;
pub mod push;
pub mod this_host;
pub mod user;

use std::future::Future;

/// Does work that waits for a database, on a runtime of its own.
///
/// # Errors
/// Errors of the work, and of starting threads.
pub fn finish<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(work)
}
