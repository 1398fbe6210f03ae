//! The measuring threads: started together with one schedule, joined at the end.

use super::error::{Error, MeasureError};
use super::figures::MeasuringThread;
use super::markers::Markers;
use super::plan::over_ns;
use super::request::Request;
use super::tally::{Tally, TallyRequest};
use super::thread::{self, Effective, Job, Pages, Shared};
use meter::kernel::clock;
use meter::measure::schedule::Schedule;
use meter::measure::thread_record::ThreadRecord;
use meter::trace::arming::Armed;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest time to wait for a sleeping thread at the end.
const PATIENCE: Duration = Duration::from_millis(50);

/// Threads to join, by number.
pub type Handles = Vec<(u32, JoinHandle<Result<(), MeasureError>>)>;

/// Starts every thread and checks that each has the requested settings.
///
/// # Errors
/// A thread that could not be started or set up, with the fix.
pub fn start_all(
    request: &Request,
    jobs: Vec<Job>,
    shared: &Arc<Shared>,
    armed: Option<&Armed>,
    markers: &mut Markers,
) -> Result<(Vec<MeasuringThread>, Handles), Error> {
    let tally = TallyRequest {
        nanoseconds: request.nanoseconds,
        histogram: request.histogram,
        spike: request.spike,
        spike_nodes: request.spike_nodes,
        stream: request.verbose,
    };
    let (ready, answers) = channel();
    let (mut handles, mut pages) = (Vec::new(), Vec::new());
    let snapshotter_busy = Arc::default();
    for job in &jobs {
        let own = Pages {
            record: Arc::new(ThreadRecord::beside(0, Arc::clone(&snapshotter_busy))),
            tally: Arc::new(Tally::new(&tally)),
        };
        let marker = match armed {
            Some(armed) if armed.snapshotter.needs_marker() => {
                Some(markers.keep(armed.snapshotter.marker().map_err(|error| Error::Marker(error.to_string()))?))
            }
            _ => None,
        };
        let handle = thread::spawn(job.clone(), own.clone(), shared.clone(), marker, ready.clone())
            .map_err(Error::ThreadStart)?;
        handles.push((job.thread, handle));
        pages.push(own);
    }
    drop(ready);
    let mut effective: Vec<Option<Effective>> = vec![None; jobs.len()];
    for (thread, answer) in answers.iter().take(jobs.len()) {
        let settings = answer.map_err(|source| Error::ThreadSetup { thread, source })?;
        effective[thread as usize] = Some(settings);
    }
    let members = jobs.into_iter().zip(pages).zip(effective).map(|((job, pages), effective)| {
        let effective = effective.ok_or(Error::ThreadDied)?;
        Ok(MeasuringThread { job, effective, pages })
    });
    Ok((members.collect::<Result<_, Error>>()?, handles))
}

/// The start, interval and end of each thread.
pub fn schedules(request: &Request, members: &[MeasuringThread], traced: bool) -> Vec<Schedule> {
    let count = members.len() as i64;
    let clock = members[0].job.clock;
    let mut start_ns = thread::soon_ns(clock);
    if let Some(offset_us) = request.secaligned_us {
        let fraction_ns = start_ns.rem_euclid(1_000_000_000);
        // Less than a tenth of a second would be too short for a slow machine.
        let seconds = if fraction_ns > 900_000_000 { 2 } else { 1 };
        start_ns += seconds * 1_000_000_000 - fraction_ns + offset_us * 1000;
    }
    let duration_ns = request.duration_s.map_or(i64::MAX, |seconds| seconds * 1_000_000_000 + 1);
    let over = |limit: Option<i64>| limit.map_or(i64::MAX, |limit| over_ns(limit, request.nanoseconds));
    let schedule = |member: &MeasuringThread| {
        let interval_ns = member.job.interval_us * 1000;
        let thread = i64::from(member.job.thread);
        let offset_ns = match (request.aligned_us, request.secaligned_us) {
            (Some(offset_us), _) => offset_us * 1000 * thread,
            (None, Some(_)) => 0,
            // Threads without an alignment must not all wake at the same instant.
            (None, None) => interval_ns * thread / count,
        };
        Schedule {
            dither: None,
            interval_ns,
            first_due_ns: start_ns + offset_ns + interval_ns,
            // The snapshotter starts then; without one every wake-up counts, even if the clock is set.
            count_from_ns: if traced { start_ns } else { i64::MIN },
            end_ns: start_ns.saturating_add(duration_ns),
            cycles_max: request.loops.unwrap_or(u64::MAX),
            limit_ns: over(request.breaktrace).saturating_sub(1),
            spike_threshold_ns: over(request.snapshot),
            stretches: None,
            traced,
        }
    };
    members.iter().map(schedule).collect()
}

/// Waits briefly for every thread; returns which could not continue. Threads that still sleep are left alone.
pub fn join(handles: Handles) -> Vec<String> {
    let until_ns = clock::monotonic_ns() + PATIENCE.as_nanos() as i64;
    while handles.iter().any(|(_, handle)| !handle.is_finished()) && clock::monotonic_ns() < until_ns {
        std::thread::sleep(Duration::from_millis(1));
    }
    let finished = handles.into_iter().filter(|(_, handle)| handle.is_finished());
    finished
        .filter_map(|(thread, handle)| match handle.join() {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("the measuring thread {thread} {error}")),
            Err(_) => Some(format!("the measuring thread {thread} died; the numbers are not to be used")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_died_is_reported_and_one_that_sleeps_is_left_asleep() {
        let dead = std::thread::spawn(|| -> Result<(), MeasureError> { std::panic::resume_unwind(Box::new("dead")) });
        let failed = std::thread::spawn(|| Err(MeasureError::NoTimer));
        let asleep = std::thread::spawn(|| {
            std::thread::sleep(Duration::from_secs(3600));
            Ok(())
        });
        let failures = join(vec![(0, dead), (1, failed), (2, asleep)]);
        let [dead, failed] = &failures[..] else { panic!("{failures:?}") };
        assert!(dead.contains(" thread 0 ") && failed.contains(" thread 1 "), "{failures:?}");
        assert!(failed.ends_with(&MeasureError::NoTimer.to_string()), "{failed}");
    }
}
