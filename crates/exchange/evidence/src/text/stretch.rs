//! The text of a latency tracer in a file, also quoted in a mail or behind the stamps of a log.

use ftrace::latency_trace::LatencyTrace;

const HEAD: &str = " latency trace v";

/// The text of a latency tracer, without what surrounds it; `None` if the file has none.
pub fn stretch_in(text: &str) -> Option<String> {
    if !text.contains(HEAD) {
        return None;
    }
    let lines: Vec<&str> = text.lines().map(unquoted).collect();
    let begin = lines.iter().position(|line| line.starts_with('#') && line.contains(HEAD))?;
    let own = lines[begin..].join("\n") + "\n";
    let parsed = LatencyTrace::parse(&own);
    (parsed.latency_us.is_some() && !parsed.tracer.is_empty()).then_some(own)
}

/// A line without the marks of a quotation and the stamp of the kernel's log.
fn unquoted(line: &str) -> &str {
    let line = line.trim_end().trim_start_matches(['>', ' ', '|']);
    let stamped = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    match stamped {
        Some((stamp, rest)) if stamp.bytes().all(|byte| byte.is_ascii_digit() || b" .".contains(&byte)) => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# wakeup_rt latency trace v1.1.5 on 6.1.0-rt
# latency: 300 us, #2/2, CPU#0 | (M:preempt_rt #P:2)
loop-7 0d..2. 0us : first <-second
loop-7 0d..2. 290us : last <-second
";

    #[test]
    fn the_text_is_found_alone_quoted_and_in_a_log() {
        assert_eq!(stretch_in(TEXT).as_deref(), Some(TEXT));
        let quoted: String = TEXT.lines().map(|line| format!("> > {line}\n")).collect();
        assert_eq!(stretch_in(&format!("Hello,\n> my trace:\n{quoted}")).as_deref(), Some(TEXT));
        let logged: String = TEXT.lines().map(|line| format!("[   12.345678] {line}\n")).collect();
        assert_eq!(stretch_in(&logged).as_deref(), Some(TEXT));
    }

    #[test]
    fn another_text_has_none() {
        for text in ["", "# tracer: nop\n", "# wakeup_rt latency trace v1.1.5 on 6.1.0\n", "a latency trace v1\n"] {
            assert_eq!(stretch_in(text), None, "{text}");
        }
    }
}
