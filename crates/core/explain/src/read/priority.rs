//! Kernel priorities in the user's terms.

use archive::culprit::KernelPriority;

/// A priority in the kernel's scale: below 100 is real-time, lower is more urgent.
pub fn priority_words(prio: Option<i32>) -> String {
    words::holders::priority(prio.map(KernelPriority))
}
