//! Debugging options that alone ruin latency, so that a measurement measures them.

use super::config::Config;

/// Kernel options that add work to hot paths, or long IRQ-off sections.
const CONFIG_OPTIONS: &[&str] = &[
    "CSD_LOCK_WAIT_DEBUG",
    "DEBUG_ATOMIC_SLEEP",
    "DEBUG_IRQFLAGS",
    "DEBUG_KMEMLEAK",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_MUTEXES",
    "DEBUG_OBJECTS",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "DEBUG_PREEMPT",
    "DEBUG_RT_MUTEXES",
    "DEBUG_SHIRQ",
    "DEBUG_SPINLOCK",
    "DEBUG_STACK_USAGE",
    "DEBUG_TIMEKEEPING",
    "DEBUG_VM",
    "DEBUG_WQ_FORCE_RR_CPU",
    "FAULT_INJECTION",
    "GCOV_KERNEL",
    "IRQSOFF_TRACER",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "LATENCYTOP",
    "LOCKDEP",
    "LOCK_STAT",
    "PREEMPT_TRACER",
    "PROVE_LOCKING",
    "PROVE_RCU",
    "RCU_EQS_DEBUG",
    "SLUB_DEBUG_ON",
    "UBSAN",
];

/// Kernel parameters with the same effect: a name, and the harmful values (empty: every value).
const PARAMETERS: &[(&str, &[&str])] = &[
    ("clocksource", &["hpet", "acpi_pm", "jiffies", "refined-jiffies"]),
    ("debug_pagealloc", &["on", "1"]),
    ("ftrace", &[]),
    ("highres", &["off"]),
    ("init_on_free", &["1", "on", "y"]),
    ("initcall_debug", &[]),
    ("kmemleak", &["on"]),
    ("nohz", &["off"]),
    ("nohres", &[]),
    ("page_owner", &["on"]),
    ("page_poison", &["1", "on"]),
    ("slab_debug", &[]),
    ("slub_debug", &[]),
    ("trace_event", &[]),
];

/// Whether a kernel option, named without `CONFIG_`, is one of these.
pub fn costs(name: &str) -> bool {
    CONFIG_OPTIONS.contains(&name)
}

/// The active ones, as written.
pub fn find(command_line: Option<&str>, config: Option<&Config>) -> Vec<String> {
    let parameters = command_line.unwrap_or_default().split_ascii_whitespace().take_while(|word| *word != "--");
    let parameters = parameters.filter(|word| ruins(word)).map(String::from);
    let options = CONFIG_OPTIONS.iter().filter(|name| config.is_some_and(|config| config.is_on(name)));
    parameters.chain(options.map(|name| format!("CONFIG_{name}=y"))).collect()
}

fn ruins(word: &str) -> bool {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    // The kernel treats a dash like an underscore.
    let name = name.replace('-', "_");
    PARAMETERS.iter().any(|(known, values)| *known == name && (values.is_empty() || values.contains(&value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmful_values_count() {
        let line = "nohz=on slub-debug=FZ clocksource=tsc clocksource=hpet kmemleak=off quiet -- initcall_debug";
        assert_eq!(find(Some(line), None), ["slub-debug=FZ", "clocksource=hpet"]);
    }

    #[test]
    fn the_names_are_in_order_and_without_repetition() {
        assert!(CONFIG_OPTIONS.is_sorted_by(|a, b| a < b));
    }
}
