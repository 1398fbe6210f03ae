//! Promises of triggers: schedules, webhooks, and the kernels around a change.

use crate::promises::Lab;
use std::collections::BTreeSet;
use store::queue::{DELIVERIES_WAITING_MAX, Delivery, TriggerRequest};
use synthetic_run::SyntheticRun;

const HOUR_NS: i64 = 3_600_000_000_000;

fn request(name: &str) -> TriggerRequest {
    TriggerRequest {
        name: name.into(),
        boards: vec!["pi".into(), "amd".into()],
        plan_name: name.into(),
        plan: "kernels = [\"{kernel}\"]".into(),
        kernels: ["6.1.1", "6.1.2", "6.1.3", "6.1.4"].map(str::to_owned).into(),
        attempts_max: 3,
        secret: Some("key".into()),
        ..TriggerRequest::default()
    }
}

pub async fn a_trigger_is_there_once_and_its_secret_is_in_no_list(lab: Lab) {
    let store = lab.open().await;
    assert!(store.add_trigger(&request("kernels"), "me").await.unwrap());
    assert!(!store.add_trigger(&TriggerRequest { plan: "other".into(), ..request("kernels") }, "you").await.unwrap());
    let listed = store.triggers().await.unwrap();
    assert_eq!((listed.len(), listed[0].webhook, listed[0].created_by.as_str()), (1, true, "me"));
    assert!(!serde_json::to_string(&listed).unwrap().contains("\"key\""));
    let (trigger, secret) = store.trigger("kernels").await.unwrap().unwrap();
    assert_eq!((&trigger, secret.as_deref()), (&listed[0], Some("key")));
    assert!(store.remove_trigger("kernels", "me").await.unwrap());
    assert!(!store.remove_trigger("kernels", "me").await.unwrap());
    let log: BTreeSet<String> = store.actions(10).await.unwrap().into_iter().map(|action| action.detail).collect();
    assert_eq!(log, ["added", "removed"].map(str::to_owned).into());
}

pub async fn a_schedule_queues_once_for_all_who_look_and_never_twice_for_a_waiting_board(lab: Lab) {
    let store = lab.open().await;
    let scheduled = TriggerRequest { every_ns: Some(HOUR_NS), next_unix_ns: Some(HOUR_NS), ..request("nightly") };
    store.add_trigger(&scheduled, "me").await.unwrap();
    assert!(store.queue_due(HOUR_NS - 1).await.unwrap().is_empty());
    let looks: Vec<_> = (0..4)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.queue_due(HOUR_NS).await.unwrap().len() })
        })
        .collect();
    let mut queued = 0;
    for look in looks {
        queued += look.await.unwrap();
    }
    assert_eq!(queued, 2, "one job for each board");
    // Three instants pass; the jobs still wait.
    assert!(store.queue_due(4 * HOUR_NS + 5).await.unwrap().is_empty());
    assert_eq!(store.trigger("nightly").await.unwrap().unwrap().0.next_unix_ns, Some(5 * HOUR_NS));
    for job in store.jobs(10).await.unwrap() {
        assert!(store.cancel(&job.job, "me", 1).await.unwrap());
    }
    assert_eq!(store.queue_due(5 * HOUR_NS).await.unwrap().len(), 2);
    let jobs = store.jobs(10).await.unwrap();
    assert_eq!((jobs.len(), jobs[0].because.as_str()), (4, "schedule nightly"));
}

pub async fn a_message_to_a_webhook_is_taken_once(lab: Lab) {
    let store = lab.open().await;
    store.add_trigger(&request("kernels"), "me").await.unwrap();
    let trigger = store.trigger("kernels").await.unwrap().unwrap().0;
    let Delivery::Queued(first) = store.deliver(&trigger, "a", Some("6.1.5"), 5).await.unwrap() else { panic!() };
    assert_eq!(store.deliver(&trigger, "a", Some("6.1.5"), 6).await.unwrap(), Delivery::Repeated(first.clone()));
    let job = store.job(&first[0]).await.unwrap().unwrap();
    assert_eq!((job.plan.as_str(), job.kernel.as_deref()), ("kernels = [\"6.1.5\"]", Some("6.1.5")));
    let harmful = store.deliver(&trigger, "b", Some("x\"]\ncommand = \"id"), 7).await.unwrap();
    let Delivery::Queued(without) = harmful else { panic!() };
    assert_eq!(store.job(&without[0]).await.unwrap().unwrap().kernel, None);
    let kernels = store.trigger("kernels").await.unwrap().unwrap().0.kernels;
    assert_eq!(kernels, ["6.1.1", "6.1.2", "6.1.3", "6.1.4", "6.1.5"]);
    for number in 0..DELIVERIES_WAITING_MAX {
        store.deliver(&trigger, &format!("more-{number}"), None, 8).await.unwrap();
    }
    assert_eq!(store.deliver(&trigger, "last", None, 9).await.unwrap(), Delivery::Full);
    assert_eq!(store.deliver(&trigger, "last", None, 10).await.unwrap(), Delivery::Full, "it was not taken");
}

pub async fn the_kernels_around_a_change_are_queued_once(lab: Lab) {
    let store = lab.open().await;
    for run in 0..24i64 {
        let (kernel, level) = if run < 12 { ("6.1.1", 20_000) } else { ("6.1.4", 40_000) };
        let latencies = (0..6000).map(|at| level + (at * 7919 + run * 104_729) % 3000).collect();
        let run_of = SyntheticRun { latencies, ..SyntheticRun::of("pi", kernel, run * HOUR_NS) };
        lab.add(&store, &format!("run-{run}"), &run_of).await;
    }
    let scenario = store.scenario_keys().await.unwrap().remove(0);
    store.find_changes(&scenario, 1).await.unwrap();
    let change = store.changes(Some(&scenario)).await.unwrap().remove(0);
    store.add_trigger(&request("kernels"), "me").await.unwrap();
    let trigger = store.trigger("kernels").await.unwrap().unwrap().0;
    assert!(trigger.can_backfill("pi") && !trigger.can_backfill("nuc"));
    let suspects = store.suspects_of_change(&change.change, &trigger.kernels).await.unwrap().unwrap();
    assert_eq!(suspects.kernels, ["6.1.2", "6.1.3"]);
    let jobs = store.queue_missing(&suspects.requests(&trigger), "me").await.unwrap();
    let said: Vec<&str> = jobs.iter().map(|job| job.plan.as_str()).collect();
    assert_eq!(said, ["kernels = [\"6.1.2\"]", "kernels = [\"6.1.3\"]"]);
    assert!(store.queue_missing(&suspects.requests(&trigger), "me").await.unwrap().is_empty(), "they wait already");
    assert!(store.suspects_of_change("no such change", &trigger.kernels).await.unwrap().is_none());
}
