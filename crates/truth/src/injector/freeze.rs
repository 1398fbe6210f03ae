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
        group.set("freezer.state", "FROZEN")?;
        let begin_ns = now_ns();
        sleep_until(begin_ns + length_ns);
        let end_ns = now_ns();
        group.set("freezer.state", "THAWED")?;
        Ok(vec![Stretch::new(begin_ns, end_ns)])
    }))
}
