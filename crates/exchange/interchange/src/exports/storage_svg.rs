//! The share of software in storage latency of each run, as a picture.

use super::{ExportError, ExportFormat, ExportInput};
use account::Account;
use report::block_shares::{Row, svg};
use std::io::Write;
use words::figures::counted;

#[derive(Debug)]
pub struct StorageSvg;

impl ExportFormat for StorageSvg {
    fn name(&self) -> &'static str {
        "storage-svg"
    }

    fn about(&self) -> &'static str {
        "The share of software in storage latency, a bar for each run (of --method storage)"
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn file_name(&self, _: &ExportInput<'_>) -> Result<String, ExportError> {
        Ok("storage.svg".into())
    }

    fn write(&self, input: &ExportInput<'_>, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
        let rows: Vec<Row> = input.accounts().filter_map(row).collect();
        if rows.is_empty() {
            return Err(ExportError::NoBlockRequests);
        }
        let left_out = match input.runs().count() - rows.len() {
            0 => String::new(),
            number => format!("{} without recorded block requests left out", counted(number as u64, "run")),
        };
        let in_part = rows.iter().filter(|row| row.account.split * 100 < row.account.requests * 99);
        let in_part = in_part.map(|row| {
            let percent = u128::from(row.account.split) * 100 / u128::from(row.account.requests.max(1));
            format!("{}: {percent} %", row.label)
        });
        let in_part = in_part.collect::<Vec<_>>().join(", ");
        let in_part = if in_part.is_empty() { in_part } else { format!("requests that were divided: {in_part}") };
        let remark: Vec<String> = [left_out, in_part].into_iter().filter(|part| !part.is_empty()).collect();
        Ok(out.write_all(svg(&rows, &remark.join("; ")).as_bytes())?)
    }
}

/// `None` if the run recorded no requests.
fn row(account: &Account) -> Option<Row> {
    let (run, requests) = (account.run(), account.block_requests()?.clone());
    let variant = run.planned.as_ref().and_then(|planned| planned.variant.clone());
    let directory = || run.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Some(Row { label: variant.unwrap_or_else(directory), account: requests })
}
