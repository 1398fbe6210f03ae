//! Sections in the kernel, of the module in `kernels/inject`. `--kind` says which; the module notes when.

use crate::kernel::{load_module, name, now_ns, pin, sleep_until};
use crate::terms::Terms;
use std::fs;
use std::io;

const PARAMETERS: &str = "/sys/module/tardy_inject/parameters";
/// Where the module lists its sections.
pub const SECTIONS: &str = "/proc/tardy_inject";
const LOOK_EVERY_NS: i64 = 50_000_000;

pub fn inject(terms: Terms) -> io::Result<()> {
    name("truth-sections");
    // The CPU that is to be late is to have nothing else to do, where there is another.
    pin(usize::from(terms.cpu == 0)).or_else(|_| pin(terms.cpu))?;
    load_module(&terms.module_bytes()?, "")?;
    let set = |name: &str, value: String| fs::write(format!("{PARAMETERS}/{name}"), value);
    set("section", terms.kind.clone())?;
    set("cpu", terms.cpu.to_string())?;
    let (length_us, period_us) = (terms.length_ns / 1000, (terms.length_ns + terms.pause_ns) / 1000);
    set("period_us", period_us.to_string())?;
    set("length_us", length_us.to_string())?;
    let mut noted = 0;
    loop {
        sleep_until(now_ns() + LOOK_EVERY_NS);
        let log = fs::read_to_string(SECTIONS)?;
        let new = log.get(noted..).unwrap_or("");
        terms.note_lines(new)?;
        noted = log.len();
    }
}
