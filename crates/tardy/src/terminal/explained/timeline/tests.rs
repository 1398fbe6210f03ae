//! A made-up wake-up drawn with both sets of letters.

use super::*;
use archive::explanation::{Mark, MarkKind, PhaseName, PhaseSpan, Segment};
use archive::sample::Sample;
use archive::spike::SpikeReason;

fn made() -> (Spike, Explanation) {
    let segment = |start_ns, end_ns, kind, name: &str| Segment { start_ns, end_ns, kind, name: name.into() };
    let late = vec![
        segment(-20_000, 14_000, OwnerKind::RtTask, "urgent-22712"),
        segment(14_000, 30_000, OwnerKind::Hardirq, "local_timer"),
        segment(30_000, 95_000, OwnerKind::RtTask, "urgent-22712"),
        segment(95_000, 100_000, OwnerKind::Own, "tardy-cpu1-7"),
    ];
    let other = vec![segment(-20_000, 120_000, OwnerKind::Idle, "idle\x1b[2J")];
    let span = |name, start_ns, end_ns| PhaseSpan { name, start_ns, end_ns };
    let mark = |at_ns, kind, text: &str| Mark { at_ns, cpu: 0, kind, event: None, text: text.into() };
    let document = serde_json::json!({
        "spike": 1, "latency_ns": 100_000, "median_ns": 0, "status": "not_explained", "phases": [], "findings": [],
        "spans": [
            span(PhaseName::TimerDelay, 0, 14_000),
            span(PhaseName::Handler, 14_000, 20_000),
            span(PhaseName::SchedulingDelay, 20_000, 95_000),
            span(PhaseName::ReturnToUser, 95_000, 100_000),
        ],
        "lanes": [Lane { cpu: 0, segments: other }, Lane { cpu: 1, segments: late }],
        "marks": [
            mark(-5_000, MarkKind::Ipi, "before due"),
            mark(18_000, MarkKind::Woken, "urgent-22712 on CPU 1 begins to wake the thread"),
            mark(95_000, MarkKind::GivenCpu, "the thread is given the CPU"),
        ],
        "caveats": [],
    });
    let explanation: Explanation = serde_json::from_value(document).expect("this is an explanation");
    let spike =
        Spike::new(1, 0, 7, Sample { cpu: 1, cycle: 1, due_ns: 0, latency_ns: 100_000 }, SpikeReason::NewMaximum);
    (spike, explanation)
}

fn drawn(utf8: bool, columns: usize, colour: bool) -> String {
    let (spike, explanation) = made();
    let mut page = Page::new(colour);
    lay_out(&spike, &explanation, SampleWord::default(), Canvas { columns, utf8 }, &mut page);
    page.text().to_owned()
}

#[test]
fn the_picture_says_who_when_and_what_happened() {
    let text = drawn(true, 80, false);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("▼ due") && lines[0].ends_with("seen +100.0 µs ▼"), "{text}");
    assert!(
        lines[1].starts_with("phases") && lines[1].contains("├") && lines[1].contains(" scheduling delay "),
        "{text}"
    );
    assert!(lines[2].starts_with("CPU 1*") && lines[2].contains("▓ urgent-22712 ▓"), "{text}");
    assert!(lines[3].starts_with("CPU 0 ") && lines[3].contains("idle\\u{1b}[2J"), "{text}");
    assert!(text.contains("  a   +18.0 µs  urgent-22712 on CPU 1 "), "{text}");
    assert!(!text.contains("before due"), "{text}");
    // The drawing begins and ends in the columns of its instants.
    let column = |line: &str, letter: char| line.chars().position(|at| at == letter).unwrap();
    assert_eq!(column(lines[0], '▼'), column(lines[1], '├'), "{text}");
    assert!(column(lines[4], 'b').abs_diff(column(lines[2], '━')) <= 1, "{text}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn without_utf8_it_is_ascii_and_any_width_holds() {
    for columns in [40, 80, 200] {
        let text = drawn(false, columns, false);
        assert!(text.is_ascii() && text.contains("seen +100.0 us v"), "{text}");
        assert!(text.lines().skip(1).take(3).all(|line| line.chars().count() <= columns), "{text}");
    }
}

#[test]
fn colours_only_repeat_what_the_letters_say() {
    let (plain, coloured) = (drawn(true, 80, false), drawn(true, 80, true));
    assert!(!plain.contains('\x1b') && coloured.contains("\x1b[35m"));
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        stripped.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    stripped.push_str(rest);
    let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(trimmed(&stripped), trimmed(&plain));
}

#[test]
fn a_spike_without_a_picture_gets_none() {
    let (spike, mut explanation) = made();
    explanation.lanes.clear();
    let mut page = Page::new(false);
    lay_out(&spike, &explanation, SampleWord::default(), Canvas { columns: 80, utf8: true }, &mut page);
    assert_eq!(page.text(), "");
}
