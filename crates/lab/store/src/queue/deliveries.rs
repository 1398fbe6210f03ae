//! Messages to webhooks. The same message is taken once, whenever it comes again: its signature stays valid for ever.

use super::insert;
use super::plan_kernel::is_kernel_name;
use super::triggers::{Trigger, listed};
use crate::Store;
use crate::error::StoreError;
use serde::{Deserialize, Serialize};

/// Jobs of one trigger that may wait: a webhook that fires without end must not fill the queue.
pub const DELIVERIES_WAITING_MAX: i64 = 100;
/// Kernels that a trigger remembers; older ones are forgotten first.
const KERNELS_MAX: usize = 10_000;

/// The effect of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delivery {
    /// It queued these jobs.
    Queued(Vec<String>),
    /// It came before, and queued these jobs then.
    Repeated(Vec<String>),
    /// Too many jobs of this trigger wait.
    Full,
}

impl Store {
    /// Takes a message with this checksum: queues the plan for each board, for a kernel if the message names one, and
    /// remembers the kernel as the newest.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn deliver(
        &self,
        trigger: &Trigger,
        body_sha256: &str,
        kernel: Option<&str>,
        now_unix_ns: i64,
    ) -> Result<Delivery, StoreError> {
        let because = format!("webhook {}", trigger.name);
        let kernel = kernel.filter(|kernel| is_kernel_name(kernel));
        let mut writing = self.database.write().await?;
        let sql = "INSERT INTO deliveries (trigger_name, body_sha256, at_unix_ns, jobs) VALUES ($1, $2, $3, '[]') \
                   ON CONFLICT (trigger_name, body_sha256) DO NOTHING";
        let query = sqlx::query(sql).bind(&trigger.name).bind(body_sha256).bind(now_unix_ns);
        if query.execute(&mut *writing.transaction).await?.rows_affected() == 0 {
            let sql = "SELECT jobs FROM deliveries WHERE trigger_name = $1 AND body_sha256 = $2";
            let query = sqlx::query_as(sql).bind(&trigger.name).bind(body_sha256);
            let (jobs,): (String,) = query.fetch_one(&mut *writing.transaction).await?;
            return Ok(Delivery::Repeated(serde_json::from_str(&jobs).unwrap_or_default()));
        }
        let sql = "SELECT COUNT(*) FROM jobs WHERE because = $1 AND state = 'queued'";
        let (waiting,): (i64,) = sqlx::query_as(sql).bind(&because).fetch_one(&mut *writing.transaction).await?;
        if waiting >= DELIVERIES_WAITING_MAX {
            return Ok(Delivery::Full);
        }
        let mut jobs = Vec::new();
        for board in &trigger.boards {
            jobs.push(insert(&mut writing, &trigger.request(board, kernel, &because), now_unix_ns).await?);
        }
        let sql = "UPDATE deliveries SET jobs = $3 WHERE trigger_name = $1 AND body_sha256 = $2";
        let query = sqlx::query(sql).bind(&trigger.name).bind(body_sha256).bind(listed(&jobs));
        query.execute(&mut *writing.transaction).await?;
        if let Some(kernel) = kernel {
            let sql = self.database.either(
                "SELECT kernels FROM triggers WHERE name = $1",
                "SELECT kernels FROM triggers WHERE name = $1 FOR UPDATE",
            );
            let (kernels,): (String,) =
                sqlx::query_as(sql).bind(&trigger.name).fetch_one(&mut *writing.transaction).await?;
            let kernels = with_newest(serde_json::from_str(&kernels).unwrap_or_default(), kernel);
            let query = sqlx::query("UPDATE triggers SET kernels = $2 WHERE name = $1").bind(&trigger.name);
            query.bind(listed(&kernels)).execute(&mut *writing.transaction).await?;
        }
        writing.commit().await?;
        Ok(Delivery::Queued(jobs))
    }
}

fn with_newest(mut kernels: Vec<String>, newest: &str) -> Vec<String> {
    if !kernels.iter().any(|kernel| kernel == newest) {
        kernels.push(newest.to_owned());
    }
    let surplus = kernels.len().saturating_sub(KERNELS_MAX);
    kernels.drain(..surplus);
    kernels
}
