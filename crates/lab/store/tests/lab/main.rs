//! The store on SQLite and on PostgreSQL: one body of tests for both.

// Other tests use more of it.
#[allow(dead_code)]
#[path = "../../../tls/tests/encrypted/authority.rs"]
mod authority;
mod backup;
mod both;
mod changes;
mod encrypted;
mod health;
mod killed;
mod objects;
mod open_data;
mod postgres;
mod promises;
mod queue;
mod retention;
mod s3;
mod schema;
mod triggers;
mod uploads;
