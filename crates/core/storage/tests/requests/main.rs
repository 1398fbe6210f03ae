//! Requests made of events: what their phases are, and that they always add up.

mod bios;
mod causes;

use archive::recorded_pages::RecordedPages;
use archive::storage::{StorageAccount, StorageCause, StorageDescription, StorageDevice, StoragePhase};
use proptest::prelude::*;
use storage::Samples;
use storage::account::account;
use storage::read::{Event, Extent, Recorded, What};

const OWN: i32 = 7;
const JOURNAL: i32 = 9;

fn sectors(sector: u64, sectors: u64) -> Extent {
    Extent { sector, sectors, is_flush: false, is_fua: false }
}

const FLUSH: Extent = Extent { sector: 0, sectors: 0, is_flush: true, is_fua: false };

fn event(at_ns: i64, tid: i32, what: What) -> Event {
    Event { at_ns, cpu: 0, tid, in_interrupt: false, what }
}

fn interrupt(at_ns: i64, what: What) -> Event {
    Event { in_interrupt: true, ..event(at_ns, 99, what) }
}

fn description() -> StorageDescription {
    StorageDescription {
        device: StorageDevice { number: 1, interrupts: vec![36], ..StorageDevice::default() },
        threads: vec![(0, OWN)],
        ..StorageDescription::default()
    }
}

/// The account of one request from 1000 to 2000.
fn of(description: &StorageDescription, events: &[Event]) -> StorageAccount {
    let mut recorded = Recorded { events: events.to_vec(), ..Recorded::default() };
    recorded.events.insert(0, event(0, 1, What::BlockSoftirq));
    recorded.events.push(event(3000, 1, What::BlockSoftirq));
    recorded.names.insert(JOURNAL, "jbd2/vda-8".into());
    account(description, &recorded, &[Samples { thread: 0, samples: vec![(1000, 1000)] }])
}

fn phases(account: &StorageAccount) -> Vec<(StoragePhase, i64)> {
    let request = &account.worst[0];
    assert_eq!(request.phases.iter().map(|(_, ns)| ns).sum::<i64>(), request.latency_ns);
    request.phases.clone()
}

fn sleep(at_ns: i64) -> Event {
    event(at_ns, OWN, What::Switch { prev: OWN, next: 0, waits: true })
}

fn awake(at_ns: i64) -> Event {
    event(at_ns, 0, What::Switch { prev: 0, next: OWN, waits: false })
}

fn direct_write() -> Vec<Event> {
    let whole = sectors(100, 8);
    vec![
        event(1050, OWN, What::Queue(whole)),
        event(1060, OWN, What::Get(whole)),
        event(1070, OWN, What::Insert(whole)),
        event(1100, OWN, What::Issue(whole)),
        sleep(1150),
        interrupt(1700, What::Interrupt { number: 36 }),
        interrupt(1720, What::Complete(whole)),
        interrupt(1730, What::Waking { tid: OWN }),
        awake(1800),
    ]
}

#[test]
fn a_request_goes_through_all_seven_phases() {
    use StoragePhase::*;
    let account = of(&description(), &direct_write());
    let expected = [
        (Submission, 50),
        (BioToRequest, 20),
        (RequestToDevice, 30),
        (Device, 600),
        (InterruptToCompletion, 20),
        (CompletionToWakeUp, 10),
        (WakeUpToUser, 270),
    ];
    assert_eq!(phases(&account), expected);
    assert_eq!((account.software_permille, account.split), (Some(400), 1));
}

#[test]
fn an_interrupt_of_another_device_is_no_part_of_the_request() {
    let mut events = direct_write();
    events[5] = interrupt(1700, What::Interrupt { number: 5 });
    let account = of(&description(), &events);
    assert!(phases(&account).contains(&(StoragePhase::Device, 620)), "{account:?}");
}

#[test]
fn interrupts_on_several_other_cpus_do_not_show_which_one_it_was() {
    let mut events = direct_write();
    events[5].cpu = 1;
    assert!(phases(&of(&description(), &events)).contains(&(StoragePhase::Device, 600)), "it is the only one");
    let second = Event { at_ns: 1710, cpu: 2, ..events[5] };
    events.insert(6, second);
    assert!(phases(&of(&description(), &events)).contains(&(StoragePhase::Device, 620)));
}

#[test]
fn a_request_that_is_given_back_is_at_the_device_only_while_it_is_there() {
    let mut events = direct_write();
    events.insert(5, event(1200, 3, What::Requeue(sectors(100, 8))));
    events.insert(6, event(1500, 3, What::Issue(sectors(100, 8))));
    let account = of(&description(), &events);
    assert!(phases(&account).contains(&(StoragePhase::Device, 300)) && account.requeued == 1);
    assert!(phases(&account).contains(&(StoragePhase::RequestToDevice, 330)));
    let causes: Vec<StorageCause> = account.worst[0].causes.iter().map(|(cause, _)| *cause).collect();
    assert_eq!(causes, [StorageCause::Queue, StorageCause::WakeUp, StorageCause::Requeued]);
}

#[test]
fn of_a_request_that_was_split_the_last_part_ends_it() {
    let (whole, first, rest) = (sectors(100, 16), sectors(100, 8), sectors(108, 8));
    let account = of(
        &description(),
        &[
            event(1050, OWN, What::Queue(whole)),
            event(1055, OWN, What::Split { sector: 100, at: 108 }),
            event(1100, OWN, What::Issue(first)),
            event(1110, OWN, What::Issue(rest)),
            sleep(1150),
            interrupt(1500, What::Complete(first)),
            interrupt(1700, What::Complete(rest)),
            interrupt(1700, What::Waking { tid: OWN }),
            awake(1800),
        ],
    );
    use StoragePhase::*;
    assert_eq!(phases(&account), [(Submission, 50), (BioToRequest, 50), (Device, 600), (WakeUpToUser, 300)]);
    assert_eq!(account.split_by_kernel, 2);
}

#[test]
fn a_part_that_was_merged_ends_with_the_request_it_is_in() {
    let (own, both) = (sectors(108, 8), sectors(100, 16));
    let account = of(
        &description(),
        &[
            event(1050, OWN, What::Queue(own)),
            event(1060, OWN, What::Merge(own)),
            event(1100, 5, What::Issue(both)),
            sleep(1150),
            interrupt(1700, What::Complete(both)),
            interrupt(1700, What::Waking { tid: OWN }),
            awake(1900),
        ],
    );
    assert!(phases(&account).contains(&(StoragePhase::Device, 600)) && account.merged == 1, "{account:?}");
}

#[test]
fn writes_of_the_journal_count_as_device_time_of_the_thread_that_waits() {
    let block = sectors(500, 8);
    let account = of(
        &description(),
        &[
            sleep(1100),
            event(1200, JOURNAL, What::Queue(block)),
            event(1210, JOURNAL, What::Issue(block)),
            interrupt(1500, What::Complete(block)),
            event(1550, JOURNAL, What::Queue(FLUSH)),
            event(1560, 4, What::Issue(FLUSH)),
            interrupt(1800, What::Complete(FLUSH)),
            event(1850, JOURNAL, What::Waking { tid: OWN }),
            awake(1900),
        ],
    );
    assert!(phases(&account).contains(&(StoragePhase::Device, 290 + 240)), "{account:?}");
    let causes: Vec<StorageCause> = account.worst[0].causes.iter().map(|(cause, _)| *cause).collect();
    assert_eq!(causes, [StorageCause::JournalCommit, StorageCause::Flush, StorageCause::WakeUp]);
}

#[test]
fn requests_of_another_thread_that_did_not_wake_this_one_are_none_of_its_time() {
    let block = sectors(500, 8);
    let account = of(
        &description(),
        &[
            event(1200, 4, What::Queue(block)),
            event(1210, 4, What::Issue(block)),
            interrupt(1500, What::Complete(block)),
        ],
    );
    assert_eq!(phases(&account), [(StoragePhase::WithoutRequest, 1000)]);
}

#[test]
fn a_device_that_maps_has_the_request_until_it_completes_it() {
    let mut description = description();
    description.device.maps = true;
    let whole = sectors(100, 8);
    let account = of(
        &description,
        &[
            event(1050, OWN, What::Queue(whole)),
            sleep(1150),
            interrupt(1700, What::CompletePart(whole)),
            interrupt(1710, What::Waking { tid: OWN }),
            awake(1800),
        ],
    );
    assert!(phases(&account).contains(&(StoragePhase::Device, 650)), "{account:?}");
}

#[test]
fn a_completion_of_a_device_that_maps_ends_no_neighbour_and_the_rest_of_a_split_request_all_of_it() {
    let mut description = description();
    description.device.maps = true;
    let (first, second) = (sectors(100, 8), sectors(108, 8));
    let account = of(
        &description,
        &[
            event(1050, OWN, What::Queue(first)),
            event(1060, OWN, What::Queue(second)),
            event(1070, OWN, What::Split { sector: 112, at: 112 }),
            sleep(1150),
            interrupt(1500, What::CompletePart(first)),
            interrupt(1700, What::CompletePart(sectors(112, 4))),
            interrupt(1710, What::Waking { tid: OWN }),
            awake(1800),
        ],
    );
    assert!(phases(&account).contains(&(StoragePhase::Device, 650)), "{account:?}");
    assert_eq!(account.split_by_kernel, 1);
}

#[test]
fn time_that_the_trace_does_not_show_is_not_split() {
    let whole = [(StoragePhase::NotSplit, 1000)];
    let unfinished = &direct_write()[..5];
    assert_eq!(phases(&of(&description(), unfinished)), whole);
    let recorded = Recorded { events: direct_write(), ..Recorded::default() };
    let samples = [Samples { thread: 0, samples: vec![(1000, 1000)] }];
    let outside = account(&description(), &recorded, &samples);
    assert_eq!(phases(&outside), whole, "the trace ends before the sample");
    let gap = Recorded { gaps: vec![1400], ..recorded };
    assert_eq!(phases(&account(&description(), &gap, &samples)), whole);
    assert_eq!(outside.software_permille, None);
}

#[test]
fn a_split_at_the_last_sector_is_no_split() {
    let last = sectors(u64::MAX, 8);
    let account = of(
        &description(),
        &[
            event(1050, OWN, What::Queue(last)),
            event(1060, OWN, What::Split { sector: u64::MAX, at: u64::MAX }),
            event(1100, OWN, What::Issue(last)),
            interrupt(1700, What::Complete(last)),
        ],
    );
    assert!(phases(&account).contains(&(StoragePhase::Device, 600)), "{account:?}");
    assert_eq!(account.split_by_kernel, 0);
}

#[test]
fn a_request_that_ends_after_the_last_instant_is_not_split() {
    let recorded = Recorded {
        events: vec![event(0, 1, What::BlockSoftirq), event(i64::MAX, 1, What::BlockSoftirq)],
        ..Recorded::default()
    };
    let samples = [Samples { thread: 0, samples: vec![(5, i64::MAX)] }];
    assert_eq!(phases(&account(&description(), &recorded, &samples)), [(StoragePhase::NotSplit, i64::MAX)]);
}

#[test]
fn flushes_that_overlap_count_once() {
    let account = of(
        &description(),
        &[
            event(1000, OWN, What::Queue(FLUSH)),
            event(1000, OWN, What::Issue(FLUSH)),
            event(1001, OWN, What::Queue(FLUSH)),
            event(1002, OWN, What::Queue(FLUSH)),
            event(1002, OWN, What::Issue(FLUSH)),
            interrupt(1800, What::Complete(FLUSH)),
        ],
    );
    assert_eq!(account.worst[0].causes, [(StorageCause::Flush, Some(800))]);
}

#[test]
fn flushes_that_overlap_for_centuries_cost_no_overflow() {
    let until_ns = i64::MAX - 1;
    let mut events = vec![event(0, 1, What::BlockSoftirq)];
    for at_ns in 1..4 {
        events.extend([event(at_ns, OWN, What::Queue(FLUSH)), event(at_ns, OWN, What::Issue(FLUSH))]);
    }
    events.extend([interrupt(until_ns, What::Complete(FLUSH)), event(i64::MAX, 1, What::BlockSoftirq)]);
    let recorded = Recorded { events, ..Recorded::default() };
    let samples = [Samples { thread: 0, samples: vec![(1, until_ns - 1)] }];
    let account = account(&description(), &recorded, &samples);
    assert_eq!(account.worst[0].causes, [(StorageCause::Flush, Some(until_ns - 1))]);
}

fn extents() -> impl Strategy<Value = Extent> {
    prop_oneof![(0_u64..40, 1_u64..20).prop_map(|(sector, length)| sectors(sector, length)), Just(FLUSH)]
}

fn whats() -> impl Strategy<Value = What> {
    let tid = prop_oneof![Just(OWN), Just(JOURNAL), Just(0), 1..4_i32];
    prop_oneof![
        extents().prop_map(What::Queue),
        extents().prop_map(What::Merge),
        (0_u64..40, 0_u64..60).prop_map(|(sector, at)| What::Split { sector, at }),
        extents().prop_map(What::Insert),
        extents().prop_map(What::MergeRequests),
        extents().prop_map(What::Issue),
        extents().prop_map(What::Requeue),
        extents().prop_map(What::Complete),
        extents().prop_map(What::CompletePart),
        tid.clone().prop_map(|tid| What::Waking { tid }),
        (tid.clone(), tid, any::<bool>()).prop_map(|(prev, next, waits)| What::Switch { prev, next, waits }),
        Just(What::Interrupt { number: 36 }),
        extents().prop_map(What::Get),
        Just(What::BlockSoftirq),
        Just(What::Plug),
        Just(What::Unplug),
        Just(What::DirtyThrottling),
        Just(What::ReclaimBegin),
        Just(What::ReclaimEnd),
    ]
}

proptest! {
    /// Whatever happened, and in whatever order, no nanosecond of a request is missing or counted twice.
    #[test]
    fn phases_add_up_for_any_events(
        events in proptest::collection::vec((0_i64..5000, 0_u32..3, prop_oneof![Just(OWN), Just(JOURNAL), 0..4_i32], any::<bool>(), whats()), 0..80),
        samples in proptest::collection::vec((0_i64..5000, -10_i64..3000), 0..10),
        gaps in proptest::collection::vec(0_i64..5000, 0..2),
        sorted in any::<bool>(),
        maps in any::<bool>(),
    ) {
        let mut events: Vec<Event> = events
            .into_iter()
            .map(|(at_ns, cpu, tid, in_interrupt, what)| Event { at_ns, cpu, tid, in_interrupt, what })
            .collect();
        if sorted {
            events.sort_by_key(|event| event.at_ns);
            events.insert(0, event(-1, 1, What::BlockSoftirq));
            events.push(event(9000, 1, What::BlockSoftirq));
        }
        let mut description = description();
        description.device.maps = maps;
        let recorded = Recorded { events, gaps, ..Recorded::default() };
        let account = account(&description, &recorded, &[Samples { thread: 0, samples: samples.clone() }]);
        prop_assert_eq!(account.requests, samples.len() as u64);
        for request in &account.worst {
            let sum: i64 = request.phases.iter().map(|(_, ns)| ns).sum();
            prop_assert_eq!(sum, request.latency_ns, "{:?}", request);
            prop_assert!(request.latency_ns < 0 || request.phases.iter().all(|(_, ns)| *ns > 0), "{:?}", request);
        }
    }

    /// Whatever a target sends as pages and as a description, it is read.
    #[test]
    fn any_pages_are_read(words in proptest::collection::vec(prop_oneof![0_u32..64, any::<u32>()], 0..2048), page_bytes in any::<u64>()) {
        let pages: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let format = "name: block_rq_issue\nID: 1\nformat:\n\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n";
        let recorded = RecordedPages { page_bytes, event_formats: vec![("block".into(), format.into())], ..RecordedPages::default() };
        let description = StorageDescription { recorded, ..description() };
        let cpus = [storage::CpuPages { cpu: 0, pages: &pages }];
        storage::account_of(&description, &cpus, &[Samples { thread: 0, samples: vec![(5, 7)] }]);
    }
}
