//! The control group of the measuring thread is frozen and thawed.

use crate::control_group::ControlGroup;
use crate::disturbance::{Beside, Stretch};
use crate::kernel::{from_another_cpu, name, now_ns, sleep_until};
use crate::measured;
use crate::terms::Terms;
use std::io;

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    name("truth-freeze");
    from_another_cpu(terms.cpu)?;
    let group = ControlGroup::make("freezer")?;
    group.take_in(measured::thread(terms.cpu)?)?;
    let length_ns = terms.length_ns;
    Ok(Box::new(move || {
        let begin_ns = now_ns();
        group.set("freezer.state", "FROZEN")?;
        let frozen_ns = now_ns();
        sleep_until(frozen_ns + length_ns);
        let thawing_ns = now_ns();
        group.set("freezer.state", "THAWED")?;
        let end_ns = now_ns();
        // When the kernel reaches the thread within a write is not known; a write also changes code of the kernel.
        let unsure_ns = frozen_ns - begin_ns + end_ns - thawing_ns;
        Ok(vec![Stretch { unsure_ns, ..Stretch::new(begin_ns, end_ns) }])
    }))
}
