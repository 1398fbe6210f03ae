//! A mail server on loopback: SMTP as far as one message needs it, in clear or encrypted.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// When the server encrypts.
#[derive(Clone)]
pub enum Encryption {
    Never,
    /// After STARTTLS, which it offers.
    Starttls(Arc<ServerConfig>),
    FromTheStart(Arc<ServerConfig>),
}

#[derive(Clone)]
pub struct MailServer {
    address: SocketAddr,
    encryption: Encryption,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    mails: Vec<Mail>,
    /// Commands that arrived in clear, and those that arrived encrypted.
    clear: Vec<String>,
    encrypted: Vec<String>,
    /// Ends the connection after it took a mail, without a reply.
    is_lossy: bool,
}

/// A mail that was taken.
#[derive(Debug, Clone, Default)]
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
        Self::with(Encryption::Never)
    }

    pub fn with(encryption: Encryption) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap(), encryption, state: Arc::default() };
        let of = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let of = of.clone();
                thread::spawn(move || of.serve(stream));
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

    /// The commands that arrived in clear, and those that arrived encrypted.
    pub fn commands(&self) -> (Vec<String>, Vec<String>) {
        let state = self.state.lock().unwrap();
        (state.clear.clone(), state.encrypted.clone())
    }

    pub fn lose_replies(&self, is_lossy: bool) {
        self.state.lock().unwrap().is_lossy = is_lossy;
    }

    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let encrypted = |config: &Arc<ServerConfig>, stream| {
            StreamOwned::new(ServerConnection::new(Arc::clone(config)).unwrap(), stream)
        };
        match &self.encryption {
            Encryption::Never => {
                stream.write_all(b"220 stand-in\r\n").ok()?;
                self.dialogue(&mut stream, false, false).map(drop)
            }
            Encryption::Starttls(config) => {
                stream.write_all(b"220 stand-in\r\n").ok()?;
                self.dialogue(&mut stream, false, true)?;
                self.dialogue(&mut encrypted(config, stream), true, false).map(drop)
            }
            Encryption::FromTheStart(config) => {
                let mut stream = encrypted(config, stream);
                stream.write_all(b"220 stand-in\r\n").ok()?;
                self.dialogue(&mut stream, true, false).map(drop)
            }
        }
    }

    /// Answers until the client asks for encryption; `None` at the end of the connection.
    fn dialogue(&self, stream: &mut (impl Read + Write), is_encrypted: bool, offers: bool) -> Option<()> {
        let mut mail = Mail::default();
        loop {
            let line = line_of(stream)?;
            let command = line.trim_end().split([' ', ':']).next()?.to_ascii_uppercase();
            {
                let mut state = self.state.lock().unwrap();
                if is_encrypted { &mut state.encrypted } else { &mut state.clear }.push(command.clone());
            }
            let reply = match command.as_str() {
                "EHLO" if offers => "250-stand-in\r\n250-STARTTLS\r\n250-AUTH PLAIN\r\n250 8BITMIME",
                "EHLO" => "250-stand-in\r\n250-AUTH PLAIN\r\n250 8BITMIME",
                "STARTTLS" if offers => {
                    stream.write_all(b"220 go on\r\n").ok()?;
                    return Some(());
                }
                "STARTTLS" => "454 not here",
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
                        let line = line_of(stream)?;
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

/// A line with its end, and nothing after it: what follows may be the start of encryption.
fn line_of(stream: &mut impl Read) -> Option<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        line.push(byte[0]);
    }
    String::from_utf8(line).ok()
}
