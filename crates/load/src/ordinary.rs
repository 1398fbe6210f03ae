//! Makes a process an ordinary one, whatever it inherited from a real-time parent.

use std::io;

/// What a process gets that asks for nothing.
const TIMER_SLACK_NS: u64 = 50_000;

/// Sets policy SCHED_OTHER, nice 0 and the usual timer slack, and offers the process first to the out-of-memory killer.
/// Fails only when the policy could not be set.
pub fn become_ordinary() -> io::Result<()> {
    // SAFETY: a structure of integers, for which zeros are valid; which fields it has differs between C libraries.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // The C library of a static build does not implement the function of this name.
    // SAFETY: the kernel reads one `sched_param` from a pointer to one.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_OTHER, &raw const parameters) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // Whoever started the meter with `nice` may not be allowed to take it back; a nice load is still a load.
    let _ = rustix::process::setpriority_process(None, 0);
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(TIMER_SLACK_NS));
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    Ok(())
}
