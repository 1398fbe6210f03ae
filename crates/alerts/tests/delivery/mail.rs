//! A mail server on loopback: SMTP as far as one message needs it.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Clone)]
pub struct MailServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    mails: Vec<Mail>,
    /// Ends the connection after it took a mail, without a reply.
    is_lossy: bool,
}

/// A mail that was taken.
#[derive(Debug, Clone)]
pub struct Mail {
    pub recipients: Vec<String>,
    pub login: Option<String>,
    pub text: String,
}

impl Mail {
    /// A header, with its folded lines joined.
    pub fn header(&self, name: &str) -> String {
        let head = self.text.split("\r\n\r\n").next().unwrap().replace("\r\n ", " ");
        let line = head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")).map(str::to_owned));
        line.unwrap_or_else(|| panic!("no {name} in {head}"))
    }

    pub fn body(&self) -> &str {
        self.text.split_once("\r\n\r\n").unwrap().1
    }
}

impl MailServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap(), state: Arc::default() };
        let of = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let of = of.clone();
                thread::spawn(move || of.serve(&stream));
            }
        });
        server
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn mails(&self) -> Vec<Mail> {
        self.state.lock().unwrap().mails.clone()
    }

    pub fn lose_replies(&self, is_lossy: bool) {
        self.state.lock().unwrap().is_lossy = is_lossy;
    }

    fn serve(&self, mut stream: &TcpStream) -> Option<()> {
        let mut lines = BufReader::new(stream.try_clone().ok()?);
        let mut mail = Mail { recipients: Vec::new(), login: None, text: String::new() };
        stream.write_all(b"220 stand-in\r\n").ok()?;
        loop {
            let mut line = String::new();
            lines.read_line(&mut line).ok().filter(|count| *count > 0)?;
            let reply = match line.trim_end().split([' ', ':']).next()?.to_ascii_uppercase().as_str() {
                "EHLO" => "250-stand-in\r\n250-AUTH PLAIN\r\n250 8BITMIME",
                "AUTH" => {
                    mail.login = Some(line.trim_end().to_owned());
                    "235 welcome"
                }
                "RCPT" => {
                    mail.recipients.push(line.trim_end().to_owned());
                    "250 ok"
                }
                "DATA" => {
                    stream.write_all(b"354 go on\r\n").ok()?;
                    loop {
                        let mut line = String::new();
                        lines.read_line(&mut line).ok()?;
                        if line == ".\r\n" {
                            break;
                        }
                        mail.text.push_str(line.strip_prefix('.').unwrap_or(&line));
                    }
                    let mut state = self.state.lock().unwrap();
                    state.mails.push(mail.clone());
                    if state.is_lossy {
                        return None;
                    }
                    "250 taken"
                }
                "QUIT" => "221 bye",
                _ => "250 ok",
            };
            stream.write_all(format!("{reply}\r\n").as_bytes()).ok()?;
        }
    }
}
