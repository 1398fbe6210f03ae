//! Makes a process an ordinary one, whatever it inherited from a real-time parent.

use super::kernel::scheduling::set_normal_policy;
use std::io;

/// The kernel's default.
const TIMER_SLACK_NS: u64 = 50_000;

/// Sets policy SCHED_OTHER, nice 0 and the default timer slack, and makes the process the first choice of the
/// out-of-memory killer. Fails only if the policy could not be set.
pub fn become_ordinary() -> io::Result<()> {
    set_normal_policy()?;
    // A meter started with `nice` may lack the privilege to undo it; a nice load is still a load.
    let _ = rustix::process::setpriority_process(None, 0);
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(TIMER_SLACK_NS));
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    Ok(())
}
