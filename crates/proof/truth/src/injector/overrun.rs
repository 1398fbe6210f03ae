//! A real-time loop whose own computation takes longer than its period, and that makes up for the cycles it missed.

use crate::cadence::{Cadence, INTERVAL_NS};
use crate::disturbance::{InLoop, Stretch};
use crate::kernel::{now_ns, spin_until};
use crate::terms::Terms;
use std::io;

pub fn set_up(terms: &Terms) -> io::Result<InLoop> {
    let length_ns = terms.length_ns;
    Ok(Box::new(move |cadence: &mut Cadence| {
        cadence.next();
        let begin_ns = now_ns();
        let others_ns = spin_until(begin_ns + length_ns);
        let end_ns = now_ns();
        (0..length_ns / INTERVAL_NS).for_each(|_| cadence.next_without_skipping());
        Ok(vec![Stretch::shared(begin_ns, end_ns, others_ns)])
    }))
}
