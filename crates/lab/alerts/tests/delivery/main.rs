//! Messages to receivers on loopback, with an outbox in SQLite and in PostgreSQL: one body of tests for both.

#[path = "../../../tls/tests/encrypted/authority.rs"]
mod authority;
mod both;
mod crash;
mod formats;
mod lab;
mod mail;
mod outbox;
// The tests of the store use more of it.
#[allow(dead_code)]
#[path = "../../../store/tests/lab/postgres.rs"]
mod postgres;
mod receiver;
mod tls;
