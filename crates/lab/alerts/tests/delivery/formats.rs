//! The formats that receivers get.

use crate::lab::{HOSTILE, Lab, MINUTE_NS, START};
use crate::mail::MailServer;
use crate::receiver::Receiver;
use alerts::deliver;
use store::alerts::{AlertState, Due};
use store::hmac::signature;

pub async fn every_destination_gets_one_message_and_hostile_names_stay_text(lab: Lab) {
    let (receiver, server, store) = (Receiver::start(), MailServer::start(), lab.open().await);
    for (name, secret) in [("key", "signing key"), ("token", "forge-token"), ("password", "mail-password")] {
        lab.file(name, secret);
    }
    let url = receiver.url();
    let settings = lab.settings(&format!(
        "[destination.hook]\nkind = \"webhook\"\nurl = \"{url}/hook\"\nsecret = {{ file = \"key\" }}\n\
         [destination.issues]\nkind = \"github\"\nproject = \"lab/boards\"\nlabels = [\"latency\"]\napi = \"{url}/github\"\ntoken = {{ file = \"token\" }}\n\
         [destination.notes]\nkind = \"gitlab\"\nproject = \"lab/a/boards\"\nissue = 7\napi = \"{url}/gitlab\"\ntoken = {{ file = \"token\" }}\n\
         [destination.people]\nkind = \"mail\"\nserver = \"{}\"\nsecurity = \"none\"\nfrom = \"Lab <lab@example.org>\"\nto = [\"a@example.org\", \"b@example.org\"]\n\
         user = \"lab\"\npassword = {{ file = \"password\" }}\n",
        server.address()
    ));
    lab.known(&store, &settings).await;
    let change = lab.add_change(&store, "change-1", HOSTILE).await;
    let delivered = deliver(&store, &settings, Due::InTime, START + 2 * MINUTE_NS).await.unwrap();
    assert_eq!((delivered.queued, delivered.sent, delivered.failed), (4, 4, vec![]));
    let again = deliver(&store, &settings, Due::InTime, START + 100 * MINUTE_NS).await.unwrap();
    assert_eq!((again.queued, again.sent), (0, 0));
    let posts = receiver.posts();
    assert_eq!((posts.len(), server.mails().len()), (3, 1));
    let of =
        |path: &str| posts.iter().find(|post| post.path == path).unwrap_or_else(|| panic!("{path}: {posts:?}")).clone();

    let hook = of("/hook");
    assert_eq!(hook.head["x-hub-signature-256"], signature("signing key", hook.body.as_bytes()));
    let json = hook.json();
    assert_eq!((json["alert_version"].as_u64(), json["change"]["change"].as_str()), (Some(1), Some(change.as_str())));
    assert_eq!(hook.head["x-tardy-alert"], json["alert"].as_str().unwrap());
    assert_eq!((&json["first"]["kernel"], &json["last_before"]["kernel"]), (&"6.1.1-`rt`".into(), &"6.1.0".into()));
    assert!(json["link"].as_str().unwrap().starts_with("https://lab.example/boards/pi%60%3C%2Fcode%3E"), "{json}");
    assert!(json["subject"].as_str().unwrap().contains("p99.9 went from 50.0 µs to 80.0 µs (+60.0 %)"), "{json}");

    let issue = of("/github/repos/lab/boards/issues");
    assert_eq!(issue.head["authorization"], "Bearer forge-token");
    assert_eq!(issue.json()["labels"], serde_json::json!(["latency"]));
    let note = of("/gitlab/projects/lab%2Fa%2Fboards/issues/7/notes");
    assert_eq!(note.head["private-token"], "forge-token");
    for markdown in [issue.json()["body"].as_str().unwrap(), note.json()["body"].as_str().unwrap()] {
        assert!(markdown.contains("First bad: ") && markdown.contains("Last good: `Linux 6.1.0"), "{markdown}");
        for line in markdown.lines() {
            let outside = without_code_spans(line);
            for sign in ["<img", "@all", "#1", "//evil"] {
                assert!(!outside.contains(sign), "{line}");
            }
            assert!(!line.starts_with('/'), "{line}");
        }
    }

    let mail = &server.mails()[0];
    assert_eq!(mail.recipients, ["RCPT TO:<a@example.org>", "RCPT TO:<b@example.org>"]);
    assert!(mail.login.as_ref().unwrap().starts_with("AUTH PLAIN "));
    assert!(mail.header("Message-ID").ends_with("@example.org>"));
    assert_eq!(
        (mail.header("Auto-Submitted"), mail.header("From")),
        ("auto-generated".into(), "Lab <lab@example.org>".into())
    );
    assert!(mail.header("Content-Type").starts_with("text/plain"));
    assert!(mail.text.split("\r\n\r\n").next().unwrap().lines().count() < 20, "no header was added: {}", mail.text);
    assert!(mail.body().contains("Last good:   Linux 6.1.0, 1970-01-01 "), "{}", mail.body());
    let all = store.alerts(10).await.unwrap();
    assert!(all.iter().all(|alert| (alert.state, alert.attempts) == (AlertState::Sent, 1)), "{all:?}");
}

/// The part of a line of Markdown outside of its code spans, by the rule of CommonMark: a span ends at a row of as many backticks.
fn without_code_spans(line: &str) -> String {
    let (mut outside, mut rest) = (String::new(), line);
    while let Some(at) = rest.find('`') {
        outside.push_str(&rest[..at]);
        let fence = rest[at..].chars().take_while(|letter| *letter == '`').count();
        let after = &rest[at + fence..];
        let mut place = 0;
        let end = loop {
            let Some(next) = after[place..].find('`') else { break None };
            let row = after[place + next..].chars().take_while(|letter| *letter == '`').count();
            if row == fence {
                break Some(place + next);
            }
            place += next + row;
        };
        match end {
            Some(end) => rest = &after[end + fence..],
            None => {
                outside.push_str(&rest[at..]);
                return outside;
            }
        }
    }
    outside.push_str(rest);
    outside
}

pub async fn a_change_reaches_the_destinations_of_its_rules_only(lab: Lab) {
    let (receiver, store) = (Receiver::start(), lab.open().await);
    let url = receiver.url();
    let text = format!(
        "[[rule]]\nboard = \"pi*\"\nto = [\"a\"]\n[[rule]]\nboard = \"amd\"\ndirection = \"better\"\nto = [\"b\"]\n\
         [[rule]]\nboard = \"*\"\np_value_max = 0.00001\nto = [\"b\"]\n[[rule]]\nfigure = \"p99.9\"\nboard = \"amd\"\nto = [\"c\"]\n\
         [destination.a]\nkind = \"webhook\"\nurl = \"{url}/a\"\n[destination.b]\nkind = \"webhook\"\nurl = \"{url}/b\"\n\
         [destination.c]\nkind = \"webhook\"\nurl = \"{url}/c\"\n"
    );
    let settings = lab.parsed(&text);
    lab.known(&store, &settings).await;
    lab.add_change(&store, "of-pi", "pi-4").await;
    lab.add_change(&store, "of-amd", "amd").await;
    deliver(&store, &settings, Due::InTime, START + 2 * MINUTE_NS).await.unwrap();
    let mut got: Vec<(String, String)> = receiver
        .posts()
        .iter()
        .map(|post| (post.path.clone(), post.json()["change"]["change"].as_str().unwrap().to_owned()))
        .collect();
    got.sort();
    assert_eq!(got, [("/a".into(), "of-pi".into()), ("/c".into(), "of-amd".into())]);
}
