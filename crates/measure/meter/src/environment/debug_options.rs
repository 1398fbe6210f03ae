//! Debugging options that alone ruin latency, so that a measurement measures them.

use super::config::Config;
use super::costly_options::COSTLY_OPTIONS;

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

/// The active ones, as written.
pub fn find(command_line: Option<&str>, config: Option<&Config>) -> Vec<String> {
    let parameters = command_line.unwrap_or_default().split_ascii_whitespace().take_while(|word| *word != "--");
    let parameters = parameters.filter(|word| ruins(word)).map(String::from);
    let options = COSTLY_OPTIONS.iter().filter(|name| config.is_some_and(|config| config.is_on(name)));
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
}
