//! What the other CPUs had to do with a late wake-up, and what they did meanwhile.

use crate::anchors::Anchors;
use crate::case::duration;
use crate::event::What;
use crate::holder::{Holder, Household};
use crate::marks::somebody;
use crate::scene::{CpuStory, Scene};
use std::collections::HashMap;

/// CPUs that get a sentence of their own.
const CPUS_MAX: usize = 4;
/// Owners that a sentence names.
const OWNERS_MAX: usize = 3;
/// An owner below this part is not worth a word.
const PERCENT_MIN: i64 = 5;

/// The wake-up across CPUs first, then what each other CPU did between due and seen, the least idle ones first.
pub fn sentences(scene: &Scene, anchors: &Anchors, cpu: u32, household: &Household) -> Vec<String> {
    let mut sentences: Vec<String> = woken_from_elsewhere(scene, anchors, household).into_iter().collect();
    let mut others: Vec<(i64, &CpuStory)> =
        scene.cpus.iter().filter(|story| story.cpu != cpu).map(|story| (busy_ns(story, scene), story)).collect();
    others.sort_by_key(|(busy_ns, story)| (std::cmp::Reverse(*busy_ns), story.cpu));
    let told = others.iter().filter(|(busy_ns, _)| *busy_ns > 0);
    sentences.extend(told.clone().take(CPUS_MAX).filter_map(|(_, story)| did(story, scene)));
    let left = told.count().saturating_sub(CPUS_MAX);
    if left > 0 {
        sentences.push(format!("{left} more CPUs were busy less"));
    }
    let idle = others.iter().filter(|(busy_ns, story)| *busy_ns == 0 && !held(story, scene).is_empty()).count();
    match idle {
        0 => {}
        1 => sentences.push("1 other CPU was idle all the time".into()),
        _ => sentences.push(format!("{idle} other CPUs were idle all the time")),
    }
    sentences
}

fn woken_from_elsewhere(scene: &Scene, anchors: &Anchors, household: &Household) -> Option<String> {
    let waking = anchors.waking?;
    let given = anchors.switched.or(anchors.woken)?;
    if waking.cpu == given.cpu {
        return None;
    }
    let mut events = scene.cpu(waking.cpu)?.events_between(waking.ts_ns, waking.ts_ns).iter();
    let event = events.find(|event| matches!(event.what, What::Waking { tid, .. } if tid == household.own_tid))?;
    let runnable = anchors.woken.map_or(given.ts_ns, |woken| woken.ts_ns);
    Some(format!(
        "the wake-up came from another CPU: {} began it {} after due; CPU {} had the thread runnable {} later",
        somebody(event, &scene.names),
        duration(waking.ts_ns - scene.window.due_ns),
        given.cpu,
        duration(runnable - waking.ts_ns)
    ))
}

/// Time between due and seen in which a CPU did something.
fn busy_ns(story: &CpuStory, scene: &Scene) -> i64 {
    held(story, scene).iter().filter(|(holder, _)| !holder.is_idle()).map(|(_, ns)| ns).sum()
}

/// Who held a CPU for how long between due and seen; what nobody recorded is left out.
fn held(story: &CpuStory, scene: &Scene) -> Vec<(Holder, i64)> {
    let window = scene.window;
    let mut sums: HashMap<Holder, i64> = HashMap::new();
    for interval in story.overlapping(window.due_ns, window.seen_ns) {
        if interval.holder != Holder::Untraced {
            let ns = interval.end_ns.min(window.seen_ns) - interval.start_ns.max(window.due_ns);
            *sums.entry(interval.holder).or_default() += ns;
        }
    }
    let mut held: Vec<(Holder, i64)> = sums.into_iter().collect();
    held.sort_by_key(|&(holder, ns)| (std::cmp::Reverse(ns), holder));
    held
}

fn did(story: &CpuStory, scene: &Scene) -> Option<String> {
    let latency_ns = (scene.window.seen_ns - scene.window.due_ns).max(1);
    let percent = |ns: i64| (i128::from(ns) * 100 / i128::from(latency_ns)) as i64;
    let held = held(story, scene);
    let named: Vec<String> = held
        .iter()
        .filter(|(_, ns)| percent(*ns) >= PERCENT_MIN)
        .take(OWNERS_MAX)
        .map(|(holder, ns)| format!("{} {} %", holder.name(&scene.names), percent(*ns)))
        .collect();
    (!named.is_empty()).then(|| format!("CPU {} meanwhile: {}", story.cpu, named.join(", ")))
}
