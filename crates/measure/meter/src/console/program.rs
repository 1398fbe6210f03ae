//! Runs a program for the host to its end.

use protocol::console::Answer;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const OUTPUT_BYTES_MAX: u64 = 16 << 20;
const COMPLAINTS: usize = 20;
const COMPLAINT_BYTES: u64 = 1000;
/// A grandchild that holds the output open must not delay the answer longer than this.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A running program.
pub struct Running {
    child: Child,
    output: Arc<Mutex<Vec<u8>>>,
    complaints: Arc<Mutex<VecDeque<String>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Running {
    /// Starts it with this input.
    ///
    /// # Errors
    /// Errors of starting a program.
    pub fn start(program: &str, arguments: &[String], input: &[u8]) -> io::Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (output, complaints) = (Arc::<Mutex<Vec<u8>>>::default(), Arc::<Mutex<VecDeque<String>>>::default());
        let mut readers = Vec::new();
        if let Some(mut pipe) = child.stdin.take() {
            let input = input.to_vec();
            // If it does not read its input, its output shows why.
            thread::spawn(move || drop(pipe.write_all(&input)));
        }
        if let Some(pipe) = child.stdout.take() {
            let output = Arc::clone(&output);
            readers.push(thread::spawn(move || keep(pipe, &output)));
        }
        if let Some(pipe) = child.stderr.take() {
            let complaints = Arc::clone(&complaints);
            readers.push(thread::spawn(move || keep_lines(pipe, &complaints)));
        }
        Ok(Self { child, output, complaints, readers })
    }

    /// Its exit and output, if it has ended.
    pub fn ended(&mut self) -> Option<(Answer, Vec<u8>)> {
        let status = self.child.try_wait().ok().flatten()?;
        let begun = Instant::now();
        while self.readers.iter().any(|reader| !reader.is_finished()) && begun.elapsed() < LAST_WORDS {
            thread::sleep(Duration::from_millis(5));
        }
        let complaints = lock(&self.complaints).iter().cloned().collect();
        let answer = Answer::Ended { code: status.code(), signal: status.signal(), complaints };
        Some((answer, std::mem::take(&mut *lock(&self.output))))
    }

    pub fn kill(&mut self) {
        // It may have ended by itself in the meantime, which is just as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn keep(pipe: impl Read, output: &Mutex<Vec<u8>>) {
    let mut pipe = pipe.take(OUTPUT_BYTES_MAX);
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = pipe.read(&mut bytes) {
        lock(output).extend_from_slice(&bytes[..count]);
    }
}

fn keep_lines(pipe: impl Read, complaints: &Mutex<VecDeque<String>>) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while matches!((&mut pipe).take(COMPLAINT_BYTES).read_until(b'\n', &mut line), Ok(1..)) {
        let mut kept = lock(complaints);
        if kept.len() == COMPLAINTS {
            kept.pop_front();
        }
        kept.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
        line.clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
