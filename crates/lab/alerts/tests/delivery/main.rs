//! Messages to receivers on loopback, with an outbox in SQLite and in PostgreSQL: one body of tests for both.

mod both;
mod crash;
mod formats;
mod lab;
mod mail;
mod outbox;
mod receiver;
mod tls;
