//! A board on loopback: an OpenSSH server whose sessions run in a directory that contains only BusyBox.

use prerequisites::Prerequisite::{Prepared, Program, Root};
use prerequisites::met;
use rustix::process::{Pid, Signal};
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
const DIRECTORIES: [&str; 9] = ["proc", "sys", "dev", "bin", "bin/become", "tmp", "var/tmp", "root", "etc"];
/// Becoming root needs no password, as with `NOPASSWD`.
const PASSWD: &str = "root::0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/:/bin/sh\n";

/// The server and the directory its sessions see.
pub struct Server {
    pub port: u16,
    pub folder: PathBuf,
    child: Child,
}

/// A statically linked BusyBox, if there is one.
fn busybox() -> Option<PathBuf> {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&places).map(|folder| folder.join("busybox")).find(|path| path.is_file())?;
    // The beginning of a dynamic executable names its loader.
    let bytes = fs::read(&found).ok()?;
    let dynamic = bytes.windows(8).take(4096).any(|window| window == b"/ld-linu" || window == b"b64/ld-l");
    (!dynamic).then_some(found)
}

fn run(program: &str, words: &[&str]) -> bool {
    let ended = Command::new(program).args(words).stdout(Stdio::null()).status();
    ended.is_ok_and(|status| status.success())
}

impl Server {
    /// A board below this directory; `None` if this machine cannot provide one.
    pub fn start(folder: &Path) -> Option<Self> {
        let programs = [SSHD, "ssh", "ssh-keygen", "unshare", "chroot"].map(Program);
        let busybox = busybox();
        let prepared = [
            Root,
            Prepared("a static BusyBox (Debian: busybox-static)", busybox.is_some()),
            Prepared("the right to make a mount namespace", run("unshare", &["--mount", "true"])),
        ];
        if !met(&programs) || !met(&prepared) {
            return None;
        }
        let busybox = busybox?;
        let board = folder.join("board");
        for name in DIRECTORIES {
            fs::create_dir_all(board.join(name)).unwrap();
        }
        fs::set_permissions(board.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
        fs::copy(&busybox, board.join("bin/busybox")).unwrap();
        let place = board.to_str().unwrap();
        assert!(run("chroot", &[place, "/bin/busybox", "--install", "-s", "/bin"]));
        fs::write(board.join("etc/passwd"), PASSWD).unwrap();
        for key in ["host_key", "key"] {
            let path = folder.join(key);
            assert!(run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", path.to_str().unwrap()]));
        }
        // If another process takes the port in between, the test fails visibly.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host_key = fs::read_to_string(folder.join("host_key.pub")).unwrap();
        fs::write(folder.join("known_hosts"), format!("[127.0.0.1]:{port} {host_key}")).unwrap();
        fs::write(folder.join("boot_id"), fs::read("/proc/sys/kernel/random/boot_id").unwrap()).unwrap();
        configure(folder, port, "");
        let child = serve(folder, port);
        Some(Self { port, folder: folder.to_owned(), child })
    }

    /// From now on logins are those of an ordinary user, whose `sudo` runs this script first.
    pub fn log_in_as_user(&mut self, sudo: &str) {
        let board = self.folder.join("board");
        // BusyBox changes the user only under the name `su` and with the right permissions.
        fs::copy(board.join("bin/busybox"), board.join("bin/become/su")).unwrap();
        fs::set_permissions(board.join("bin/become/su"), fs::Permissions::from_mode(0o4755)).unwrap();
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = -n ] && shift\n{sudo}\nexec /bin/become/su root -c 'exec \"$@\"' su \"$@\"\n"
        );
        fs::write(board.join("bin/sudo"), script).unwrap();
        fs::set_permissions(board.join("bin/sudo"), fs::Permissions::from_mode(0o755)).unwrap();
        self.shut();
        configure(&self.folder, self.port, "--userspec=1000:1000");
        self.child = serve(&self.folder, self.port);
    }

    /// Stops the server, and cuts its sessions.
    pub fn shut(&mut self) {
        let sessions = children(self.child.id());
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        for session in sessions {
            let _ = rustix::process::kill_process(session, Signal::KILL);
        }
    }

    /// Starts the server again.
    pub fn open(&mut self) {
        self.child = serve(&self.folder, self.port);
    }

    /// Reboots the board: no process survives; with `forgets` (`/tmp` in memory), neither do the files in `/tmp`.
    pub fn reboot(&mut self, forgets: bool) {
        self.shut();
        let board = self.folder.join("board");
        for process in processes().filter(|(_, path)| fs::read_link(path.join("root")).is_ok_and(|root| root == board))
        {
            let _ = rustix::process::kill_process(process.0, Signal::KILL);
        }
        if forgets {
            fs::remove_dir_all(board.join("tmp")).unwrap();
            fs::create_dir(board.join("tmp")).unwrap();
        }
        let boot: String = fs::read_to_string(self.folder.join("boot_id")).unwrap();
        fs::write(self.folder.join("boot_id"), boot.chars().rev().skip(1).chain(['\n']).collect::<String>()).unwrap();
        self.open();
    }

    /// The line fails silently: no process reads, answers or hangs up.
    pub fn freeze(&self) {
        for process in children(self.child.id()).into_iter().chain([pid(&self.child)]) {
            rustix::process::kill_process(process, Signal::STOP).unwrap();
        }
    }

    /// New connections work again; on the board nothing ends the dead ones.
    pub fn thaw(&self) {
        rustix::process::kill_process(pid(&self.child), Signal::CONT).unwrap();
    }

    /// Mounts an empty file system with these options in a directory of the board.
    pub fn mount(&self, place: &str, options: &str) {
        let (number, path) = (self.child.id().to_string(), self.folder.join("board").join(place));
        let words = ["-t", &number, "-m", "mount", "-t", "tmpfs", "-o", options, "none", path.to_str().unwrap()];
        assert!(run("nsenter", &words), "{words:?}");
    }

    /// Fills the file system in a directory of the board.
    pub fn fill(&self, place: &str) {
        let (number, path) = (self.child.id().to_string(), self.folder.join("board").join(place).join("filler"));
        let script = "cat /dev/zero > \"$0\" 2> /dev/null";
        let filled = run("nsenter", &["-t", &number, "-m", "sh", "-c", script, path.to_str().unwrap()]);
        assert!(!filled, "{} has no limit", path.display());
    }

    /// All files of the board, with their sizes where they have one.
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

    /// Ends all sessions like a cut line, without a disconnect message.
    pub fn cut(&self) {
        let sessions = children(self.child.id());
        assert!(!sessions.is_empty(), "there is a session to cut");
        for session in sessions {
            rustix::process::kill_process(session, Signal::KILL).unwrap();
        }
    }
}

/// Who may log in, how, and the root directory of a session; `user` is an option of chroot.
fn configure(folder: &Path, port: u16, user: &str) {
    let text = format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {0}/host_key\nAuthorizedKeysFile {0}/key.pub\nStrictModes no\nUsePAM no\n\
         PidFile none\nPermitRootLogin prohibit-password\n\
         ForceCommand exec chroot {user} {0}/board /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
        folder.display()
    );
    fs::write(folder.join("sshd_config"), text).unwrap();
}

/// Starts the server in its own mount namespace and waits until it listens.
fn serve(folder: &Path, port: u16) -> Child {
    let script = "mount -t tmpfs none /run && mkdir /run/sshd && for name in proc sys dev; do \
                  mount --rbind /$name \"$1/board/$name\" || exit 1; done; \
                  mount --bind \"$1/boot_id\" \"$1/board/proc/sys/kernel/random/boot_id\" || exit 1; \
                  exec \"$0\" -D -e -f \"$1/sshd_config\"";
    let child = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, SSHD])
        .arg(folder)
        .stderr(fs::File::create(folder.join("sshd.log")).unwrap())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let said = fs::read_to_string(folder.join("sshd.log")).unwrap_or_default();
        assert!(begun.elapsed() < PATIENCE, "the server does not listen: {said}");
        thread::sleep(Duration::from_millis(50));
    }
    child
}

/// Number and directory of every process.
fn processes() -> impl Iterator<Item = (Pid, PathBuf)> {
    let numbered =
        |entry: fs::DirEntry| Some((Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?, entry.path()));
    fs::read_dir("/proc").unwrap().flatten().filter_map(numbered)
}

fn children(parent: u32) -> Vec<Pid> {
    let is_child = |path: &Path| {
        let stat = fs::read_to_string(path.join("stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        let own: u32 = rest.split_whitespace().nth(1)?.parse().ok()?;
        Some(own == parent)
    };
    processes().filter(|(_, path)| is_child(path) == Some(true)).map(|(pid, _)| pid).collect()
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32).expect("a process has a number")
}

impl Drop for Server {
    fn drop(&mut self) {
        for session in children(self.child.id()) {
            let _ = rustix::process::kill_process(session, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
