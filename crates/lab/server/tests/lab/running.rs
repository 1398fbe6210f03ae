//! A server with an address, on threads of its own.

use super::AsStored;
use server::{Lab, Limits, Listener};
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

pub struct Running {
    pub address: SocketAddr,
    end: oneshot::Sender<()>,
    thread: JoinHandle<()>,
    pub directory: tempfile::TempDir,
}

impl Running {
    pub fn with(limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut site = Lab::of(directory.path().to_owned(), Arc::new(AsStored));
        site.limits = limits;
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), site).unwrap();
        let address = listener.address().unwrap();
        let (end, until) = oneshot::channel();
        let until = async {
            let _ = until.await;
        };
        let thread = std::thread::spawn(move || listener.serve(until).unwrap());
        Self { address, end, thread, directory }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    pub fn end(self) {
        self.end.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

/// The next event of the server.
pub fn answer(stream: &mut TcpStream) -> String {
    let mut bytes = vec![0; 8192];
    let count = stream.read(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}
