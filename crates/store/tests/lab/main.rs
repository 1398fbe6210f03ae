//! The store on SQLite and on PostgreSQL: one body of tests for both.

mod both;
mod changes;
mod health;
mod killed;
mod postgres;
mod promises;
mod queue;
mod retention;
mod triggers;
mod uploads;
