//! A real-time task below the measuring thread uses up the budget of the control group that both are in: real-time budget, or the
//! quota of ordinary tasks (`--kind quota`), for which the measuring thread has to be an ordinary one.
//!
//! The task reads the clock without end: where it stands still for longer than any interrupt takes, no thread of the group ran.

use crate::control_group::ControlGroup;
use crate::disturbance::{Beside, Stretch};
use crate::kernel::{lock_memory, name, now_ns, own_thread, pin, prioritise};
use crate::measured;
use crate::terms::Terms;
use std::io;

const PRIORITY: i32 = 10;
const PERIOD_US: i64 = 100_000;
const SHARES_MAX: &str = "262144";

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    lock_memory();
    name("truth-budget");
    pin(terms.cpu)?;
    let group = ControlGroup::make("cpu")?;
    // So that what is left of a period takes about as long as requested.
    let budget_us = (PERIOD_US - terms.length_ns / 1000).max(PERIOD_US / 10);
    let ordinary = terms.kind == "quota";
    let (period, budget) =
        if ordinary { ("cpu.cfs_period_us", "cpu.cfs_quota_us") } else { ("cpu.rt_period_us", "cpu.rt_runtime_us") };
    group.set(period, &PERIOD_US.to_string())?;
    group.set(budget, &budget_us.to_string())?;
    if ordinary {
        // Else the tasks outside have the CPU for so long that the quota is never used up.
        group.set("cpu.shares", SHARES_MAX)?;
    }
    let threads = [measured::thread(terms.cpu)?, own_thread()];
    let (least_ns, period_ns) = (terms.length_ns / 2, PERIOD_US * 1000);
    Ok(Box::new(move || {
        if !ordinary {
            prioritise(PRIORITY)?;
        }
        threads.iter().try_for_each(|&thread| group.take_in(thread))?;
        let begin_ns = now_ns();
        let mut last_ns = begin_ns;
        let stretch = loop {
            let ns = now_ns();
            if ns - last_ns >= least_ns {
                break Some(Stretch::new(last_ns, ns));
            }
            if ns > begin_ns + 2 * period_ns {
                break None;
            }
            last_ns = ns;
        };
        threads.iter().try_for_each(|&thread| group.put_back(thread))?;
        if !ordinary {
            prioritise(0)?;
        }
        Ok(stretch.into_iter().collect())
    }))
}
