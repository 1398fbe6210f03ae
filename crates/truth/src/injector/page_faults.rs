//! A real-time loop that, now and then, touches memory it has never had: what happens to a program that locks none and gets
//! it in its loop.

use crate::kernel::{Memory, held_ns, name, now_ns, pin, prioritise, sleep_until};
use crate::steps::Steps;
use crate::terms::Terms;
use std::io;

const PRIORITY: i32 = 80;
const INTERVAL_NS: i64 = 1_000_000;
/// More than can be touches in any length that is asked for.
const BYTES: usize = 256 << 20;
const PAGE_BYTES: usize = 4 << 10;

pub fn inject(mut terms: Terms) -> io::Result<()> {
    name("truth-loop");
    pin(terms.cpu)?;
    prioritise(PRIORITY)?;
    let mut touches = Steps::with_room(BYTES / PAGE_BYTES);
    loop {
        // Mapping takes no memory yet.
        let memory = Memory::map(BYTES)?;
        let from_ns = now_ns() + terms.next_pause_ns();
        loop {
            let next_ns = now_ns() + INTERVAL_NS;
            sleep_until(next_ns);
            if next_ns >= from_ns {
                break;
            }
        }
        let before_ns = held_ns();
        let begin_ns = now_ns();
        touches.begin(begin_ns);
        memory.touch_while(|| touches.note(now_ns()) < begin_ns + terms.length_ns);
        let (end_ns, after_ns) = (now_ns(), held_ns());
        sleep_until(end_ns + INTERVAL_NS);
        terms.note_steps(begin_ns, end_ns, after_ns - before_ns, touches.unsure_ns())?;
    }
}
