//! The store on SQLite and on PostgreSQL: one body of tests for both.

mod backup;
mod both;
mod changes;
mod encrypted;
mod full_disk;
mod health;
mod killed;
mod objects;
mod open_data;
mod promises;
mod queue;
mod retention;
mod schema;
mod triggers;
mod uploads;
