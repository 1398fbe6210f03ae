//! Words that tardy or the kernel chooses from a list, so that they name nobody.

use archive::choice::Choice;
use archive::culprit::Culprit;
use archive::load::{BUILTIN_LOADS, PROGRAM_LOADS};
use archive::message::LossKind;
use archive::settings::Policy;
use archive::trace_event::softirq;
use claims::doubt::DoubtKind;
use claims::limit::{Limit, Rate};

const TRACERS: [&str; 11] = [
    "nop",
    "function",
    "function_graph",
    "wakeup",
    "wakeup_rt",
    "wakeup_dl",
    "irqsoff",
    "preemptoff",
    "preemptirqsoff",
    "hwlat",
    "osnoise",
];
const TRACE_CLOCKS: [&str; 10] =
    ["local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai", "x86-tsc"];
const SOFTIRQS: u32 = 10;
const CODE_LENGTH_MAX: usize = 60;

/// The lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnWord {
    KernelOption,
    Event,
    Tracer,
    TraceClock,
    Policy,
    Softirq,
    Resource,
    LoadUnit,
    Loss,
    Culprit,
    Code,
    Limit,
    Rate,
    Doubt,
}

impl OwnWord {
    /// Whether a text is in the list.
    pub fn has(self, text: &str) -> bool {
        match self {
            Self::KernelOption => is_kernel_option(text),
            Self::Event => text.split_once(':').is_some_and(|(system, name)| is_symbol(system) && is_symbol(name)),
            Self::Tracer => TRACERS.contains(&text) || text == "timerlat",
            Self::TraceClock => TRACE_CLOCKS.contains(&text),
            Self::Policy => Policy::of_word(text).is_some(),
            Self::Softirq => (0..SOFTIRQS).any(|number| softirq(number) == text),
            Self::Resource => ["cpu", "memory", "io"].contains(&text),
            Self::LoadUnit => is_load_unit(text),
            Self::Loss => !matches!(LossKind::from(text.to_owned()), LossKind::Other(_)),
            Self::Culprit => !matches!(Culprit::from(text), Culprit::Other(_)),
            Self::Code => is_code(text),
            Self::Limit => is_limit(text),
            Self::Rate => Rate::parse(text).is_ok(),
            Self::Doubt => DoubtKind::of_word(text).is_some(),
        }
    }
}

/// Lower-case letters, digits and underscores, a letter first.
fn is_symbol(text: &str) -> bool {
    let plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'_';
    text.starts_with(|letter: char| letter.is_ascii_lowercase()) && text.bytes().all(plain)
}

/// `CONFIG_X`, alone, switched on or off, or with a number.
fn is_kernel_option(text: &str) -> bool {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let plain = |letter: u8| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == b'_';
    let is_value = matches!(value, "" | "y" | "m" | "n") || value.bytes().all(|digit| digit.is_ascii_digit());
    name.strip_prefix("CONFIG_").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(plain)) && is_value
}

fn is_load_unit(text: &str) -> bool {
    let units = BUILTIN_LOADS.iter().map(|load| load.unit).chain(PROGRAM_LOADS.iter().map(|load| load.unit));
    text == archive::load::CPU_TICKS || units.into_iter().any(|unit| unit == text)
}

/// `area.what-happened`, or `unclassified`.
fn is_code(text: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'-');
    let parts = text.split_once('.');
    text.len() <= CODE_LENGTH_MAX
        && (text == "unclassified" || parts.is_some_and(|(area, what)| is_part(area) && is_part(what)))
}

fn is_limit(text: &str) -> bool {
    let is_figure = |bound: &str| if crate::figure::is_figure(bound) { Ok(1) } else { Err("no time") };
    Rate::parse("never").is_ok_and(|never| Limit::parse(text, &never, is_figure).is_ok())
}
