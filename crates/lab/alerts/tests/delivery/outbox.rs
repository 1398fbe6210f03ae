//! Each message once, whatever goes on.

use crate::lab::{Lab, MINUTE_NS, START};
use crate::receiver::Receiver;
use alerts::deliver;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::alerts::{ATTEMPTS_MAX, AlertState, Due};
use store::changes::Triage;

fn hook(url: &str) -> String {
    format!("[destination.hook]\nkind = \"webhook\"\nurl = \"{url}/services/s3cret-path\"\n")
}

pub async fn many_servers_at_once_send_each_message_once(lab: Lab) {
    let (receiver, store) = (Receiver::start(), lab.open().await);
    let settings = Arc::new(lab.settings(&hook(&receiver.url())));
    lab.known(&store, &settings).await;
    for number in 0..6 {
        lab.add_change(&store, &format!("change-{number}"), &format!("board-{number}")).await;
    }
    let mut passes = Vec::new();
    for _ in 0..6 {
        // Each has its own connections, as processes have.
        let (store, settings) = (lab.open().await, Arc::clone(&settings));
        passes.push(tokio::spawn(async move {
            deliver(&store, &settings, Due::InTime, START + 2 * MINUTE_NS).await.unwrap()
        }));
    }
    let (mut sent, mut queued) = (0, 0);
    for pass in passes {
        let delivered = pass.await.unwrap();
        assert_eq!(delivered.failed, []);
        (sent, queued) = (sent + delivered.sent, queued + delivered.queued);
    }
    let names: BTreeSet<String> = receiver.posts().iter().map(|post| post.head["x-tardy-alert"].clone()).collect();
    assert_eq!((sent, queued, receiver.posts().len(), names.len()), (6, 6, 6, 6));
}

pub async fn a_receiver_that_is_down_is_tried_again_until_the_message_is_given_up_and_asked_for(lab: Lab) {
    let (receiver, store) = (Receiver::start(), lab.open().await);
    let settings = lab.settings(&hook(&receiver.url()));
    lab.known(&store, &settings).await;
    lab.add_change(&store, "change-1", "pi").await;
    receiver.refuse(Some("503 Service Unavailable"));
    let mut now = START + 2 * MINUTE_NS;
    for attempt in 1..=ATTEMPTS_MAX {
        let delivered = deliver(&store, &settings, Due::InTime, now).await.unwrap();
        assert_eq!((delivered.sent, delivered.failed.len()), (0, 1), "attempt {attempt}");
        let too_soon = deliver(&store, &settings, Due::InTime, now + MINUTE_NS).await.unwrap();
        assert_eq!(too_soon.failed.len(), 0, "it asked for two hours");
        now += 400 * MINUTE_NS;
    }
    let alert = store.alerts(10).await.unwrap().remove(0);
    assert_eq!(
        (alert.state, alert.attempts, receiver.posts().len() as u64),
        (AlertState::Dead, ATTEMPTS_MAX, ATTEMPTS_MAX)
    );
    assert_eq!(alert.message, "127.0.0.1 answered 503 Service Unavailable");
    assert_eq!(
        deliver(&store, &settings, Due::NotTriedSince(now), now).await.unwrap().failed.len(),
        0,
        "it is given up"
    );
    let findings = store.health(&[], "").await.unwrap().findings;
    assert!(findings.iter().any(|found| found.finding == "alerts-dead"), "{findings:?}");
    receiver.refuse(None);
    assert!(store.retry_alert(&alert.alert, "me", now).await.unwrap());
    assert!(!store.retry_alert(&alert.alert, "me", now).await.unwrap(), "it waits already");
    assert_eq!(deliver(&store, &settings, Due::InTime, now).await.unwrap().sent, 1);
    assert_eq!(store.alert(&alert.alert).await.unwrap().unwrap().state, AlertState::Sent);
    assert_eq!(store.actions(1).await.unwrap()[0].what, "alert");
}

pub async fn changes_triaged_or_found_before_are_not_sent(lab: Lab) {
    let (receiver, store) = (Receiver::start(), lab.open().await);
    lab.add_change(&store, "old", "pi").await;
    let settings = lab.settings(&hook(&receiver.url()));
    // A destination that is new after the change was found.
    assert_eq!(deliver(&store, &settings, Due::InTime, START + 2 * MINUTE_NS).await.unwrap().queued, 0);
    let settings = lab.settings(&hook(&receiver.url()).replace("hook]", "other]"));
    lab.known(&store, &settings).await;
    receiver.refuse(Some("500 Internal Server Error"));
    assert_eq!(deliver(&store, &settings, Due::InTime, START + 2 * MINUTE_NS).await.unwrap().failed.len(), 1);
    receiver.refuse(None);
    assert!(store.triage("old", Triage::Noise, "me").await.unwrap());
    let later = deliver(&store, &settings, Due::InTime, START + 1000 * MINUTE_NS).await.unwrap();
    assert_eq!((later.sent, receiver.posts().len(), store.alerts(10).await.unwrap().len()), (0, 1, 0));
}

pub async fn no_secret_reaches_the_index_or_an_error(lab: Lab) {
    let (receiver, store) = (Receiver::start(), lab.open().await);
    lab.file("key", "s3cret-key");
    lab.file("token", "s3cret-token");
    lab.file("url", &format!("{}/services/s3cret-path", receiver.url()));
    let settings = lab.settings(&format!(
        "[destination.hook]\nkind = \"webhook\"\nurl_secret = {{ file = \"url\" }}\nsecret = {{ file = \"key\" }}\n\
         [destination.issues]\nkind = \"github\"\nproject = \"a/b\"\napi = \"{}\"\ntoken = {{ file = \"token\" }}\n\
         [destination.mail]\nkind = \"mail\"\nserver = \"127.0.0.1:9\"\nsecurity = \"none\"\nfrom = \"a@b.org\"\nto = [\"a@b.org\"]\n\
         user = \"me\"\npassword = {{ file = \"token\" }}\n",
        receiver.url()
    ));
    assert!(!format!("{settings:?}").contains("s3cret"), "{settings:?}");
    lab.known(&store, &settings).await;
    lab.add_change(&store, "change-1", "pi").await;
    // An answer that repeats what was sent.
    receiver.refuse(Some("403 Forbidden"));
    let delivered = deliver(&store, &settings, Due::InTime, START + 2 * MINUTE_NS).await.unwrap();
    assert_eq!(delivered.failed.len(), 3);
    let stored = format!("{:?} {:?}", delivered, store.alerts(10).await.unwrap());
    assert!(!stored.contains("s3cret") && stored.contains("the token may be wrong"), "{stored}");
}

pub async fn the_changes_of_a_run_come_in_one_message(lab: Lab) {
    let (receiver, store) = (Receiver::start(), lab.open().await);
    let settings = lab.settings(&hook(&receiver.url()));
    lab.known(&store, &settings).await;
    lab.add_change(&store, "of-amd", "amd").await;
    lab.add_change(&store, "change-1", "pi").await;
    lab.add_figure("change-1", "change-2", "p50", [10_000.0, 11_000.0]).await;
    lab.add_figure("change-1", "change-3", "p99", [30_000.0, 90_000.0]).await;
    lab.add_figure("change-1", "change-4", "missed periods", [2.0, 3.0]).await;
    receiver.refuse(Some("500 Internal Server Error"));
    let failed = deliver(&store, &settings, Due::InTime, START + 2 * MINUTE_NS).await.unwrap();
    assert_eq!((failed.queued, failed.failed.len(), receiver.posts().len()), (5, 2, 2), "one attempt for each run");
    receiver.refuse(None);
    // What is known meanwhile is left out; the others come under the same name.
    assert!(store.triage("change-4", Triage::Known, "me").await.unwrap());
    let sent = deliver(&store, &settings, Due::InTime, START + 200 * MINUTE_NS).await.unwrap();
    assert_eq!((sent.sent, sent.failed), (2, vec![]));
    let of_pi = |post: &&crate::receiver::Request| post.json()["first"]["board"] == "pi";
    let posts: Vec<_> = receiver.posts().iter().filter(of_pi).cloned().collect();
    assert_eq!((posts.len(), &posts[0].head["x-tardy-alert"]), (2, &posts[1].head["x-tardy-alert"]));
    let json = posts[1].json();
    let also: Vec<&str> = json["also"].as_array().unwrap().iter().map(|one| one["figure"].as_str().unwrap()).collect();
    assert_eq!((&json["change"]["figure"], also), (&"p99".into(), vec!["p99.9", "p50"]), "the largest first");
    assert_eq!(json["subject"], "pi: p99 went from 30.0 µs to 90.0 µs (+200.0 %); p99.9 and p50 changed too");
    let text = json["message"].as_str().unwrap();
    for line in ["Change:      p50 changed\n", "\n  tardy lab store triage change-2 known\n"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let is_reported = async |change: &str| store.change(change).await.unwrap().unwrap().0.reported_unix_ns.is_some();
    assert!(is_reported("change-1").await && is_reported("change-2").await && !is_reported("change-4").await);
    // A figure that is found later has a message of its own.
    lab.add_figure("change-1", "change-5", "p99.99", [60_000.0, 99_000.0]).await;
    let later = deliver(&store, &settings, Due::InTime, START + 300 * MINUTE_NS).await.unwrap();
    assert_eq!((later.queued, later.sent, store.alerts(10).await.unwrap().len()), (1, 1, 5));
    let alone = receiver.posts().last().unwrap().json();
    assert_eq!((&alone["change"]["change"], alone["also"].as_array().unwrap().len()), (&"change-5".into(), 0));
}
