//! The kernel's build configuration, if the target has it.

use super::costly_options::COSTLY_OPTIONS;
use super::tree::Tree;

/// Larger than any kernel's configuration; a damaged file must not fill the memory.
const CONFIG_BYTES_MAX: usize = 8 << 20;

/// Prefixes of options that matter for latency.
const RELEVANT_PREFIXES: &[&str] = &[
    "CPU_FREQ",
    "CPU_IDLE",
    "DEBUG_LOCK",
    "DEBUG_PAGEALLOC",
    "DEBUG_RT_",
    "HZ",
    "KASAN",
    "NO_HZ",
    "PARAVIRT",
    "PREEMPT",
    "PROVE_",
    "RCU_",
    "TRANSPARENT_HUGEPAGE",
    "VIRT_CPU_ACCOUNTING",
];

/// Further options by full name.
const RELEVANT_NAMES: &[&str] = &[
    "CLOCKSOURCE_WATCHDOG",
    "COMPACTION",
    "CPU_ISOLATION",
    "CGROUP_SCHED",
    "DYNAMIC_FTRACE",
    "EVENT_TRACING",
    "FTRACE",
    "GROUP_SCHED_BANDWIDTH",
    "HARDLOCKUP_DETECTOR",
    "HIGH_RES_TIMERS",
    "HIST_TRIGGERS",
    "HYPERVISOR_GUEST",
    "INTEL_IDLE",
    "IRQ_FORCED_THREADING",
    "IRQ_TIME_ACCOUNTING",
    "KSM",
    "KVM_GUEST",
    "NUMA_BALANCING",
    "RT_GROUP_SCHED",
    "RT_MUTEXES",
    "SCHED_AUTOGROUP",
    "SCHED_CLASS_EXT",
    "SCHED_CORE",
    "SCHED_HRTICK",
    "SCHED_SMT",
    "SOFTLOCKUP_DETECTOR",
    "TRACER_SNAPSHOT",
    "WQ_WATCHDOG",
    "X86_AMD_PSTATE",
    "X86_INTEL_PSTATE",
];

/// A configuration and the file that contains it.
pub struct Config {
    pub source: String,
    text: String,
}

/// Finds the configuration of the kernel with this `release`.
pub fn read(tree: &Tree, release: &str) -> Option<Config> {
    let running = tree.bytes("proc/config.gz").and_then(|bytes| gunzip(&bytes));
    if let Some(text) = running {
        return Some(Config { source: "/proc/config.gz".into(), text });
    }
    if release.is_empty() {
        return None;
    }
    let places = ["boot/config-{}", "lib/modules/{}/config", "lib/modules/{}/build/.config"];
    places.iter().map(|place| place.replace("{}", release)).find_map(|path| {
        let text = tree.text(&path)?;
        Some(Config { source: format!("/{path}"), text })
    })
}

impl Config {
    /// The value of an option, named without `CONFIG_`; `None` if it is not set.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.options().find(|(option, _)| *option == name).map(|(_, value)| value)
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.value(name) == Some("y")
    }

    /// Lines of the set options that matter for latency.
    pub fn relevant(&self) -> Vec<String> {
        let matters = |name: &str| {
            let starts = RELEVANT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            starts || RELEVANT_NAMES.contains(&name) || name.ends_with("_TRACER") || COSTLY_OPTIONS.contains(&name)
        };
        self.options()
            .filter(|(name, _)| matters(name))
            // What an architecture supports does not show what this kernel has.
            .filter(|(name, _)| !name.starts_with("HAVE_") && !name.starts_with("ARCH_"))
            .map(|(name, value)| format!("CONFIG_{name}={value}"))
            .collect()
    }

    /// Lines of all set options.
    pub fn set_lines(&self) -> String {
        self.options().map(|(name, value)| format!("CONFIG_{name}={value}\n")).collect()
    }

    fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text.lines().filter_map(|line| line.trim().strip_prefix("CONFIG_")?.split_once('='))
    }
}

/// The decompressed text of a gzip file; `None` if it is damaged or not gzip.
fn gunzip(bytes: &[u8]) -> Option<String> {
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    const CHECKSUM: u8 = 2;
    let [0x1f, 0x8b, 8, flags, _, _, _, _, _, _, rest @ ..] = bytes else { return None };
    let mut rest = rest;
    if flags & EXTRA != 0 {
        let [low, high, after @ ..] = rest else { return None };
        rest = after.get(usize::from(u16::from_le_bytes([*low, *high]))..)?;
    }
    for string in [NAME, COMMENT] {
        if flags & string != 0 {
            rest = &rest[rest.iter().position(|&byte| byte == 0)? + 1..];
        }
    }
    if flags & CHECKSUM != 0 {
        rest = rest.get(2..)?;
    }
    let text = miniz_oxide::inflate::decompress_to_vec_with_limit(rest, CONFIG_BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tree::fake;

    const TEXT: &str = "#\n# Linux\nCONFIG_PREEMPT_RT=y\nCONFIG_HAVE_FUNCTION_TRACER=y\nCONFIG_OSNOISE_TRACER=y\n\
                        # CONFIG_KASAN is not set\nCONFIG_USB=m\nCONFIG_HZ=1000\nCONFIG_DEBUG_PREEMPT=y\n";

    fn gzip(flags: u8, between: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3];
        bytes.extend(between);
        bytes.extend(miniz_oxide::deflate::compress_to_vec(TEXT.as_bytes(), 6));
        bytes.extend([0; 8]);
        bytes
    }

    #[test]
    fn only_listed_options_are_kept() {
        let config = Config { source: String::new(), text: TEXT.into() };
        let expected = ["CONFIG_PREEMPT_RT=y", "CONFIG_OSNOISE_TRACER=y", "CONFIG_HZ=1000", "CONFIG_DEBUG_PREEMPT=y"];
        assert_eq!(config.relevant(), expected);
        assert_eq!((config.value("USB"), config.is_on("USB"), config.value("KASAN")), (Some("m"), false, None));
    }

    #[test]
    fn every_form_of_the_gzip_header_is_skipped() {
        assert_eq!(gunzip(&gzip(0, b"")).as_deref(), Some(TEXT));
        assert_eq!(gunzip(&gzip(8 | 16, b"name\0comment\0")).as_deref(), Some(TEXT));
        assert_eq!(gunzip(&gzip(4 | 2, b"\x03\x00abc\x12\x34")).as_deref(), Some(TEXT));
    }

    #[test]
    fn a_damaged_file_is_no_configuration() {
        let whole = gzip(8 | 16 | 4 | 2, b"\x03\x00abcname\0comment\0\x12\x34");
        for end in 0..whole.len() / 2 {
            assert_eq!(gunzip(&whole[..end]), None, "{end}");
        }
        assert_eq!(gunzip(b"CONFIG_HZ=250"), None);
    }

    #[test]
    fn the_running_kernel_speaks_before_the_files_about_it() {
        let root = fake(&[("lib/modules/6.1/config", "CONFIG_HZ=100\n"), ("boot/config-6.2", "CONFIG_HZ=250\n")]);
        let tree = Tree::new(root.path());
        assert_eq!(read(&tree, "6.1").map(|config| config.source).as_deref(), Some("/lib/modules/6.1/config"));
        assert!(read(&tree, "6.3").is_none());
        std::fs::create_dir(root.path().join("proc")).expect("a directory");
        std::fs::write(root.path().join("proc/config.gz"), gzip(0, b"")).expect("a file");
        let config = read(&tree, "6.1").expect("a configuration");
        assert_eq!((config.source.as_str(), config.value("HZ")), ("/proc/config.gz", Some("1000")));
    }
}
