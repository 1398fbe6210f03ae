//! A board that consists of a console: a login and a shell on a terminal of this machine, behind a lossy line with
//! simulated kernel messages.

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Behaves like getty and login, with `root` and `secret`; it cannot be interrupted.
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

/// The console, and the path of its line.
pub struct Console {
    line: PathBuf,
    board: Child,
    connected: Arc<Mutex<Option<File>>>,
    /// Bytes between two kernel messages; the board's output loses a byte at about every tenth message.
    noise_every: Arc<AtomicUsize>,
    /// For a line that is a device: this end of it, held open like the program that forwards a remote line.
    _device: Option<File>,
}

/// The two ends of a new terminal, and the path of the second.
fn terminal() -> (File, File, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let end = File::options().read(true).write(true).custom_flags(OFlags::NOCTTY.bits() as i32).open(&path).unwrap();
    (master.into(), end, path)
}

impl Console {
    /// A console whose line is a socket in this directory.
    pub fn start(folder: &Path, noise_every: usize) -> Self {
        let line = folder.join("console.socket");
        let listener = UnixListener::bind(&line).unwrap();
        let (console, to_board) = Self::behind(line, noise_every, None, None);
        let accepted = Arc::clone(&console.connected);
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                *accepted.lock().unwrap() = Some(File::from(OwnedFd::from(stream.try_clone().unwrap())));
                let mut to_board = to_board.try_clone().unwrap();
                thread::spawn(move || std::io::copy(&mut &stream, &mut to_board));
            }
        });
        console
    }

    /// A console whose line is a device in this directory, which forwards a limited number of the board's bytes per
    /// second.
    pub fn start_slow_device(folder: &Path, noise_every: usize, bytes_per_second: u64) -> Self {
        let (far, near, path) = terminal();
        // The terminal is not configured yet, and an echo would be typed into it.
        let mut raw = tcgetattr(&near).unwrap();
        raw.make_raw();
        tcsetattr(&near, OptionalActions::Now, &raw).unwrap();
        let line = folder.join("console.device");
        symlink(path, &line).unwrap();
        let (console, mut to_board) = Self::behind(line, noise_every, Some(bytes_per_second), Some(near));
        *console.connected.lock().unwrap() = Some(far.try_clone().unwrap());
        let mut from_host = far;
        thread::spawn(move || std::io::copy(&mut from_host, &mut to_board));
        console
    }

    /// A board that writes to the connected client, and the terminal it reads from.
    fn behind(line: PathBuf, noise_every: usize, bytes_per_second: Option<u64>, device: Option<File>) -> (Self, File) {
        let (master, end, _) = terminal();
        let open = || end.try_clone().unwrap();
        let board = Command::new("setsid")
            .args(["--ctty", "sh", "-c", LOGIN])
            .env("TERM", "vt100")
            .env("PS1", "# ")
            .stdin(open())
            .stdout(open())
            .stderr(open())
            .spawn()
            .unwrap();
        let connected = Arc::<Mutex<Option<File>>>::default();
        let noise_every = Arc::new(AtomicUsize::new(noise_every));
        let to_board = master.try_clone().unwrap();
        let (every, host) = (Arc::clone(&noise_every), Arc::clone(&connected));
        thread::spawn(move || speak(master, &every, bytes_per_second, &host));
        (Self { line, board, connected, noise_every, _device: device }, to_board)
    }

    /// Hangs up, like a pulled cable: output is lost meanwhile.
    pub fn cut(&self) {
        let stream = self.connected.lock().unwrap().take().expect("there is a line to cut");
        UnixStream::from(OwnedFd::from(stream)).shutdown(std::net::Shutdown::Both).unwrap();
    }

    /// From here on, the line is undisturbed.
    pub fn be_quiet(&self) {
        self.noise_every.store(usize::MAX, Ordering::SeqCst);
    }
}

/// Forwards the board's output with disturbances.
fn speak(mut board: File, every: &AtomicUsize, bytes_per_second: Option<u64>, host: &Mutex<Option<File>>) {
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
            // A kernel message is inserted between any two bytes; occasionally a byte is lost.
            if said.is_multiple_of(every) {
                words.extend_from_slice(MESSAGE);
            }
            if every == usize::MAX || !said.is_multiple_of(every * 10 + 1) {
                words.push(*byte);
            }
        }
        if let Some(bytes_per_second) = bytes_per_second {
            thread::sleep(Duration::from_secs(1) * words.len() as u32 / bytes_per_second as u32);
        }
        // No client is connected: the output is lost.
        let mut line = host.lock().unwrap().as_ref().and_then(|stream| stream.try_clone().ok());
        if line.as_mut().is_none_or(|line| line.write_all(&words).is_err()) {
            thread::sleep(POLL);
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        // Its session ends with it: the terminal hangs up.
        let _ = self.board.kill();
        let _ = self.board.wait();
        let _ = fs::remove_file(&self.line);
    }
}
