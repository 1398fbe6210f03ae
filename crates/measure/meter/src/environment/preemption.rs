//! The preemption model of this kernel.

use super::config::Config;
use super::tree::Tree;

pub struct Preemption {
    /// `preempt_rt`, `preempt`, `voluntary`, `none`, `lazy`, or the kernel's own word.
    pub model: Option<String>,
    pub realtime: Option<bool>,
}

/// The running kernel's state precedes the command line, which precedes the build configuration.
pub fn find(tree: &Tree, version: &str, command_line: Option<&str>, config: Option<&Config>) -> Preemption {
    let words = || version.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let says_realtime = version.contains("PREEMPT RT") || words().any(|word| word == "PREEMPT_RT");
    let built_realtime = config.is_some_and(|config| config.is_on("PREEMPT_RT"));
    if tree.text("sys/kernel/realtime").as_deref() == Some("1") || says_realtime || built_realtime {
        return Preemption { model: Some("preempt_rt".into()), realtime: Some(true) };
    }
    let dynamic = words().any(|word| word == "PREEMPT_DYNAMIC");
    let model = tree.text("sys/kernel/debug/sched/preempt").and_then(|text| in_parentheses(&text));
    let model = model.or_else(|| if dynamic { parameter(command_line?, "preempt") } else { None });
    let model = model.map(|word| if word == "full" { "preempt".into() } else { word });
    let model = model.or_else(|| built_in(config?)).or_else(|| {
        let word = words().find(|word| word.starts_with("PREEMPT"))?;
        Some(if word == "PREEMPT" { "preempt".into() } else { word.to_ascii_lowercase() })
    });
    Preemption { model, realtime: (!version.is_empty() || config.is_some()).then_some(false) }
}

/// The selected word of `none voluntary (full) lazy`.
fn in_parentheses(text: &str) -> Option<String> {
    text.split_whitespace().find_map(|word| word.strip_prefix('(')?.strip_suffix(')')).map(String::from)
}

/// The last value counts, as in the kernel.
fn parameter(command_line: &str, name: &str) -> Option<String> {
    let words = command_line.split_ascii_whitespace().rev();
    words.filter_map(|word| word.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value.into())
}

fn built_in(config: &Config) -> Option<String> {
    let models = [
        ("PREEMPT_NONE", "none"),
        ("PREEMPT_VOLUNTARY", "voluntary"),
        ("PREEMPT_LAZY", "lazy"),
        ("PREEMPT", "preempt"),
    ];
    models.iter().find(|(option, _)| config.is_on(option)).map(|(_, model)| (*model).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::config;
    use crate::environment::tree::fake;

    fn model(files: &[(&str, &str)], version: &str, command_line: &str) -> (Option<String>, Option<bool>) {
        let root = fake(files);
        let tree = Tree::new(root.path());
        let found = find(&tree, version, Some(command_line), config::read(&tree, "6.1").as_ref());
        (found.model, found.realtime)
    }

    #[test]
    fn a_realtime_kernel_says_so_in_one_of_three_ways() {
        let realtime = (Some("preempt_rt".to_string()), Some(true));
        assert_eq!(model(&[("sys/kernel/realtime", "1\n")], "#1 SMP", ""), realtime);
        assert_eq!(model(&[], "#1 SMP PREEMPT_RT Mon", ""), realtime);
        assert_eq!(model(&[], "#1 SMP PREEMPT RT Mon", ""), realtime);
        assert_eq!(model(&[("boot/config-6.1", "CONFIG_PREEMPT_RT=y")], "#1 SMP", ""), realtime);
    }

    #[test]
    fn the_running_kernel_outranks_the_command_line_and_that_the_configuration() {
        let debug = ("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n");
        let config = ("boot/config-6.1", "CONFIG_PREEMPT_NONE=y\nCONFIG_PREEMPT_DYNAMIC=y\n");
        let version = "#1 SMP PREEMPT_DYNAMIC Mon";
        let named = |name: &str| (Some(name.to_string()), Some(false));
        assert_eq!(model(&[debug, config], version, "preempt=none"), named("preempt"));
        assert_eq!(model(&[config], version, "preempt=none preempt=voluntary"), named("voluntary"));
        assert_eq!(model(&[config], version, ""), named("none"));
        assert_eq!(model(&[config], "#1 SMP", "preempt=full"), named("none"));
        assert_eq!(model(&[], version, ""), named("preempt_dynamic"));
        assert_eq!(model(&[], "#1 SMP PREEMPT Mon", ""), named("preempt"));
        assert_eq!(model(&[], "#1 SMP Mon", ""), (None, Some(false)));
        assert_eq!(model(&[], "", ""), (None, None));
    }
}
