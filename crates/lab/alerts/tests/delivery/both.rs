//! Runs each promise on SQLite, and all of them on a PostgreSQL server of this test.

use crate::lab::Lab;
use crate::{crash, formats, outbox};
use fixtures::postgres::{self, Server};
use prerequisites::require;
use std::future::Future;

pub fn finish<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(work)
}

macro_rules! promises {
    ($($area:ident: $($promise:ident),+;)+) => {
        mod sqlite {
            use super::*;
            $($(#[test]
            fn $promise() {
                finish($area::$promise(Lab::on_sqlite()));
            })+)+
        }

        /// One server for all of them: starting it takes longer than any of them.
        #[test]
        fn alerts_keep_the_same_promises_on_postgres() {
            require!(Prepared("PostgreSQL's initdb (Debian: postgresql)", postgres::programs().is_some()));
            let server = Server::start();
            $($(
                eprintln!("postgres: {}", stringify!($promise));
                finish($area::$promise(Lab::on_postgres(&server)));
            )+)+
        }
    };
}

promises!(
    formats:
    every_destination_gets_one_message_and_hostile_names_stay_text,
    a_change_reaches_the_destinations_of_its_rules_only;
    outbox:
    many_servers_at_once_send_each_message_once,
    a_receiver_that_is_down_is_tried_again_until_the_message_is_given_up_and_asked_for,
    the_changes_of_a_run_come_in_one_message,
    changes_triaged_or_found_before_are_not_sent,
    no_secret_reaches_the_index_or_an_error;
    crash:
    a_death_between_sending_and_recording_repeats_a_webhook_and_a_mail_under_the_same_name,
    a_death_between_sending_and_recording_leaves_one_issue_and_one_comment;
);
