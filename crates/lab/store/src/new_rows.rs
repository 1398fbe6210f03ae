//! Rows to insert: each column is named once, beside its value.

use crate::database::Writing;
use crate::error::StoreError;
use sqlx::any::AnyArguments;
use sqlx::error::BoxDynError;
use sqlx::{Any, Arguments, AssertSqlSafe, Encode, Type};
use std::fmt::Write;

/// Rows of one table, which have the same columns in the same order.
pub struct NewRows {
    table: &'static str,
    columns: Vec<&'static str>,
    rows: usize,
    arguments: Result<AnyArguments, BoxDynError>,
}

impl NewRows {
    pub fn into(table: &'static str) -> Self {
        Self { table, columns: Vec::new(), rows: 0, arguments: Ok(AnyArguments::default()) }
    }

    /// One row; [`Self::set`] gives it its columns.
    pub fn one(table: &'static str) -> Self {
        Self::into(table).row()
    }

    /// Begins the next row.
    pub fn row(mut self) -> Self {
        self.rows += 1;
        self
    }

    /// The next column of the row.
    pub fn set<'v>(mut self, column: &'static str, value: impl Encode<'v, Any> + Type<Any>) -> Self {
        if self.rows == 1 {
            self.columns.push(column);
        }
        self.arguments = self.arguments.and_then(|mut arguments| {
            debug_assert_eq!(self.columns[arguments.len() % self.columns.len()], column);
            arguments.add(value)?;
            Ok(arguments)
        });
        self
    }

    /// Inserts the rows, and returns how many were new. `conflict` says what happens to those that are there.
    pub async fn insert(self, writing: &mut Writing<'_>, conflict: &'static str) -> Result<u64, StoreError> {
        if self.rows == 0 {
            return Ok(0);
        }
        let sql = self.sql(conflict);
        let arguments = self.arguments.map_err(sqlx::Error::Encode)?;
        Ok(sqlx::query_with(AssertSqlSafe(sql), arguments).execute(&mut *writing.transaction).await?.rows_affected())
    }

    fn sql(&self, conflict: &str) -> String {
        let mut sql = format!("INSERT INTO {} ({}) VALUES ", self.table, self.columns.join(", "));
        let count = self.columns.len();
        for number in 0..self.rows * count {
            let before = match (number % count, number) {
                (0, 0) => "(",
                (0, _) => "), (",
                _ => ", ",
            };
            write!(sql, "{before}${}", number + 1).expect("a string takes everything");
        }
        sql + ") " + conflict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_column_and_its_place() {
        let one = NewRows::one("pins").set("digest", "a").set("reason", 1_i64);
        assert_eq!(one.sql(""), "INSERT INTO pins (digest, reason) VALUES ($1, $2) ");
        let two = one.row().set("digest", "b").set("reason", 2_i64);
        let sql = "INSERT INTO pins (digest, reason) VALUES ($1, $2), ($3, $4) ON CONFLICT DO NOTHING";
        assert_eq!((two.sql("ON CONFLICT DO NOTHING").as_str(), two.arguments.unwrap().len()), (sql, 4));
    }
}
