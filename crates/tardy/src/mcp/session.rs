//! A session with one client: reads its messages, starts calls, writes replies, and ends with the input or at a signal.

mod pending;

use super::call::{Call, refused};
use super::context::Context;
use super::line::{Line, next_line};
use super::message::{Fault, INVALID_REQUEST, Id, Message, Request, message};
use super::problem::RequestProblem;
use super::requests::{Answered, answered, of_era};
use super::version::Era;
use archive::problem::ProblemKind;
use interchange::json;
use pending::{CALLS_MAX, Late, Pending};
use serde_json::{Map, Value};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Instant;

/// An event that the session waits for.
enum Event {
    Line(Line),
    Closed,
    Signal,
    Answer(Id, Value),
}

/// Serves a client until its messages end, or a signal arrives.
///
/// # Errors
/// If no thread can be started, or nothing can be written.
pub fn serve(context: Context, input: impl Read + Send + 'static, output: impl Write) -> anyhow::Result<()> {
    let (sender, events) = channel();
    watch_signals(sender.clone())?;
    read_lines(input, sender.clone())?;
    let context = Arc::new(context);
    let session = Session { context: Arc::clone(&context), pending: Pending::default(), sender, output };
    let served = session.run(&events);
    context.temporary.remove();
    served
}

fn watch_signals(sender: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("mcp:signals".into()).spawn(move || {
        signals.forever().map(|_| Event::Signal).try_for_each(|event| sender.send(event)).ok();
    })?;
    Ok(())
}

fn read_lines(input: impl Read + Send + 'static, sender: Sender<Event>) -> io::Result<()> {
    let mut reader = BufReader::new(input);
    thread::Builder::new().name("mcp:input".into()).spawn(move || {
        while let Ok(Some(line)) = next_line(&mut reader) {
            if sender.send(Event::Line(line)).is_err() {
                return;
            }
        }
        let _ = sender.send(Event::Closed);
    })?;
    Ok(())
}

struct Session<W> {
    context: Arc<Context>,
    pending: Pending,
    sender: Sender<Event>,
    output: W,
}

impl<W: Write> Session<W> {
    fn run(mut self, events: &Receiver<Event>) -> anyhow::Result<()> {
        let mut is_ending = false;
        while !(is_ending && self.pending.is_over()) {
            match self.next(events) {
                Some(Event::Line(line)) if !is_ending => self.read(line)?,
                Some(Event::Line(_)) => {}
                Some(Event::Answer(id, result)) => self.finish(id, result)?,
                Some(Event::Closed) => is_ending = true,
                Some(Event::Signal) => {
                    self.pending.cancel_all();
                    is_ending = true;
                }
                None => self.refuse_late()?,
            }
            if is_ending {
                self.context.must_stop.store(true, Ordering::SeqCst);
            }
        }
        Ok(())
    }

    /// The next event; `None` if a call takes too long.
    fn next(&self, events: &Receiver<Event>) -> Option<Event> {
        match self.pending.deadline() {
            None => Some(events.recv().unwrap_or(Event::Closed)),
            Some(deadline) => match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Event::Closed),
            },
        }
    }

    fn read(&mut self, line: Line) -> io::Result<()> {
        let bytes = match line {
            Line::TooLong => return self.write(&too_long()),
            Line::Message(bytes) => bytes,
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        match message(&bytes) {
            Ok(Message::Request(request)) => self.answer(request),
            Ok(Message::Notification { method, params }) => self.notice(&method, &params),
            Ok(Message::Reply) => Ok(()),
            Err(fault) => self.write(&fault.reply()),
        }
    }

    fn answer(&mut self, request: Request) -> io::Result<()> {
        let id = request.id.clone();
        match answered(&request, &self.context) {
            Ok(Answered::Now(result)) => self.write(&id.reply(result)),
            Ok(Answered::Later(call, era)) => self.start(id, call, era),
            Err(fault) => self.write(&fault.to(id).reply()),
        }
    }

    fn start(&mut self, id: Id, call: Call, era: Era) -> io::Result<()> {
        if self.pending.has(&id) {
            let fault = Fault::new(INVALID_REQUEST, "a call with this `id` is in progress");
            return self.write(&fault.to(id).reply());
        }
        let (is_full, is_measuring) = (self.pending.is_full(), call.tool.measures && self.pending.is_measuring());
        if is_full || is_measuring {
            let calls = if is_full { CALLS_MAX } else { 1 };
            return self.refuse(id, era, RequestProblem::Busy { calls });
        }
        if call.tool.measures {
            self.context.must_stop.store(false, Ordering::SeqCst);
        }
        self.pending.add(id.clone(), era, (call.tool.limit)(&call.given), call.tool.measures);
        let sender = self.sender.clone();
        call.start(Arc::clone(&self.context), move |result| _ = sender.send(Event::Answer(id, result)))
    }

    fn finish(&mut self, id: Id, result: Value) -> io::Result<()> {
        match self.pending.remove(&id) {
            Some(era) => self.write(&id.reply(of_era(result, era))),
            None => Ok(()),
        }
    }

    fn notice(&mut self, method: &str, params: &Map<String, Value>) -> io::Result<()> {
        let cancelled = params.get("requestId").filter(|_| method == "notifications/cancelled").and_then(Id::of);
        if cancelled.is_some_and(|id| self.pending.cancel(&id)) {
            self.context.must_stop.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    fn refuse_late(&mut self) -> io::Result<()> {
        for Late { id, era, limit } in self.pending.late() {
            self.refuse(id, era, RequestProblem::Timeout { seconds: limit.as_secs() })?;
        }
        Ok(())
    }

    fn refuse(&mut self, id: Id, era: Era, problem: RequestProblem) -> io::Result<()> {
        self.write(&id.reply(of_era(refused(&problem.into()), era)))
    }

    fn write(&mut self, reply: &Value) -> io::Result<()> {
        self.output.write_all(&json::line(reply)?)?;
        self.output.flush()
    }
}

fn too_long() -> Value {
    let problem = RequestProblem::MessageTooLong;
    let data = serde_json::json!({ "code": problem.code(), "text": problem.to_string(), "fix": problem.fix() });
    Fault::new(INVALID_REQUEST, "the message is too long").with_data(data).reply()
}
