//! The causes of late wake-ups of two runs side by side.

use crate::amounts::{rough, time};
use archive::method::SampleWord;
use claims::causes::{CauseDifference, CauseInRun, Change, Counting, Uncounted};

/// How a cause changed from run A to run B.
pub fn cause(cause: &CauseDifference) -> String {
    let (name, ratio, a, b) = (cause.name(), cause.ratio, &cause.a, &cause.b);
    let times = |side: &CauseInRun| match side.events {
        Some(1) => "once".to_owned(),
        count => format!("{} times", count.unwrap_or(0)),
    };
    let least = |low: f64| format!("at least {} times as often as in A", rough(low));
    let unseen = |name: &str, side: &CauseInRun| match side.per_hour {
        Some(rate) => format!("{name} may have had up to {} an hour unseen", rough(rate.high)),
        None => format!("how long {name} measured is not known"),
    };
    let (low, high) = ratio.unwrap_or((0.0, None));
    match cause.change {
        Change::Appeared => format!("{name} appeared: never in A, {} in B, {}", times(b), least(low)),
        Change::Vanished => format!(
            "{name} vanished: {} in A, never in B, where it comes at most {} times as often",
            times(a),
            rough(high.unwrap_or(1.0))
        ),
        Change::Grew => format!("{name} came more often: {} in A, {} in B, {}", times(a), times(b), least(low)),
        Change::Shrank => format!(
            "{name} came less often: {} in A, {} in B, at most {} times as often as in A",
            times(a),
            times(b),
            rough(high.unwrap_or(1.0))
        ),
        Change::NotShown if a.events == Some(0) => {
            format!(
                "{name} was counted {} in B and never in A: too few to rule out chance; {}",
                times(b),
                unseen("A", a)
            )
        }
        Change::NotShown if b.events == Some(0) => {
            format!(
                "{name} was counted {} in A and never in B: too few to rule out chance; {}",
                times(a),
                unseen("B", b)
            )
        }
        Change::NotShown => {
            let upper = high.map_or("any number of".to_owned(), rough);
            format!("{name}: no change shown; B has between {} and {upper} times the rate of A", rough(low))
        }
        Change::NotCounted if a.spikes == 0 => {
            format!("{name} has traces in B only, which does not say that A was without it")
        }
        Change::NotCounted if b.spikes == 0 => {
            format!("{name} has traces in A only, which does not say that B is without it")
        }
        Change::NotCounted => format!("{name} has traces in both; how often it strikes cannot be compared"),
    }
}

/// The counted wake-ups, or the reason that nothing is counted.
pub fn counted(counting: Counting, word: SampleWord) -> String {
    match counting {
        Counting::Not(run, why) => format!(
            "Nothing is counted: {} in run {run}. How many traces name a cause says what the recorder found worth keeping, \
             not how often the cause strikes.",
            uncounted(why)
        ),
        Counting::NothingAbove(above) => format!(
            "Nothing is counted: the {} {} without a trace has a latency of {}, and every one with a trace a smaller one. How many \
             traces name a cause says what the recorder found worth keeping, not how often the cause strikes. To count causes, measure \
             with --limit at a latency that is rarely exceeded.",
            word.worst,
            word.one,
            time(above as f64)
        ),
        Counting::Above(above) => format!(
            "Counted are {} with a latency above {}: every one of them has a trace, in both runs. Wake-ups of one cause within a \
              second count once. A change is reported when chance makes one like it in less than 5 % of such pairs, all causes \
             together, if a cause strikes independently of when it struck before.",
            word.many,
            time(above as f64)
        ),
    }
}

fn uncounted(why: Uncounted) -> &'static str {
    match why {
        Uncounted::NothingMeasured => "no sample was measured",
        Uncounted::Watched => "the threads of another program were watched, which do not wake at a rate of their own",
        Uncounted::NoTrace => "no sample has a trace",
        Uncounted::RecordsDropped => "records of samples were dropped",
        Uncounted::WorstNotKept => "the worst samples were not kept",
    }
}
