//! Tests of deliveries, with outputs of the test.

use super::super::entry::Fact;
use super::super::ring::DiskRing;
use super::*;
use fixtures::waiting::wait_until;
use tempfile::TempDir;

/// Answers of an output of a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Takes,
    Hangs,
    Fails,
    /// An entry of an odd number, for ever.
    RefusesOdd,
}

struct Tested {
    does: Does,
    taken: Arc<Mutex<Vec<u64>>>,
}

impl Output for Tested {
    const NAME: &'static str = "tested";
    const KINDS: &'static [&'static str] = &["gap"];

    async fn deliver(&mut self, entry: &Logged) -> Result<(), Failure> {
        match self.does {
            Does::Hangs => std::future::pending().await,
            Does::Fails => return Err(Failure::of("the receiver is down")),
            Does::RefusesOdd if entry.number % 2 == 1 => {
                return Err(Failure { is_final: true, pause: Some(Duration::ZERO), ..Failure::of("odd") });
            }
            Does::Takes | Does::RefusesOdd => {}
        }
        self.taken.lock().unwrap().push(entry.number);
        Ok(())
    }
}

/// A log with outputs that start with it.
struct Log {
    folder: TempDir,
    ring: DiskRing,
}

impl Log {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ring = DiskRing::open(folder.path(), 8).unwrap();
        Self { folder, ring }
    }

    fn start(&self, does: Does) -> (Delivery, Arc<Mutex<Vec<u64>>>) {
        let taken = Arc::default();
        let output = Tested { does, taken: Arc::clone(&taken) };
        (Delivery::start(output, self.folder.path(), Arc::default()).unwrap(), taken)
    }

    fn append(&mut self, to: &[&Delivery]) {
        let (_, line) = self.ring.append(Fact::Gap { ms: 1 }).unwrap();
        let entry = Logged::of(line).unwrap();
        to.iter().for_each(|delivery| delivery.add(&entry));
    }
}

fn ended(delivery: Delivery) -> Deliveries {
    delivery.end();
    delivery.join().1
}

#[test]
fn entries_that_were_not_acknowledged_are_sent_by_the_next_guard() {
    let mut log = Log::new();
    log.append(&[]);
    let (first, taken) = log.start(Does::Takes);
    log.append(&[&first]);
    wait_until("the entry is taken", || *taken.lock().unwrap() == [2]);
    assert_eq!(ended(first), Deliveries { waiting: 0, delivered: 1, undelivered: 0 });
    let (second, taken) = log.start(Does::Fails);
    log.append(&[&second]);
    log.append(&[&second]);
    assert_eq!(ended(second), Deliveries { waiting: 2, delivered: 0, undelivered: 0 });
    assert!(taken.lock().unwrap().is_empty());
    let (third, taken) = log.start(Does::Takes);
    log.append(&[&third]);
    wait_until("all are taken", || taken.lock().unwrap().len() == 3);
    assert_eq!(*taken.lock().unwrap(), [3, 4, 5], "in order, each once");
    assert_eq!(ended(third).delivered, 3);
}

#[test]
fn a_receiver_that_hangs_delays_neither_the_log_nor_another_output_nor_the_end() {
    let mut log = Log::new();
    let (hanging, _) = log.start(Does::Hangs);
    let other = Log::new();
    let (taking, taken) = other.start(Does::Takes);
    for _ in 0..50 {
        log.append(&[&hanging, &taking]);
    }
    wait_until("the other output has all", || taken.lock().unwrap().len() == 50);
    hanging.end();
    assert_eq!(ended(taking).delivered, 50);
    assert_eq!(hanging.join().1, Deliveries { waiting: 50, delivered: 0, undelivered: 0 });
}

#[test]
fn an_entry_that_is_refused_is_counted_and_does_not_hold_up_those_behind_it() {
    let mut log = Log::new();
    let (delivery, taken) = log.start(Does::RefusesOdd);
    for _ in 0..4 {
        log.append(&[&delivery]);
    }
    wait_until("the even ones are taken", || *taken.lock().unwrap() == [2, 4]);
    assert_eq!(ended(delivery), Deliveries { waiting: 0, delivered: 2, undelivered: 2 });
}
