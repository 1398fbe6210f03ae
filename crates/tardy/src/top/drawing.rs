//! The thread that draws the table once a second and at each key.

use super::live::{Shared, Stage};
use super::screen::{Keyboard, Screen};
use super::view::{View, Wish};
use machines::stop::StopRequests;
use ratatui_core::backend::Backend;
use ratatui_core::terminal::Terminal;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Interval between two pictures, and between two looks at the size of the terminal.
const EVERY: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The running thread.
pub struct Drawing {
    over: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<()>>,
}

/// Ends the watch with the thread, whatever ends that.
struct EndWatch(StopRequests, Arc<AtomicBool>);

impl Drop for EndWatch {
    fn drop(&mut self) {
        if !self.1.load(Relaxed) {
            self.0.request();
        }
    }
}

impl Drawing {
    /// Puts the table on the terminal.
    ///
    /// # Errors
    /// If standard input is not a terminal, or the system cannot create another thread.
    pub fn start(shared: Shared, stop: StopRequests) -> io::Result<Self> {
        let screen = Screen::enter()?;
        let over = Arc::<AtomicBool>::default();
        let is_over = over.clone();
        let thread = thread::Builder::new().name("tardy:screen".into()).spawn(move || {
            let _end = EndWatch(stop.clone(), is_over.clone());
            draw(screen, &shared, &stop, &is_over)
        })?;
        Ok(Self { over, thread })
    }

    /// Restores the terminal.
    ///
    /// # Errors
    /// If the terminal could not be used.
    pub fn end(self) -> io::Result<()> {
        self.over.store(true, Relaxed);
        match self.thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn draw(screen: Screen, shared: &Shared, stop: &StopRequests, over: &AtomicBool) -> io::Result<()> {
    let mut terminal = Terminal::new(screen)?;
    let mut keyboard = Keyboard::default();
    let mut view = View::default();
    let mut drawn: Option<Instant> = None;
    let mut size = terminal.size()?;
    while !over.load(Relaxed) {
        let now_size = terminal.backend().size()?;
        if drawn.is_none_or(|at| at.elapsed() >= EVERY) || size != now_size {
            size = now_size;
            let snapshot = shared.lock().snapshot();
            terminal.draw(|frame| view.draw(&snapshot, frame.area(), frame.buffer_mut()))?;
            drawn = Some(Instant::now());
        }
        let keys = keyboard.wait(LOOK_EVERY)?;
        if keys.is_empty() {
            continue;
        }
        let snapshot = shared.lock().snapshot();
        for key in keys {
            if view.key(key, &snapshot) == Wish::End {
                // The second request ends it at once, as a second Ctrl-C does.
                shared.lock().stage = Stage::Ending;
                stop.request();
            }
        }
        drawn = None;
    }
    Ok(())
}
