//! Thin doors to the system calls that injectors make.

use std::io;
use std::mem::{size_of, zeroed};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// CLOCK_MONOTONIC in ns.
pub fn now_ns() -> i64 {
    // SAFETY: a structure of integers, for which zeros are valid.
    let mut now: libc::timespec = unsafe { zeroed() };
    // SAFETY: the kernel writes one `timespec` to a pointer to one.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// The CPU time of the calling thread, in ns, without time that a hypervisor took. Only for threads that no more urgent one
/// pushes aside: see [`crate::switches`].
pub fn held_ns() -> i64 {
    // SAFETY: a structure of integers, for which zeros are valid.
    let mut held: libc::timespec = unsafe { zeroed() };
    // SAFETY: the kernel writes one `timespec` to a pointer to one.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut held) };
    held.tv_sec * 1_000_000_000 + held.tv_nsec
}

/// Sleeps until an instant of CLOCK_MONOTONIC.
pub fn sleep_until(at_ns: i64) {
    let at = libc::timespec { tv_sec: at_ns / 1_000_000_000, tv_nsec: at_ns % 1_000_000_000 };
    // SAFETY: the kernel reads one `timespec`; a null pointer for the rest is allowed.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const at, ptr::null_mut()) };
}

/// A longer pause between two readings of the clock is no interrupt of this machine: something else had the CPU.
const PAUSE_NS_MAX: i64 = 100_000;

/// Keeps the calling thread busy in user space until an instant; returns the time in ns that others had the CPU meanwhile.
pub fn spin_until(at_ns: i64) -> i64 {
    let (mut last_ns, mut others_ns) = (now_ns(), 0);
    while last_ns < at_ns {
        std::hint::spin_loop();
        let now_ns = now_ns();
        if now_ns - last_ns > PAUSE_NS_MAX {
            others_ns += now_ns - last_ns;
        }
        last_ns = now_ns;
    }
    others_ns
}

/// Binds the calling thread to one CPU.
pub fn pin(cpu: usize) -> io::Result<()> {
    pin_thread(CALLING, cpu)
}

/// Takes the calling thread to another CPU than this one where there is another, before all ordinary tasks, so that what it does
/// takes effect at the instant that it writes down.
pub fn from_another_cpu(cpu: usize) -> io::Result<()> {
    const PRIORITY: i32 = 60;
    pin(usize::from(cpu == 0)).or_else(|_| pin(cpu))?;
    prioritise(PRIORITY)
}

/// The calling thread, where the kernel asks which one.
const CALLING: i32 = 0;

/// Binds a thread to one CPU.
pub fn pin_thread(thread: i32, cpu: usize) -> io::Result<()> {
    // SAFETY: a structure of integers, for which zeros are valid.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: `set` is a whole set, and CPU_SET refuses numbers beyond it.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the kernel reads as many bytes as `set` has.
    done(unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const set) })
}

/// Gives the calling thread a FIFO priority; 0 makes it ordinary.
pub fn prioritise(priority: i32) -> io::Result<()> {
    prioritise_thread(CALLING, priority)
}

/// The same for another thread.
pub fn prioritise_thread(thread: i32, priority: i32) -> io::Result<()> {
    // SAFETY: a structure of integers, for which zeros are valid; which fields it has differs between C libraries.
    let mut parameters: libc::sched_param = unsafe { zeroed() };
    parameters.sched_priority = priority;
    let policy = if priority > 0 { libc::SCHED_FIFO } else { libc::SCHED_OTHER };
    // SAFETY: the kernel reads one `sched_param`; the C library of a static build does not implement the function itself.
    done(unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, policy, &raw const parameters) } as i32)
}

/// Names the calling thread; 15 bytes at most.
pub fn name(name: &str) {
    let name = std::ffi::CString::new(name).unwrap_or_default();
    // SAFETY: the kernel reads a string that ends with a zero.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Locks all memory of the process.
pub fn lock_memory() {
    // SAFETY: changes no memory; a refusal only makes the injector less exact.
    unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
}

pub fn signal(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: sends a signal, touches no memory.
    done(unsafe { libc::kill(pid, signal) })
}

/// Sends a signal to one thread of this process.
pub fn signal_thread(thread: i32, signal: i32) -> io::Result<()> {
    // SAFETY: sends a signal, touches no memory.
    done(unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), thread, signal) } as i32)
}

/// Locks the memory that the process has, and not what it gets later.
pub fn lock_memory_now() {
    // SAFETY: changes no memory; a refusal only makes the injector less exact.
    unsafe { libc::mlockall(libc::MCL_CURRENT) };
}

/// Makes the calling thread the debugger of another one, which goes on.
pub fn seize(thread: i32) -> io::Result<()> {
    trace(libc::PTRACE_SEIZE as _, thread)
}

/// Stops a thread that was seized, and waits until it is.
pub fn interrupt_traced(thread: i32) -> io::Result<()> {
    trace(libc::PTRACE_INTERRUPT as _, thread)?;
    // SAFETY: no status is asked for.
    done(unsafe { libc::waitpid(thread, ptr::null_mut(), libc::__WALL) })
}

/// Lets a thread go that was stopped.
pub fn detach(thread: i32) -> io::Result<()> {
    trace(libc::PTRACE_DETACH as _, thread)
}

fn trace(what: i64, thread: i32) -> io::Result<()> {
    // SAFETY: none of these requests reads or writes memory.
    done(unsafe { libc::syscall(libc::SYS_ptrace, what, thread, 0, 0) } as i32)
}

/// Loads a module from its bytes.
pub fn load_module(bytes: &[u8], parameters: &str) -> io::Result<()> {
    let parameters = std::ffi::CString::new(parameters)?;
    // SAFETY: the kernel reads `bytes.len()` bytes and a string that ends with a zero.
    done(unsafe { libc::syscall(libc::SYS_init_module, bytes.as_ptr(), bytes.len(), parameters.as_ptr()) } as i32)
}

pub fn unload_module(name: &str) -> io::Result<()> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: the kernel reads a string that ends with a zero.
    done(unsafe { libc::syscall(libc::SYS_delete_module, name.as_ptr(), 0) } as i32)
}

/// A timer that expires once, at an instant, on the CPU the calling thread is on.
pub struct Timer(i32);

impl Timer {
    pub fn new() -> io::Result<Self> {
        // SAFETY: makes a descriptor, touches no memory.
        let descriptor = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
        done(descriptor)?;
        Ok(Self(descriptor))
    }

    pub fn set(&self, at_ns: i64) -> io::Result<()> {
        // SAFETY: a structure of integers, for which zeros are valid.
        let mut setting: libc::itimerspec = unsafe { zeroed() };
        setting.it_value = libc::timespec { tv_sec: at_ns / 1_000_000_000, tv_nsec: at_ns % 1_000_000_000 };
        // SAFETY: the kernel reads one `itimerspec`; a null pointer for the old one is allowed.
        done(unsafe { libc::timerfd_settime(self.0, libc::TFD_TIMER_ABSTIME, &raw const setting, ptr::null_mut()) })
    }
}

/// Allows this many open files more than before.
pub fn allow_files(count: u64) -> io::Result<()> {
    // SAFETY: a structure of integers, for which zeros are valid.
    let mut limit: libc::rlimit = unsafe { zeroed() };
    // SAFETY: the kernel writes one `rlimit`.
    done(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    let (wanted, most) = (limit.rlim_cur.saturating_add(count), limit.rlim_max);
    limit.rlim_cur = wanted.min(most);
    if wanted > most {
        let more = libc::rlimit { rlim_cur: wanted, rlim_max: wanted };
        // Not every administrator may raise what is allowed at most.
        if set_file_limit(&more).is_ok() {
            return Ok(());
        }
    }
    set_file_limit(&limit)
}

fn set_file_limit(limit: &libc::rlimit) -> io::Result<()> {
    // SAFETY: the kernel reads one `rlimit`.
    done(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) })
}

fn done(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A UDP socket bound to a port of all addresses that others are bound to as well.
pub fn shared_udp_socket(port: u16) -> io::Result<std::net::UdpSocket> {
    use std::os::fd::FromRawFd;
    // SAFETY: makes a descriptor, touches no memory.
    let descriptor = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    done(descriptor)?;
    // SAFETY: the descriptor is new and belongs to nothing else.
    let socket = unsafe { std::net::UdpSocket::from_raw_fd(descriptor) };
    let one: libc::c_int = 1;
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel reads one integer.
    done(unsafe { libc::setsockopt(descriptor, libc::SOL_SOCKET, libc::SO_REUSEADDR, (&raw const one).cast(), size) })?;
    // SAFETY: a structure of integers, for which zeros are valid.
    let mut address: libc::sockaddr_in = unsafe { zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = port.to_be();
    let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: the kernel reads one `sockaddr_in`.
    done(unsafe { libc::bind(descriptor, (&raw const address).cast(), size) })?;
    Ok(socket)
}

/// Asks for the state of one descriptor very many times in one call, which takes as long as the kernel needs.
pub fn poll_often(entries: &mut [libc::pollfd]) -> io::Result<()> {
    // SAFETY: the kernel reads and writes as many entries as there are, and does not wait.
    done(unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, 0) })
}

/// Mounts a file system of the kernel's own.
pub fn mount(kind: &str, at: &Path, options: &str) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let (kind, options) = (std::ffi::CString::new(kind)?, std::ffi::CString::new(options)?);
    let at = std::ffi::CString::new(at.as_os_str().as_bytes())?;
    // SAFETY: the kernel reads four strings that end with a zero.
    done(unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast()) })
}

/// Memory that is promised and not there yet.
pub struct Memory {
    first: *mut u8,
    bytes: usize,
}

const PAGE_BYTES: usize = 4096;

impl Memory {
    pub fn map(bytes: usize) -> io::Result<Self> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: asks for new memory wherever there is room.
        let first = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind | libc::MAP_NORESERVE, -1, 0) };
        if first == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the range is ours. Without huge pages every page faults for itself; a kernel without them may refuse.
        unsafe { libc::madvise(first, bytes, libc::MADV_NOHUGEPAGE) };
        Ok(Self { first: first.cast(), bytes })
    }

    /// Writes to one page after the other, as long as there are any and `more` says so.
    pub fn touch_while(&self, mut more: impl FnMut() -> bool) {
        let mut offset = 0;
        while offset < self.bytes && more() {
            // SAFETY: inside of the mapping, which is writable and ours alone.
            unsafe { self.first.add(offset).write_volatile(1) };
            offset += PAGE_BYTES;
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped, and there is no pointer into it.
        unsafe { libc::munmap(self.first.cast(), self.bytes) };
    }
}

/// A lock between threads that waits in the kernel, with or without inheritance of priorities.
#[derive(Default)]
pub struct Lock {
    /// Without inheritance: 0 free, 1 taken, 2 taken and perhaps waited for. With it: 0 or the holder, as the kernel has it.
    word: AtomicU32,
    inherits: bool,
}

impl Lock {
    pub fn new(inherits: bool) -> Self {
        Self { word: AtomicU32::new(0), inherits }
    }

    pub fn take(&self) -> io::Result<()> {
        let own = if self.inherits { own_tid() } else { 1 };
        if self.word.compare_exchange(0, own, SeqCst, SeqCst).is_ok() {
            return Ok(());
        }
        if self.inherits {
            return futex(&self.word, libc::FUTEX_LOCK_PI, 0);
        }
        while self.word.swap(2, SeqCst) != 0 {
            // Woken, interrupted, or free in the meantime: each time it is tried again.
            let _ = futex_wait(&self.word, 2);
        }
        Ok(())
    }

    pub fn give_back(&self) -> io::Result<()> {
        if self.inherits {
            return match self.word.compare_exchange(own_tid(), 0, SeqCst, SeqCst) {
                Ok(_) => Ok(()),
                Err(_) => futex(&self.word, libc::FUTEX_UNLOCK_PI, 0),
            };
        }
        match self.word.swap(0, SeqCst) {
            2 => futex_wake(&self.word),
            _ => Ok(()),
        }
    }

    /// Whether a thread waits in the kernel for a lock with inheritance: the kernel notes it in the word.
    pub fn is_waited_for(&self) -> bool {
        self.word.load(SeqCst) & libc::FUTEX_WAITERS != 0
    }
}

fn own_tid() -> u32 {
    own_thread() as u32
}

/// Sleeps while a word has this value, until it is woken.
pub fn futex_wait(word: &AtomicU32, value: u32) -> io::Result<()> {
    futex(word, libc::FUTEX_WAIT, value)
}

/// Wakes one thread that sleeps on a word.
pub fn futex_wake(word: &AtomicU32) -> io::Result<()> {
    futex(word, libc::FUTEX_WAKE, 1)
}

fn futex(word: &AtomicU32, operation: libc::c_int, value: u32) -> io::Result<()> {
    let (word, operation) = (word.as_ptr(), operation | libc::FUTEX_PRIVATE_FLAG);
    // SAFETY: the kernel reads and writes one word that lives as long as this call; no time limit.
    let result = unsafe { libc::syscall(libc::SYS_futex, word, operation, value, ptr::null::<libc::timespec>()) };
    done(result as i32)
}

/// Number of the calling thread.
pub fn own_thread() -> i32 {
    // SAFETY: asks for a number, which is positive.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// Brings the loopback network up, where nothing configured the machine.
pub fn loopback_up(socket: &std::net::UdpSocket) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: a structure of bytes and integers, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the kernel reads one `ifreq`.
    done(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) })
}
