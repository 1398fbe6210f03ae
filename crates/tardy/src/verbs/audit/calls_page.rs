//! Every system call of an audit as a line of text, thread by thread.

use archive::audit::AuditDescription;
use audit::activity::{Activity, Call};
use audit::read::Recorded;
use audit::system_calls::name;
use std::fmt::Write;
use words::figures::latency;

pub fn lay_out(description: &AuditDescription, recorded: &Recorded) -> String {
    let mut text = String::new();
    for thread in recorded.threads.values() {
        for call in &thread.calls {
            line(description, thread, call, &mut text);
        }
    }
    text
}

fn line(description: &AuditDescription, thread: &Activity, call: &Call, text: &mut String) {
    let name = name(&description.machine, call.number).map_or_else(|| format!("call_{}", call.number), str::to_owned);
    let arguments: Vec<String> = call.arguments.iter().map(|argument| format!("{argument:#x}")).collect();
    let seconds = call.start_ns.saturating_sub(description.started_ns) as f64 / 1e9;
    let _ = write!(text, "{} {seconds:.9} {name}({})", thread.tid, arguments.join(", "));
    let _ = match call.answer {
        Some(answer) => writeln!(text, " = {answer} in {}", latency(call.duration_ns())),
        None => writeln!(text, " = ?"),
    };
}
