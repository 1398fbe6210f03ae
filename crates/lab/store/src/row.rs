//! Columns of a row by name.

use crate::error::StoreError;
use crate::record::of_word;
use serde::Deserialize;
use sqlx::any::AnyRow;
use sqlx::{Any, ColumnIndex, Decode, Row, Type};

pub fn get<'r, T>(row: &'r AnyRow, name: &'static str) -> Result<T, StoreError>
where
    T: Decode<'r, Any> + Type<Any>,
    &'static str: ColumnIndex<AnyRow>,
{
    Ok(row.try_get(name)?)
}

/// A truth that is stored as 0 or 1.
pub fn flag(row: &AnyRow, name: &'static str) -> Result<bool, StoreError> {
    Ok(get::<i64>(row, name)? != 0)
}

/// A count, which is never negative.
pub fn count(row: &AnyRow, name: &'static str) -> Result<u64, StoreError> {
    Ok(u64::try_from(get::<i64>(row, name)?).unwrap_or(0))
}

/// A value that is stored as a word.
pub fn worded<T: for<'a> Deserialize<'a>>(row: &AnyRow, name: &'static str) -> Result<T, StoreError> {
    of_word(&get::<String>(row, name)?).ok_or_else(|| damaged(row))
}

/// A value that is stored as JSON.
pub fn json<T: for<'a> Deserialize<'a>>(row: &AnyRow, name: &'static str) -> Result<T, StoreError> {
    serde_json::from_str(&get::<String>(row, name)?).map_err(|_| damaged(row))
}

fn damaged(row: &AnyRow) -> StoreError {
    StoreError::Row(row.try_get::<String, _>("digest").unwrap_or_else(|_| "unknown".into()))
}
