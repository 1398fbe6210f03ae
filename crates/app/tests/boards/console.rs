//! A board that is nothing but a console: a login and a shell on a terminal of this machine, behind a line on which a
//! kernel seems to speak, and which loses bytes.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// As getty and login do it, with `root` and `secret`; nobody can interrupt it.
const LOGIN: &str = r#"
trap : INT
while :; do
  printf '\nboard login: '; read -r name && [ -n "$name" ] || continue
  stty -echo; printf 'Password: '; read -r password; stty echo; echo
  if [ "$name:$password" = root:secret ]; then
    (trap - INT; echo 'Last login: never'; exec sh -i)
  else
    sleep 0.2; echo 'Login incorrect'
  fi
done
"#;
const MESSAGE: &[u8] = b"[   12.345678] usb 1-1: new high-speed USB device number 7 using xhci_hcd\r\n";
const POLL: Duration = Duration::from_millis(5);

/// The console, and the socket of its line.
pub struct Console {
    pub socket: PathBuf,
    board: Child,
    connected: Arc<Mutex<Option<UnixStream>>>,
    /// Bytes between two kernel messages; the board's words lose a byte about every tenth time.
    noise_every: Arc<AtomicUsize>,
}

impl Console {
    /// A console whose line is a socket in this directory.
    pub fn start(folder: &Path, noise_every: usize) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let terminal = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let open = || File::options().read(true).write(true).open(&terminal).unwrap();
        let board = Command::new("setsid")
            .args(["--ctty", "sh", "-c", LOGIN])
            .env("TERM", "vt100")
            .env("PS1", "# ")
            .stdin(open())
            .stdout(open())
            .stderr(open())
            .spawn()
            .unwrap();
        let socket = folder.join("console.socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let connected = Arc::<Mutex<Option<UnixStream>>>::default();
        let noise_every = Arc::new(AtomicUsize::new(noise_every));
        let master = File::from(master);
        let to_board = master.try_clone().unwrap();
        let accepted = Arc::clone(&connected);
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                *accepted.lock().unwrap() = Some(stream.try_clone().unwrap());
                let mut to_board = to_board.try_clone().unwrap();
                thread::spawn(move || std::io::copy(&mut &stream, &mut to_board));
            }
        });
        let (every, host) = (Arc::clone(&noise_every), Arc::clone(&connected));
        thread::spawn(move || speak(master, &every, &host));
        Self { socket, board, connected, noise_every }
    }

    /// Hangs up, as a cable that is pulled: what is said meanwhile is lost.
    pub fn cut(&self) {
        let stream = self.connected.lock().unwrap().take().expect("there is a line to cut");
        stream.shutdown(std::net::Shutdown::Both).unwrap();
    }

    /// From here on, nothing disturbs.
    pub fn be_quiet(&self) {
        self.noise_every.store(usize::MAX, Ordering::SeqCst);
    }
}

/// Passes on what the board says, disturbed.
fn speak(mut board: File, every: &AtomicUsize, host: &Mutex<Option<UnixStream>>) {
    let mut bytes = [0; 512];
    let mut said = 0usize;
    loop {
        let count = match board.read(&mut bytes) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let mut words = Vec::new();
        for byte in &bytes[..count] {
            said += 1;
            let every = every.load(Ordering::SeqCst);
            // What a kernel says comes between two bytes, wherever that is; now and then a byte is lost.
            if said.is_multiple_of(every) {
                words.extend_from_slice(MESSAGE);
            }
            if every == usize::MAX || !said.is_multiple_of(every * 10 + 1) {
                words.push(*byte);
            }
        }
        // Nobody is at the other end: what is said is lost.
        let mut line = host.lock().unwrap().as_ref().and_then(|stream| stream.try_clone().ok());
        if line.as_mut().is_none_or(|line| line.write_all(&words).is_err()) {
            thread::sleep(POLL);
        }
    }
}

/// Programs that are needed for such a board.
pub fn is_possible() -> bool {
    ["setsid", "stty", "sh"].iter().all(|name| {
        let found = Command::new("sh").args(["-c", "command -v \"$0\"", name]).stdout(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    })
}

impl Drop for Console {
    fn drop(&mut self) {
        // Its session goes with it: the terminal hangs up.
        let _ = self.board.kill();
        let _ = self.board.wait();
        let _ = fs::remove_file(&self.socket);
    }
}
