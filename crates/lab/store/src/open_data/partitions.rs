//! Reads the rows of one board and month, column by column.

use super::ExportError;
use super::columns::{HISTOGRAMS, Kind, Table};
use crate::Store;
use crate::error::StoreError;
use crate::outline::Outline;
use crate::row::{count, get};
use crate::stored_histogram::decode;
use sqlx::Row;
use sqlx::any::AnyRow;

/// The rows of a board in a month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    pub board: String,
    /// `2026-03`
    pub month: String,
    pub rows: u64,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    Text(Vec<Option<String>>),
    Number(Vec<Option<i64>>),
    Real(Vec<f64>),
    Flag(Vec<bool>),
}

impl Values {
    fn empty(kind: Kind) -> Self {
        match kind {
            Kind::Text | Kind::TextOrNull => Self::Text(Vec::new()),
            Kind::Count | Kind::CountOrNull | Kind::Time => Self::Number(Vec::new()),
            Kind::Real => Self::Real(Vec::new()),
            Kind::Flag => Self::Flag(Vec::new()),
        }
    }

    fn push(&mut self, row: &AnyRow, at: usize, kind: Kind) -> Result<(), sqlx::Error> {
        match self {
            Self::Text(values) => values.push(row.try_get(at)?),
            Self::Number(values) => {
                let number: Option<i64> = row.try_get(at)?;
                values.push(number.map(|ns| if kind == Kind::Time { ns.div_euclid(1000) } else { ns }));
            }
            Self::Real(values) => values.push(row.try_get(at)?),
            Self::Flag(values) => values.push(row.try_get::<i64, _>(at)? != 0),
        }
        Ok(())
    }
}

impl Store {
    pub(super) async fn partitions(&self, table: &Table) -> Result<Vec<Partition>, ExportError> {
        let rows = sqlx::query(table.count).fetch_all(self.database.pool()).await?;
        let partition = |row: &AnyRow| -> Result<Partition, StoreError> {
            Ok(Partition { board: get(row, "board")?, month: get(row, "month")?, rows: count(row, "counted")? })
        };
        Ok(rows.iter().map(partition).collect::<Result<_, _>>()?)
    }

    /// The columns of a partition. Its number of rows becomes that of the columns: runs may have been added meanwhile.
    pub(super) async fn rows(&self, table: &Table, partition: &mut Partition) -> Result<Vec<Values>, ExportError> {
        let query = sqlx::query(table.select).bind(&partition.board).bind(&partition.month);
        let rows = query.fetch_all(self.database.pool()).await?;
        let mut columns: Vec<Values> = table.columns.iter().map(|(_, kind)| Values::empty(*kind)).collect();
        if table.name == HISTOGRAMS.name {
            partition.rows = 0;
            for row in &rows {
                let digest: String = get(row, "digest").map_err(ExportError::Store)?;
                let outline: Vec<u8> = get(row, "outline").map_err(ExportError::Store)?;
                for bar in Outline::of(&decode(&outline)).bars {
                    let [Values::Text(digests), Values::Number(low), Values::Number(high), Values::Number(counts)] =
                        &mut columns[..]
                    else {
                        unreachable!("these are the columns of a histogram")
                    };
                    digests.push(Some(digest.clone()));
                    low.push(Some(bar.low_ns));
                    high.push(Some(bar.high_ns));
                    counts.push(Some(i64::try_from(bar.count).unwrap_or(i64::MAX)));
                    partition.rows += 1;
                }
            }
            return Ok(columns);
        }
        for row in &rows {
            for (at, (values, (_, kind))) in columns.iter_mut().zip(table.columns).enumerate() {
                values.push(row, at, *kind)?;
            }
        }
        partition.rows = rows.len() as u64;
        Ok(columns)
    }
}
