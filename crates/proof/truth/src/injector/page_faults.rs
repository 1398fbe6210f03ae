//! A real-time loop that, now and then, touches memory it has never had: what happens to a program that locks none and gets
//! it in its loop.

use crate::cadence::Cadence;
use crate::disturbance::{InLoop, Stretch};
use crate::kernel::{Memory, held_ns, now_ns};
use crate::steps::Steps;
use crate::terms::Terms;
use std::io;

/// More than can be touches in any length that is asked for.
const BYTES: usize = 256 << 20;
const PAGE_BYTES: usize = 4 << 10;

pub fn set_up(terms: &Terms) -> io::Result<InLoop> {
    let length_ns = terms.length_ns;
    let mut touches = Steps::with_room(BYTES / PAGE_BYTES);
    Ok(Box::new(move |cadence: &mut Cadence| {
        // Mapping takes no memory yet.
        let memory = Memory::map(BYTES)?;
        cadence.next();
        let before_ns = held_ns();
        let begin_ns = now_ns();
        touches.begin(begin_ns);
        memory.touch_while(|| touches.note(now_ns()) < begin_ns + length_ns);
        let (end_ns, after_ns) = (now_ns(), held_ns());
        let unsure_ns = touches.unsure_ns();
        // To give the memory back takes long as well, in a cycle of its own.
        cadence.next();
        drop(memory);
        Ok(vec![Stretch { begin_ns, end_ns, held_ns: Some(after_ns - before_ns), unsure_ns }])
    }))
}
