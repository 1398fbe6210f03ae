//! Runs each promise on SQLite, and all of them on a PostgreSQL server of this test.

use crate::promises::{self, Lab};
use crate::{backup, changes, health, objects, open_data, queue, retention, schema, triggers, uploads};
use fixtures::postgres::Server;
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
        fn postgres_keeps_the_same_promises() {
            require!(Prepared("PostgreSQL's initdb (Debian: postgresql)", fixtures::postgres::programs().is_some()));
            let server = Server::start();
            $($(
                eprintln!("postgres: {}", stringify!($promise));
                finish($area::$promise(Lab::on_postgres(&server)));
            )+)+
        }
    };
}

promises!(
    promises:
    an_archive_is_there_once_however_often_it_is_added,
    an_archive_that_moved_is_found_at_its_new_place,
    added_at_once_by_many_it_is_there_once,
    added_and_read_again_at_once_by_many_no_one_fails,
    the_fleet_shows_the_newest_run_and_its_coverage,
    a_board_that_turned_bad_names_the_last_good_and_the_first_bad_run,
    a_state_and_its_figure_are_of_one_run_and_an_invalid_run_has_none,
    a_history_has_its_runs_in_order_and_its_parts_add_up,
    the_index_is_made_again_from_the_archives,
    an_archive_that_changed_replaces_its_rows,
    a_run_that_goes_on_and_what_is_no_archive_are_refused,
    names_of_a_target_stay_short_and_harmless,
    culprits_are_counted_by_board_and_time,
    series_are_listed_once,
    lists_of_runs_go_on_where_they_ended;
    health:
    a_lab_in_order_has_no_findings,
    archives_that_are_gone_or_unknown_are_found_and_a_rebuild_is_the_fix,
    sums_that_are_not_those_of_the_runs_are_found,
    jobs_that_nothing_runs_and_workers_that_are_gone_are_found;
    queue:
    a_board_runs_one_job_at_a_time_the_most_urgent_first,
    a_lease_that_ran_out_frees_its_job_and_binds_nobody,
    many_workers_share_the_jobs_of_few_boards,
    any_order_of_claims_and_expiries_leaves_each_job_one_owner,
    a_queued_job_is_cancelled_and_a_running_one_is_not,
    workers_are_listed_with_their_last_report,
    kernels_between_good_and_bad_are_suspects;
    triggers:
    a_trigger_is_there_once_and_its_secret_is_in_no_list,
    a_schedule_queues_once_for_all_who_look_and_never_twice_for_a_waiting_board,
    a_message_to_a_webhook_is_taken_once,
    the_kernels_around_a_change_are_queued_once;
    retention:
    traces_go_except_of_maxima_failures_recent_and_pinned_runs,
    a_run_pinned_after_the_list_was_made_stays,
    removing_that_was_interrupted_is_completed;
    uploads:
    an_archive_from_a_stream_is_there_once_with_its_recorded_files,
    an_upload_with_another_digest_is_refused_and_leaves_nothing,
    a_run_that_has_not_ended_is_neither_sent_nor_taken,
    received_at_once_by_many_it_is_there_once,
    an_upload_cut_by_a_crash_is_completed_or_removed,
    a_received_archive_that_was_damaged_is_taken_again;
    objects:
    an_acknowledged_archive_is_whole_in_the_object_store,
    a_connection_that_breaks_leaves_nothing_half_visible,
    an_object_that_was_changed_is_refused_and_replaced,
    removed_traces_and_pins_are_the_same_on_every_host,
    a_pin_that_waits_for_the_object_store_keeps_traces_and_holds_nobody_up,
    many_pins_at_once_are_all_kept,
    archives_that_the_object_store_lost_are_found;
    backup:
    a_backup_restores_what_only_the_index_has;
    schema:
    an_index_of_an_earlier_schema_is_updated_and_keeps_its_runs;
    open_data:
    an_export_has_every_run_in_its_partition,
    views_have_the_figures_of_the_runs;
    changes:
    a_step_a_second_mode_and_a_drift_are_found_with_their_kernels,
    scatter_is_no_change,
    a_change_keeps_its_triage_and_is_reported_once;
);
