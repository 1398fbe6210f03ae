//! A board on loopback: an OpenSSH server whose sessions find themselves in a directory with BusyBox and nothing else.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const SSHD: &str = "/usr/sbin/sshd";
const PATIENCE: Duration = Duration::from_secs(30);
/// Directories of the board; the first ones are filled from outside.
const DIRECTORIES: [&str; 8] = ["proc", "sys", "dev", "bin", "tmp", "var/tmp", "root", "etc"];

/// The server and the directory its sessions see.
pub struct Server {
    pub port: u16,
    pub folder: PathBuf,
    child: Child,
}

/// A BusyBox that needs no libraries, if there is one.
fn busybox() -> Option<PathBuf> {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&places).map(|folder| folder.join("busybox")).find(|path| path.is_file())?;
    // The loader of a dynamic one is named in its beginning.
    let bytes = fs::read(&found).ok()?;
    let dynamic = bytes.windows(8).take(4096).any(|window| window == b"/ld-linu" || window == b"b64/ld-l");
    (!dynamic).then_some(found)
}

fn run(program: &str, words: &[&str]) -> bool {
    let ended = Command::new(program).args(words).stdout(Stdio::null()).status();
    ended.is_ok_and(|status| status.success())
}

impl Server {
    /// A board below this directory, or why there can be none.
    pub fn start(folder: &Path) -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("needs root, for a mount namespace and chroot".into());
        }
        if !Path::new(SSHD).is_file() || !run("sh", &["-c", "command -v ssh ssh-keygen unshare chroot"]) {
            return Err("needs OpenSSH's server and client (apt-get install openssh-server)".into());
        }
        let busybox = busybox().ok_or("needs a static BusyBox (apt-get install busybox-static)")?;
        if !run("unshare", &["--mount", "true"]) {
            return Err("may not make a mount namespace".into());
        }
        let board = folder.join("board");
        for name in DIRECTORIES {
            fs::create_dir_all(board.join(name)).unwrap();
        }
        fs::set_permissions(board.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
        fs::copy(busybox, board.join("bin/busybox")).unwrap();
        let place = board.to_str().unwrap();
        assert!(run("chroot", &[place, "/bin/busybox", "--install", "-s", "/bin"]));
        for key in ["host_key", "key"] {
            let path = folder.join(key);
            assert!(run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", path.to_str().unwrap()]));
        }
        // Whoever takes the port in between makes the test fail loudly.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host_key = fs::read_to_string(folder.join("host_key.pub")).unwrap();
        fs::write(folder.join("known_hosts"), format!("[127.0.0.1]:{port} {host_key}")).unwrap();
        let configuration = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {0}/host_key\nAuthorizedKeysFile {0}/key.pub\nStrictModes no\nUsePAM no\n\
             PidFile none\nPermitRootLogin prohibit-password\nForceCommand exec chroot {0}/board /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
            folder.display()
        );
        fs::write(folder.join("sshd_config"), configuration).unwrap();
        let script = "mount -t tmpfs none /run && mkdir /run/sshd && for name in proc sys dev; do \
                      mount --rbind /$name \"$1/board/$name\" || exit 1; done; exec \"$0\" -D -e -f \"$1/sshd_config\"";
        let child = Command::new("unshare")
            .args(["--mount", "sh", "-c", script, SSHD])
            .arg(folder)
            .stderr(fs::File::create(folder.join("sshd.log")).unwrap())
            .spawn()
            .unwrap();
        let server = Self { port, folder: folder.to_owned(), child };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let said = fs::read_to_string(folder.join("sshd.log")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "the server does not listen: {said}");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Everything on the board, with its size where it has one.
    pub fn listing(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut ahead = vec![self.folder.join("board")];
        while let Some(directory) = ahead.pop() {
            for entry in fs::read_dir(&directory).unwrap().flatten() {
                let kind = entry.file_type().unwrap();
                let bytes = if kind.is_file() { entry.metadata().unwrap().len() } else { 0 };
                found.push(format!("{} {bytes}", entry.path().display()));
                if kind.is_dir() {
                    ahead.push(entry.path());
                }
            }
        }
        found.sort();
        found
    }

    /// Ends all sessions as a cut line does: nobody says good-bye.
    pub fn cut(&self) {
        let sessions = children(self.child.id());
        assert!(!sessions.is_empty(), "there is a session to cut");
        for session in sessions {
            rustix::process::kill_process(session, rustix::process::Signal::KILL).unwrap();
        }
    }
}

fn children(parent: u32) -> Vec<rustix::process::Pid> {
    let pid_of = |entry: fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        let own: u32 = rest.split_whitespace().nth(1)?.parse().ok()?;
        (own == parent).then(|| rustix::process::Pid::from_raw(pid)).flatten()
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(pid_of).collect()
}

impl Drop for Server {
    fn drop(&mut self) {
        for session in children(self.child.id()) {
            let _ = rustix::process::kill_process(session, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
