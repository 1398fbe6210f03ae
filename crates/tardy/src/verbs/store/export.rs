//! `tardy lab store export`: the index as Parquet, for DuckDB, Spark, Trino.

use super::STORE_VERSION;
use crate::exit::{Exit, UsageError};
use crate::lab::arguments::IndexArguments;
use crate::terminal::json;
use crate::terminal::page::Page;
use clap::Args;
use std::path::PathBuf;
use store::open_data::ExportError;
use words::figures::counted;

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// New directory for the Parquet files, divided by board and month
    #[arg(long, value_name = "DIR")]
    parquet: PathBuf,
    #[command(flatten)]
    index: IndexArguments,
}

pub async fn export(arguments: &ExportArguments) -> anyhow::Result<Exit> {
    let store = arguments.index.store.open_existing().await?;
    let exported = store.export(&arguments.parquet).await.map_err(|error| match error {
        ExportError::NotEmpty(_) => UsageError(error.to_string()).into(),
        other => anyhow::Error::from(other),
    })?;
    if arguments.index.json {
        let (tables, bytes) = (&exported.tables, exported.bytes);
        json::print(&serde_json::json!({ "store_version": STORE_VERSION, "tables": tables, "bytes": bytes }))?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    for table in &exported.tables {
        page.line(&format!("{}: {} in {}", table.table, counted(table.rows, "row"), counted(table.files, "file")));
    }
    page.print()?;
    Ok(Exit::Measured)
}
