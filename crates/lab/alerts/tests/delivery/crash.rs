//! A process that dies after a receiver took a message, and before that was recorded.

use crate::lab::{Lab, MINUTE_NS, START};
use crate::mail::MailServer;
use crate::receiver::Receiver;
use alerts::deliver;
use std::sync::Arc;
use std::time::Duration;
use store::alerts::{AlertState, Due};

/// Delivers in a task that ends in the middle of its wait for an answer: what it leaves in the index is what a process leaves
/// that is killed there.
async fn killed_while(lab: &Lab, settings: &Arc<alerts::Settings>, receiver: &Receiver, took: usize) {
    receiver.wait(true);
    let (store, of) = (lab.open().await, Arc::clone(settings));
    let pass = tokio::spawn(async move { deliver(&store, &of, Due::InTime, START + 2 * MINUTE_NS).await });
    while receiver.posts().len() < took {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    pass.abort();
    assert!(pass.await.unwrap_err().is_cancelled());
    receiver.wait(false);
}

pub async fn a_death_between_sending_and_recording_repeats_a_webhook_and_a_mail_under_the_same_name(lab: Lab) {
    let (receiver, server, store) = (Receiver::start(), MailServer::start(), lab.open().await);
    let hook = format!("[destination.hook]\nkind = \"webhook\"\nurl = \"{}/hook\"\n", receiver.url());
    let settings = Arc::new(lab.settings(&hook));
    lab.known(&store, &settings).await;
    lab.add_change(&store, "change-1", "pi").await;
    killed_while(&lab, &settings, &receiver, 1).await;
    let early = deliver(&store, &settings, Due::InTime, START + 3 * MINUTE_NS).await.unwrap();
    assert_eq!((early.sent, receiver.posts().len()), (0, 1), "its lease has not ended");
    let after = deliver(&store, &settings, Due::InTime, START + 10 * MINUTE_NS).await.unwrap();
    let names: Vec<String> = receiver.posts().iter().map(|post| post.head["x-tardy-alert"].clone()).collect();
    assert_eq!((after.sent, names.len()), (1, 2), "one more, not more");
    assert_eq!(names[0], names[1]);
    for later in 11..14 {
        deliver(&store, &settings, Due::InTime, START + later * 100 * MINUTE_NS).await.unwrap();
    }
    assert_eq!(receiver.posts().len(), 2);

    let mail = format!(
        "[destination.mail]\nkind = \"mail\"\nserver = \"{}\"\nsecurity = \"none\"\nfrom = \"a@b.org\"\nto = [\"a@b.org\"]\n",
        server.address()
    );
    let settings = lab.settings(&mail);
    lab.known(&store, &settings).await;
    server.lose_replies(true);
    let lost = deliver(&store, &settings, Due::InTime, START + 2 * MINUTE_NS).await.unwrap();
    assert_eq!((lost.sent, lost.failed.len(), server.mails().len()), (0, 1, 1));
    server.lose_replies(false);
    assert_eq!(deliver(&store, &settings, Due::InTime, START + 10 * MINUTE_NS).await.unwrap().sent, 1);
    let mails = server.mails();
    assert_eq!((mails.len(), mails[0].header("Message-ID")), (2, mails[1].header("Message-ID")));
}

pub async fn a_death_between_sending_and_recording_leaves_one_issue_and_one_comment(lab: Lab) {
    for (kind, project, issue) in [
        ("github", "a/b", ""),
        ("github", "a/b", "issue = 3\n"),
        ("gitlab", "a/b/c", ""),
        ("gitlab", "a/b/c", "issue = 3\n"),
    ] {
        let (receiver, store) = (Receiver::start(), lab.open().await);
        lab.file("token", "x");
        let name = format!("{kind}{}", issue.len());
        let settings = Arc::new(lab.settings(&format!(
            "[destination.{name}]\nkind = \"{kind}\"\nproject = \"{project}\"\n{issue}api = \"{}\"\ntoken = {{ file = \"token\" }}\n",
            receiver.url()
        )));
        lab.known(&store, &settings).await;
        if store.changes(None).await.unwrap().is_empty() {
            lab.add_change(&store, "change-1", "pi").await;
        }
        killed_while(&lab, &settings, &receiver, 1).await;
        let after = deliver(&store, &settings, Due::InTime, START + 10 * MINUTE_NS).await.unwrap();
        assert_eq!((after.sent, after.failed, receiver.posts().len()), (1, vec![], 1), "{name}: it was found");
        let alert = store.alerts(10).await.unwrap().into_iter().find(|alert| alert.destination == name).unwrap();
        assert_eq!((alert.state, alert.attempts), (AlertState::Sent, 2));
    }
}
