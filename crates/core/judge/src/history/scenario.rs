//! Assigns runs to series: one machine, one load, one way to measure.

use archive::summary::RunSummary;
use words::amounts::time;

/// Options of a tool's command line that do not change what a wake-up is: duration and output. The second value:
/// whether the option takes an argument.
const NO_WAY_TO_MEASURE: [(&str, bool); 15] = [
    ("-D", true),
    ("--duration", true),
    ("-l", true),
    ("--loops", true),
    ("-h", true),
    ("-H", true),
    ("--histogram", true),
    ("--histofall", true),
    ("-q", false),
    ("--quiet", false),
    ("--json", true),
    ("-o", true),
    ("--output", true),
    ("-v", false),
    ("--verbose", false),
];

/// The properties that runs of one series share: machine, loads, and method of measuring. Kernels may differ, because
/// a history exists to compare them.
pub fn scenario(summary: &RunSummary) -> String {
    let machine = summary.environment.as_ref().map_or("", |environment| environment.hostname.as_str());
    let machine = if machine.is_empty() { summary.target.as_str() } else { machine };
    let mut words = vec![machine.to_owned()];
    let Some(settings) = &summary.settings else {
        words.push(imported(summary));
        return words.join(", ");
    };
    if !["", "local"].contains(&summary.target.as_str()) {
        words.push(summary.target.clone());
    }
    if summary.virtual_time {
        words.push("virtual time".into());
    }
    if summary.emulated && !summary.virtual_time {
        words.push("emulated".into());
    }
    if !settings.method.is_default() {
        words.push(format!("method {}", settings.method_text()));
    }
    words.push(format!("every {}", time(settings.interval_ns as f64)));
    words.push(format!("{:?} {}", settings.policy, settings.priority).to_uppercase());
    words.extend(
        settings
            .cpus
            .iter()
            .map(|cpus| format!("CPUs {}", cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","))),
    );
    let loads: Vec<String> = settings.loads.iter().map(crate::difference::load).collect();
    words.push(if loads.is_empty() { "no load".into() } else { loads.join(" and ") });
    words.join(", ")
}

/// Another tool's way to measure, as far as known.
fn imported(summary: &RunSummary) -> String {
    let Some(from) = &summary.imported else { return "imported".into() };
    let version = from.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    let mut words =
        format!("imported from {}{version}, rounded to {}", from.tool, time(from.resolution_ns.max(1) as f64));
    // Some tools record their command line as words, some as one line.
    let line = summary.command.join(" ");
    let mut rest = line.split_whitespace();
    let mut kept = Vec::new();
    while let Some(word) = rest.next() {
        let name = word.split('=').next().unwrap_or_default();
        match NO_WAY_TO_MEASURE.iter().find(|(option, _)| *option == name) {
            Some((_, true)) if !word.contains('=') => drop(rest.next()),
            Some(_) => {}
            None => kept.push(word),
        }
    }
    if !kept.is_empty() {
        words.push_str(&format!(", {}", kept.join(" ")));
    }
    words
}
