//! Scheduling policy and CPU affinity of the calling thread, set and read back.
//!
//! musl returns ENOSYS for `sched_setscheduler`, so the `sched_setattr` system call is used for every policy.

use archive::settings::Policy;
use std::io;

/// `struct sched_attr`, first version, see sched_setattr(2).
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct SchedAttr {
    size: u32,
    sched_policy: u32,
    sched_flags: u64,
    sched_nice: i32,
    sched_priority: u32,
    sched_runtime: u64,
    sched_deadline: u64,
    sched_period: u64,
}

const SCHED_DEADLINE: u32 = 6;
const SCHED_FLAG_RESET_ON_FORK: u64 = 1;

fn set(attr: &SchedAttr) -> io::Result<()> {
    // SAFETY: `attr` is a live `sched_attr` whose `size` field states its length; the kernel only reads it.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, attr as *const SchedAttr, 0) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the policy of the calling thread. `interval_ns` is the period of SCHED_DEADLINE, whose runtime is a quarter of
/// it. Children of the thread do not inherit a real-time policy.
///
/// # Errors
/// EPERM without CAP_SYS_NICE (or RLIMIT_RTPRIO), EBUSY if the kernel does not admit the deadline task.
pub fn set_policy(policy: Policy, priority: u8, interval_ns: u64) -> io::Result<()> {
    let mut attr = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        sched_flags: SCHED_FLAG_RESET_ON_FORK,
        ..SchedAttr::default()
    };
    match policy {
        Policy::Fifo => (attr.sched_policy, attr.sched_priority) = (libc::SCHED_FIFO as u32, u32::from(priority)),
        Policy::Rr => (attr.sched_policy, attr.sched_priority) = (libc::SCHED_RR as u32, u32::from(priority)),
        Policy::Other => attr.sched_policy = libc::SCHED_OTHER as u32,
        Policy::Deadline => {
            attr.sched_policy = SCHED_DEADLINE;
            attr.sched_runtime = (interval_ns / 4).max(1024);
            attr.sched_deadline = interval_ns;
            attr.sched_period = interval_ns;
        }
    }
    set(&attr)
}

/// SCHED_OTHER with a nice value.
///
/// # Errors
/// EPERM for a negative value without CAP_SYS_NICE.
pub fn set_nice(nice: i32) -> io::Result<()> {
    set(&SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_nice: nice,
        ..SchedAttr::default()
    })
}

/// SCHED_BATCH or SCHED_IDLE, by the number of the policy.
///
/// # Errors
/// EPERM if the thread already has a lower policy.
pub fn set_background(policy: i32) -> io::Result<()> {
    set(&SchedAttr { size: size_of::<SchedAttr>() as u32, sched_policy: policy as u32, ..SchedAttr::default() })
}

/// Policy and priority of a thread as set in the kernel; tid 0 is the calling thread.
///
/// # Errors
/// ESRCH if there is no such thread.
pub fn policy_of(tid: i32) -> io::Result<(Policy, u8)> {
    let mut attr = SchedAttr::default();
    // SAFETY: the kernel writes at most the `size_of::<SchedAttr>()` bytes announced by the third argument.
    let answer =
        unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &mut attr as *mut SchedAttr, size_of::<SchedAttr>(), 0) };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    let policy = match attr.sched_policy as i32 {
        libc::SCHED_FIFO => Policy::Fifo,
        libc::SCHED_RR => Policy::Rr,
        policy if policy == SCHED_DEADLINE as i32 => Policy::Deadline,
        _ => Policy::Other,
    };
    Ok((policy, attr.sched_priority as u8))
}

/// Nice value of a thread.
///
/// # Errors
/// ESRCH if there is no such thread.
pub fn nice_of(tid: i32) -> io::Result<i32> {
    Ok(rustix::process::getpriority_process(rustix::process::Pid::from_raw(tid))?)
}

/// Number of migrations of a thread of this process to another CPU. `None` if the kernel does not show it
/// (CONFIG_SCHED_DEBUG).
pub fn migrations_of(tid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/sched")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("se.nr_migrations"))?;
    value.trim_start_matches([' ', ':']).trim().parse().ok()
}

/// CPUs the thread may run on; tid 0 is the calling thread.
///
/// # Errors
/// ESRCH if there is no such thread.
pub fn allowed_cpus(tid: i32) -> io::Result<Vec<u32>> {
    let set = rustix::thread::sched_getaffinity(rustix::process::Pid::from_raw(tid))?;
    Ok((0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

/// CPUs of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessCpus {
    /// CPUs on which its threads run unless they are bound.
    pub mask: Vec<u32>,
    /// CPUs to which it may bind a thread: also the isolated ones, which the kernel keeps out of every mask (`isolcpus=`).
    pub bindable: Vec<u32>,
}

impl ProcessCpus {
    /// # Errors
    /// If the kernel does not show the mask.
    pub fn read() -> io::Result<Self> {
        let mask = allowed_cpus(0)?;
        // The kernel leaves out CPUs that are offline or outside of the cpuset. The mask of another thread stays as it is.
        let widest = std::thread::spawn(|| {
            bind(&(0..rustix::thread::CpuSet::MAX_CPU as u32).collect::<Vec<_>>())?;
            allowed_cpus(0)
        });
        let bindable = widest.join().map_err(|_| io::Error::other("a thread ended early"))?;
        Ok(Self { bindable: bindable.unwrap_or_else(|_| mask.clone()), mask })
    }
}

/// Whether a CPU is there and online. The kernel has no file for one that cannot go offline.
pub fn is_online(cpu: u32) -> bool {
    let directory = std::path::PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}"));
    directory.is_dir() && std::fs::read_to_string(directory.join("online")).map_or(true, |text| text.trim() != "0")
}

/// Binds the calling thread to CPUs.
///
/// # Errors
/// EINVAL if none of them is online and allowed.
pub fn bind(cpus: &[u32]) -> io::Result<()> {
    Ok(rustix::thread::sched_setaffinity(None, &set_of(cpus))?)
}

/// Binds all threads of this process to CPUs. A thread that ends meanwhile, or CPUs that are offline, leave it as it was.
pub fn bind_process(cpus: &[u32]) {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let tids = tasks.filter_map(|task| rustix::process::Pid::from_raw(task.file_name().to_str()?.parse().ok()?));
    tids.for_each(|tid| _ = rustix::thread::sched_setaffinity(Some(tid), &set_of(cpus)));
}

fn set_of(cpus: &[u32]) -> rustix::thread::CpuSet {
    let mut set = rustix::thread::CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| (**cpu as usize) < rustix::thread::CpuSet::MAX_CPU) {
        set.set(*cpu as usize);
    }
    set
}

/// Thread id of the calling thread, as the trace shows it.
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Sets the timer slack of the calling thread to the minimum; it affects only SCHED_OTHER.
///
/// # Errors
/// Errors of prctl(2).
pub fn least_timer_slack() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?)
}

/// Timer slack of the calling thread in ns.
pub fn timer_slack_ns() -> u64 {
    rustix::thread::current_timer_slack().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_mask_leaves_every_cpu_to_be_bound_to() {
        let cpus = std::thread::spawn(|| {
            let before = ProcessCpus::read().unwrap();
            bind(&before.bindable[..1]).unwrap();
            (before, ProcessCpus::read().unwrap())
        });
        let (before, narrow) = cpus.join().unwrap();
        assert_eq!((narrow.mask.len(), &narrow.bindable), (1, &before.bindable));
        assert!(before.mask.iter().all(|cpu| before.bindable.contains(cpu)), "{before:?}");
    }

    #[test]
    fn the_kernel_reads_back_what_was_set() {
        let answer = std::thread::spawn(|| {
            least_timer_slack().unwrap();
            set_nice(3).unwrap();
            (
                policy_of(0).unwrap(),
                timer_slack_ns(),
                bind(&allowed_cpus(0).unwrap()[..1]),
                allowed_cpus(0).unwrap().len(),
            )
        });
        let ((policy, priority), slack, bound, cpus) = answer.join().unwrap();
        assert_eq!((policy, priority, slack, cpus), (Policy::Other, 0, 1, 1));
        bound.unwrap();
    }
}
