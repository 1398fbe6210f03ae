//! The measuring process is stopped by a signal and continued later, or its thread by a debugger (`--kind trace`).

use crate::disturbance::{Beside, Stretch};
use crate::kernel::{detach, from_another_cpu, interrupt_traced, name, now_ns, seize, signal, sleep_until};
use crate::measured;
use crate::terms::Terms;
use std::io;

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    name("truth-stop");
    from_another_cpu(terms.cpu)?;
    let length_ns = terms.length_ns;
    if terms.kind == "trace" {
        let thread = measured::thread(terms.cpu)?;
        return Ok(Box::new(move || {
            seize(thread)?;
            interrupt_traced(thread)?;
            let begin_ns = now_ns();
            sleep_until(begin_ns + length_ns);
            let end_ns = now_ns();
            detach(thread)?;
            Ok(vec![Stretch::new(begin_ns, end_ns)])
        }));
    }
    let process = measured::process()?;
    Ok(Box::new(move || {
        let begin_ns = now_ns();
        signal(process, libc::SIGSTOP)?;
        sleep_until(begin_ns + length_ns);
        let end_ns = now_ns();
        signal(process, libc::SIGCONT)?;
        Ok(vec![Stretch::new(begin_ns, end_ns)])
    }))
}
