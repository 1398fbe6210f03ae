//! A server finds changes without a reader, and sends each once.

mod lab;

use alerts::Settings;
use lab::Lab;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};
use store::alerts::AlertState;

/// A receiver that keeps the bodies of what it gets.
fn receiver() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, bodies) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
    let taken = Arc::clone(&bodies);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut text, mut buffer) = (String::new(), [0; 4096]);
            let whole = |text: &str| {
                let (head, body) = text.split_once("\r\n\r\n")?;
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
                (body.len() == length.parse::<usize>().ok()?).then(|| body.to_owned())
            };
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
                if let Some(body) = whole(&text) {
                    taken.lock().unwrap().push(body);
                    let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
                    break;
                }
            }
        }
    });
    (address, bodies)
}

#[tokio::test]
async fn a_server_reports_each_change_once_without_a_reader() {
    let (address, bodies) = receiver();
    let text = format!(
        "link = \"http://lab.example\"\n[[rule]]\nboard = \"pi-4\"\nto = [\"hook\"]\n[destination.hook]\nkind = \"webhook\"\n\
         url = \"http://{address}/\"\n"
    );
    let lab = Lab::with_alerts(Settings::parse(&text, Path::new("alerts.toml")).unwrap()).await;
    server::alert(&lab.site).await.unwrap();
    lab.add_year().await;
    for _ in 0..2 {
        server::alert(&lab.site).await.unwrap();
    }
    let reports: Vec<serde_json::Value> =
        bodies.lock().unwrap().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    let names: BTreeSet<&str> = reports.iter().map(|report| report["alert"].as_str().unwrap()).collect();
    assert!(!reports.is_empty() && names.len() == reports.len(), "{reports:?}");
    // The step that was planted, with the kernel that brought it.
    assert!(reports.iter().any(|report| report["first"]["kernel"] == "6.12.8-rt5"), "{reports:?}");
    assert!(
        reports.iter().all(|report| report["link"].as_str().unwrap().starts_with("http://lab.example/boards/pi-4?"))
    );
    let alerts = lab.site.store().alerts(100).await.unwrap();
    // Each change once, and those of one run together.
    let changes = |report: &serde_json::Value| 1 + report["also"].as_array().unwrap().len();
    assert_eq!(alerts.len(), reports.iter().map(changes).sum::<usize>());
    assert!(alerts.iter().all(|alert| alert.state == AlertState::Sent));
}
