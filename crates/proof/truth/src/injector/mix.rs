//! Draws one of several injectors at random for each injection. The draw goes into the log and nowhere else.

use crate::cadence::Cadence;
use crate::disturbance::{Beside, InLoop, SetUp, Stretch};
use crate::terms::Terms;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// An injector of a mix.
pub struct Part {
    /// The name of its injections in the log.
    pub name: String,
    pub set_up: SetUp,
    pub terms: Terms,
}

pub fn inject(mut terms: Terms, parts: Vec<Part>) -> io::Result<()> {
    let beside: Vec<_> = parts
        .iter()
        .filter_map(|part| match part.set_up {
            SetUp::Beside(set_up) => Some((part, set_up)),
            SetUp::InLoop(_) => None,
        })
        .collect();
    match beside.len() {
        0 => in_loop(terms, &parts),
        count if count == parts.len() => {
            let mut workers = Vec::new();
            for (part, set_up) in beside {
                workers.push((part.name.clone(), Worker::start(set_up, part.terms.clone())?));
            }
            loop {
                terms.pause();
                let (name, worker) = &workers[terms.draw(workers.len())];
                let stretches = worker.inject()?;
                terms.note_as(name, &stretches)?;
            }
        }
        _ => Err(io::Error::other("injectors in a loop do not go with others")),
    }
}

fn in_loop(mut terms: Terms, parts: &[Part]) -> io::Result<()> {
    let mut cadence = Cadence::start(&terms)?;
    let mut loops: Vec<(&str, InLoop)> = Vec::new();
    for part in parts {
        if let SetUp::InLoop(set_up) = part.set_up {
            loops.push((&part.name, set_up(&part.terms)?));
        }
    }
    loop {
        cadence.pass(terms.next_pause_ns());
        let drawn = terms.draw(loops.len());
        let (name, once) = &mut loops[drawn];
        let stretches = once(&mut cadence)?;
        cadence.next();
        terms.note_as(name, &stretches)?;
    }
}

/// An injector on a thread of its own, which has its own name, priority and CPU.
struct Worker {
    ask: Sender<()>,
    answer: Receiver<io::Result<Vec<Stretch>>>,
}

impl Worker {
    fn start(set_up: fn(&Terms) -> io::Result<Beside>, terms: Terms) -> io::Result<Self> {
        let (ask, asked) = channel();
        let (reply, answer) = channel();
        thread::spawn(move || {
            let mut once = match set_up(&terms) {
                Ok(once) => once,
                Err(error) => return drop(reply.send(Err(error))),
            };
            let _ = reply.send(Ok(Vec::new()));
            while asked.recv().is_ok() {
                let _ = reply.send(once());
            }
        });
        let worker = Self { ask, answer };
        worker.answer()?;
        Ok(worker)
    }

    fn inject(&self) -> io::Result<Vec<Stretch>> {
        let _ = self.ask.send(());
        self.answer()
    }

    fn answer(&self) -> io::Result<Vec<Stretch>> {
        self.answer.recv().unwrap_or_else(|_| Err(io::Error::other("the thread of an injector ended")))
    }
}
