//! Proofs in the events of a request about its time.

use super::*;

fn named(account: &StorageAccount) -> Vec<(StorageCause, Option<i64>)> {
    account.worst[0].causes.clone()
}

#[test]
fn a_plug_is_named_for_the_time_that_it_held_the_request() {
    let mut events = direct_write();
    events.insert(2, event(1061, OWN, What::Plug));
    events[3].at_ns = 1300;
    events[4].at_ns = 1310;
    events[5].at_ns = 1320;
    events.insert(3, event(1290, OWN, What::Unplug));
    assert_eq!(
        named(&of(&description(), &events)),
        [(StorageCause::Plug, Some(229)), (StorageCause::WakeUp, Some(70))]
    );
    events.remove(3);
    let unproven = named(&of(&description(), &events));
    assert!(unproven.iter().all(|(cause, _)| *cause != StorageCause::Plug), "a plug without an end: {unproven:?}");
}

#[test]
fn a_sleep_before_the_request_waited_for_a_free_one() {
    assert_eq!(named(&of(&description(), &without_request(0))), [(StorageCause::NoRequest, Some(300))]);
}

#[test]
fn the_scheduler_is_named_unless_the_driver_gave_the_request_back() {
    let mut events = direct_write();
    events[3].at_ns = 1600;
    events[4].at_ns = 1610;
    let mut scheduled = description();
    scheduled.device.scheduler = "mq-deadline".into();
    assert_eq!(named(&of(&scheduled, &events))[0], (StorageCause::Scheduler, Some(530)));
    assert_eq!(named(&of(&description(), &events))[0], (StorageCause::Queue, Some(530)));
    let mut given_back = direct_write();
    given_back.insert(5, event(1200, 3, What::Requeue(sectors(100, 8))));
    given_back.insert(6, event(1500, 3, What::Issue(sectors(100, 8))));
    assert_eq!(named(&of(&scheduled, &given_back))[0], (StorageCause::Queue, Some(330)));
}

#[test]
fn a_write_through_the_cache_is_named_with_its_time_at_the_device() {
    let fua = |event: &Event| {
        let with = |extent: Extent| Extent { is_fua: true, ..extent };
        let what = if let What::Queue(extent) = event.what { What::Queue(with(extent)) } else { event.what };
        Event { what, ..*event }
    };
    let events: Vec<Event> = direct_write().iter().map(fua).collect();
    assert_eq!(named(&of(&description(), &events))[0], (StorageCause::Fua, Some(600)));
}

#[test]
fn a_softirq_is_named_only_between_the_interrupt_and_the_completion_on_its_cpu() {
    let mut events = direct_write();
    events[6].at_ns = 1790;
    events[7].at_ns = 1795;
    events.insert(6, interrupt(1760, What::BlockSoftirq));
    assert!(named(&of(&description(), &events)).contains(&(StorageCause::Softirq, Some(90))));
    events[6].cpu = 1;
    assert!(named(&of(&description(), &events)).iter().all(|(cause, _)| *cause != StorageCause::Softirq));
}

#[test]
fn a_sleep_after_the_kernel_throttled_the_thread_is_named() {
    let throttled = event(1090, OWN, What::DirtyThrottling);
    let slept = [sleep(1100), interrupt(1790, What::Waking { tid: OWN }), awake(1800)];
    let events = [&[throttled][..], &slept].concat();
    assert_eq!(named(&of(&description(), &events))[0], (StorageCause::DirtyThrottling, Some(700)));
    let request_between = [&[throttled, event(1095, OWN, What::Queue(FLUSH))][..], &slept].concat();
    assert!(
        named(&of(&description(), &request_between)).iter().all(|(cause, _)| *cause != StorageCause::DirtyThrottling)
    );
}

/// A thread that sleeps for 300 between its bio and its request, while others use that many requests.
fn without_request(in_use: u64) -> Vec<Event> {
    let whole = sectors(100, 8);
    let others = (0..in_use).flat_map(|number| {
        let other = sectors(10_000 + 100 * number, 8);
        [(900, What::Queue(other)), (901, What::Get(other)), (902, What::Issue(other)), (2500, What::Complete(other))]
    });
    let mut events: Vec<Event> = others.map(|(at_ns, what)| event(at_ns, 50, what)).collect();
    events.extend([
        event(1050, OWN, What::Queue(whole)),
        sleep(1100),
        interrupt(1390, What::Waking { tid: OWN }),
        awake(1400),
        event(1410, OWN, What::Get(whole)),
        event(1450, OWN, What::Issue(whole)),
        sleep(1460),
        interrupt(1900, What::Complete(whole)),
        interrupt(1905, What::Waking { tid: OWN }),
        awake(1910),
    ]);
    events.sort_by_key(|event| event.at_ns);
    events
}

#[test]
fn requests_in_use_distinguish_writeback_throttling_from_a_lack_of_requests() {
    let of_device = |requests_max, throttles_writeback, in_use| {
        let mut description = description();
        (description.device.requests_max, description.device.throttles_writeback) = (requests_max, throttles_writeback);
        named(&of(&description, &without_request(in_use)))[0]
    };
    assert_eq!(of_device(4, true, 3), (StorageCause::WritebackThrottling, Some(300)));
    assert_eq!(of_device(4, false, 4), (StorageCause::AllInUse, Some(300)));
    // Both are possible, or neither; the last is an archive of an earlier version.
    assert_eq!(of_device(4, true, 4), (StorageCause::NoRequest, Some(300)));
    assert_eq!(of_device(4, false, 3), (StorageCause::NoRequest, Some(300)));
    assert_eq!(of_device(0, false, 3), (StorageCause::NoRequest, Some(300)));
}

#[test]
fn a_request_that_a_limit_of_the_cgroup_held_back_is_submitted_by_a_thread_of_the_kernel() {
    use StoragePhase::*;
    let whole = sectors(100, 8);
    let events = [
        sleep(1050),
        event(1600, 20, What::Queue(whole)),
        event(1610, 20, What::Get(whole)),
        event(1650, 20, What::Issue(whole)),
        interrupt(1900, What::Complete(whole)),
        interrupt(1905, What::Waking { tid: OWN }),
        awake(1910),
    ];
    let account_of = |limits: &str, submitter: &str| {
        let mut description = description();
        description.device.cgroup_limits = limits.into();
        let mut recorded = Recorded { events: events.to_vec(), ..Recorded::default() };
        recorded.events.insert(0, event(0, 1, What::BlockSoftirq));
        recorded.events.push(event(3000, 1, What::BlockSoftirq));
        recorded.names.insert(20, submitter.into());
        account(&description, &recorded, &[Samples { thread: 0, samples: vec![(1000, 1000)] }])
    };
    let held = account_of("/slow: wiops=200", "kworker/0:1");
    assert_eq!(named(&held)[0], (StorageCause::CgroupLimit, Some(550)));
    assert!(phases(&held).contains(&(Device, 250)) && phases(&held).contains(&(WithoutRequest, 600)), "{held:?}");
    for other in [account_of("", "kworker/0:1"), account_of("/slow: wiops=200", "other")] {
        assert!(named(&other).iter().all(|(cause, _)| *cause != StorageCause::CgroupLimit), "{other:?}");
        assert_eq!(phases(&other)[0].0, WithoutRequest);
    }
}

#[test]
fn a_completion_whose_thread_has_no_cpu_says_so() {
    const THREAD: i32 = 44;
    let mut events = direct_write();
    events.insert(0, event(900, THREAD, What::Switch { prev: THREAD, next: 0, waits: true }));
    let at = events.iter().position(|event| matches!(event.what, What::Complete(_))).unwrap();
    events[at] = event(1780, THREAD, What::Complete(sectors(100, 8)));
    events[at + 1] = event(1785, THREAD, What::Waking { tid: OWN });
    events.insert(at, event(1770, 50, What::Switch { prev: 50, next: THREAD, waits: false }));
    events.insert(at, interrupt(1702, What::Waking { tid: THREAD }));
    let account = of(&description(), &events);
    assert!(phases(&account).contains(&(StoragePhase::InterruptToCompletion, 80)));
    assert!(
        account.worst[0].causes.contains(&(StorageCause::CompletionWait, Some(68))),
        "{:?}",
        account.worst[0].causes
    );
}

#[test]
fn a_preempted_completion_and_a_preempted_thread_are_named() {
    const THREAD: i32 = 44;
    let mut events = direct_write();
    let at = events.iter().position(|event| matches!(event.what, What::Complete(_))).unwrap();
    events[at] = event(1720, THREAD, What::Complete(sectors(100, 8)));
    events.insert(at, event(1719, 50, What::Switch { prev: 50, next: THREAD, waits: false }));
    events.insert(at, event(1702, THREAD, What::Switch { prev: THREAD, next: 50, waits: false }));
    let submission = [
        event(1001, OWN, What::Switch { prev: OWN, next: 50, waits: false }),
        event(1049, 50, What::Switch { prev: 50, next: OWN, waits: false }),
    ];
    events.splice(0..0, submission);
    // The wait of 70 ns after the wake-up counts, too.
    let runnable = (StorageCause::WakeUp, Some(70 + 48));
    assert_eq!(named(&of(&description(), &events)), [runnable]);
    // 17 of 1000 ns are not worth a line.
    events.iter_mut().filter(|event| event.at_ns == 1702).for_each(|event| event.at_ns = 1601);
    events.iter_mut().filter(|event| event.at_ns == 1700).for_each(|event| event.at_ns = 1600);
    let completion = (StorageCause::CompletionWait, Some(118));
    let account = of(&description(), &events);
    assert!(named(&account).contains(&completion) && named(&account).contains(&runnable), "{account:?}");
}
