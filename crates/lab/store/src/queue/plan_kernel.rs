//! The kernel that a job is for, as its plan names it.

/// Placeholder in a plan for the kernel that a job is for.
pub const KERNEL: &str = "{kernel}";
const KERNEL_NAME_BYTES_MAX: usize = 128;

/// Whether a text can stand in a plan for a kernel: letters, digits and `._+~-`, so that it adds nothing to the plan but a name.
pub fn is_kernel_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+~-".contains(&byte);
    (1..=KERNEL_NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with('-')
}

/// A plan for a kernel.
pub fn with_kernel(plan: &str, kernel: &str) -> String {
    plan.replace(KERNEL, kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_adds_nothing_to_a_plan_but_its_name() {
        for name in ["6.1.83-rt28", "6.14.0-rc3+", "v6.12~1", "0123abcd"] {
            assert!(is_kernel_name(name), "{name}");
        }
        for text in ["", "-x", "a b", "6.1\"]\ncommand = \"rm", "$(id)", "a/../b", "é", &"6".repeat(129)] {
            assert!(!is_kernel_name(text), "{text}");
        }
        assert_eq!(with_kernel("kernel = [\"{kernel}\"] # {kernel}", "6.1"), "kernel = [\"6.1\"] # 6.1");
    }
}
