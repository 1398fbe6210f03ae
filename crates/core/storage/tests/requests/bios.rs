//! Bios of fio, divided one by one.

use super::*;
use storage::account::account_of_bios;

const WORKER: i32 = 11;

fn of_fio(events: Vec<Event>) -> StorageAccount {
    let description = StorageDescription { fio_threads: vec![OWN], threads: Vec::new(), ..description() };
    let mut recorded = Recorded { events, ..Recorded::default() };
    recorded.names.insert(WORKER, format!("iou-wrk-{OWN}"));
    recorded.names.insert(JOURNAL, "iou-wrk-99".into());
    account_of_bios(&description, &recorded, (1000, 2000))
}

#[test]
fn a_bio_is_divided_from_the_block_layer_to_its_completion() {
    let account = of_fio(direct_write());
    use StoragePhase::*;
    let expected = [(BioToRequest, 20), (RequestToDevice, 30), (Device, 600), (InterruptToCompletion, 20)];
    assert_eq!((phases(&account), account.worst[0].due_ns, account.worst[0].latency_ns), (expected.into(), 1050, 670));
    assert_eq!((account.requests, account.split), (1, 1));
}

#[test]
fn several_at_a_time_count_each_and_those_of_others_or_before_the_run_do_not() {
    let of = |tid, from_ns: i64, sector| {
        let whole = sectors(sector, 8);
        [
            event(from_ns, tid, What::Queue(whole)),
            event(from_ns + 10, tid, What::Issue(whole)),
            interrupt(from_ns + 100, What::Complete(whole)),
        ]
    };
    let mut events: Vec<Event> =
        [of(OWN, 1100, 0), of(OWN, 1120, 8), of(WORKER, 1130, 16), of(JOURNAL, 1140, 24), of(OWN, 900, 32)].concat();
    events.sort_by_key(|event| event.at_ns);
    let account = of_fio(events);
    assert_eq!((account.requests, account.split), (3, 3));
    assert!(account.worst.iter().all(|bio| bio.latency_ns == 100), "{account:?}");
}
