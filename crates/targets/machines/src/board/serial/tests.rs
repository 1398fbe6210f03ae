//! The session's script in the shell of this machine, and a board that answers, both on a line with other output.

use super::super::session::{Purpose, SessionRequest};
use super::*;
use protocol::console::letter::{Gathered, Line as Words, Side, lines};
use protocol::console::{Answer, CONSOLE_VERSION, Question, pack, unpack};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

const MESSAGE: &[u8] = b"[   12.345678] usb 1-1: new high-speed USB device ~ [x]\r\n";

/// Forwards the board's output with a kernel message every `every` bytes, and without some bytes.
fn disturb(mut from: impl Read + Send + 'static, mut to: UnixStream, every: usize) {
    thread::spawn(move || {
        let mut bytes = [0; 1];
        for number in 1.. {
            if !matches!(from.read(&mut bytes), Ok(1)) || (number % (every * 9) != 0 && to.write_all(&bytes).is_err()) {
                return;
            }
            if number % every == 0 && to.write_all(MESSAGE).is_err() {
                return;
            }
        }
    });
}

/// Connections from and to a board whose output is disturbed.
fn line(every: usize) -> (Dialogue, UnixStream, UnixStream) {
    let (host, relay) = UnixStream::pair().unwrap();
    let (board, kernel) = UnixStream::pair().unwrap();
    disturb(kernel, relay.try_clone().unwrap(), every);
    let mut dialogue = Dialogue::new(ConsoleReader::new(Port::of_socket(OwnedFd::from(host)).unwrap(), Rc::default()));
    dialogue.reader.keep();
    (dialogue, relay, board)
}

/// A session in this directory, without these programs.
fn session(place: &Path, without: &[&str], every: usize) -> (Dialogue, Greeting, Tools, Child) {
    let (mut dialogue, input, output) = line(every);
    let broken = place.join("broken");
    std::fs::create_dir(&broken).unwrap();
    for name in without {
        std::fs::write(broken.join(name), "#!/bin/sh\nexit 1\n").unwrap();
        std::fs::set_permissions(broken.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", broken.display(), std::env::var("PATH").unwrap());
    let directory = Some(place.display().to_string());
    let request = SessionRequest { directory, token: "a".into(), purpose: Purpose::Run, ..SessionRequest::default() };
    let child = Command::new("sh")
        .args(["-c", &plain(&request.console_script())])
        .env("PATH", path)
        .stdin(Stdio::from(OwnedFd::from(input)))
        .stdout(Stdio::from(OwnedFd::from(output)))
        .spawn()
        .unwrap();
    let (mut greeting, mut tools) = (Greeting::default(), Tools::default());
    let over = dialogue.listen(Duration::from_secs(60), &StopRequests::default(), |words| {
        greeting.take(&format!("tardy {words}"));
        tools = Tools::parse(words).unwrap_or(std::mem::take(&mut tools));
        greeting.is_over().then_some(())
    });
    over.unwrap();
    (dialogue, greeting, tools, child)
}

fn program() -> Vec<u8> {
    let noise = (0..20_000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8);
    noise.chain([0; 20_000]).collect()
}

#[test]
fn a_program_arrives_whole_whatever_the_board_can_and_whatever_else_is_printed() {
    for (without, (letters, unpacks, sums)) in [
        (&[][..], ("base64", true, "cksum")),
        (&["base64", "zcat", "gzip", "gunzip", "cksum"], ("openssl", false, "sha256sum")),
        (&["base64", "openssl", "cksum", "sha256sum"], ("octal", true, "none")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (mut dialogue, greeting, tools, mut child) = session(folder.path(), without, 90);
        assert!(greeting.ready, "{greeting:?}");
        let fitting = Tools { letters: letters.into(), unpacks, sums: sums.into() };
        // Some machines have a program that cannot be hidden.
        if letters != "openssl" {
            assert_eq!(tools, fitting);
        }
        let manner = Manner { baud: BAUD, stop: &StopRequests::default(), report: &|_| {} };
        sending::send(&mut dialogue, ("meter-x", &program()), &tools, &manner).unwrap();
        let place = Path::new(&greeting.place);
        assert!(std::fs::read(place.join("meter-x")).unwrap() == program(), "{letters}");
        assert!(super::super::is_executable(&place.join("meter-x")).unwrap());
        dialogue.say("end").unwrap();
        dismiss(&dialogue);
        assert!(child.wait().unwrap().success());
        assert!(!place.exists());
    }
}

#[test]
fn a_keeper_that_hears_what_is_not_for_it_tidies_up_and_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let (dialogue, greeting, _, mut child) = session(folder.path(), &[], 1_000_000);
    // The probe of a host that follows one that died.
    dialogue.say(" echo \"tardy $((6*7)) sh\"").unwrap();
    dismiss(&dialogue);
    child.wait().unwrap();
    assert!(greeting.ready && !Path::new(&greeting.place).exists());
}

#[test]
fn a_meter_that_does_not_run_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (mut dialogue, greeting, tools, mut child) = session(folder.path(), &[], 1_000_000);
    let manner = Manner { baud: BAUD, stop: &StopRequests::default(), report: &|_| {} };
    let meter = b"#!/bin/sh\necho wrong machine >&2\nexit 126\n";
    sending::send(&mut dialogue, ("meter-x", meter), &tools, &manner).unwrap();
    let exchange = Exchange::new(dialogue, BAUD);
    let mut talk = Talk { exchange, listener: Listener::Session, meter: "meter-x".into() };
    let why = talk.exchange().err().unwrap().to_string();
    assert!(why.contains(" 126"), "{why}");
    dismiss(&talk.exchange.dialogue);
    child.wait().unwrap();
    assert!(!Path::new(&greeting.place).exists());
}

#[test]
fn a_meter_has_ended_even_if_its_last_output_did_not_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let (mut dialogue, greeting, tools, mut child) = session(folder.path(), &[], 1_000_000);
    let manner = Manner { baud: BAUD, stop: &StopRequests::default(), report: &|_| {} };
    let ready = Words::Ready { version: CONSOLE_VERSION }.text();
    let meter = format!("#!/bin/sh\necho '{}'\nread -r goodbye\n", ready.trim_end());
    sending::send(&mut dialogue, ("meter-x", meter.as_bytes()), &tools, &manner).unwrap();
    let exchange = Exchange::new(dialogue, BAUD);
    let mut talk = Talk { exchange, listener: Listener::Session, meter: "meter-x".into() };
    for _ in 0..2 {
        talk.exchange().unwrap();
        // It was asked again when only the session was left to receive it.
        let session = talk.session().unwrap();
        session.say(Words::Missing { letter: 1, numbers: Vec::new() }.text().trim_end()).unwrap();
    }
    let stop = StopRequests::default();
    let line = SerialLine {
        talk: Rc::new(RefCell::new(talk)),
        greeting: greeting.clone(),
        tools,
        baud: BAUD,
        stop,
        report: |_| {},
    };
    Box::new(line).end();
    assert!(child.wait().unwrap().success() && !Path::new(&greeting.place).exists());
}

/// A board that answers each question with its own text, as often as it is asked.
fn answer(input: UnixStream, mut output: UnixStream, answers: u32) {
    let _ = output.write_all(Words::Ready { version: CONSOLE_VERSION }.text().as_bytes());
    let (mut arriving, mut answered) = ((0, Gathered::default()), (0, Vec::new()));
    for line in BufReader::new(input).lines().map_while(Result::ok) {
        let answer = match Words::parse(&line) {
            Some(Words::Piece(piece)) if piece.letter > answers => return,
            Some(Words::Piece(piece)) => {
                if arriving.0 != piece.letter {
                    arriving = (piece.letter, Gathered::default());
                }
                let letter = piece.letter;
                arriving.1.take(piece);
                let Some(whole) = arriving.1.whole() else { continue };
                let (_, bytes) = unpack::<Question>(&whole).unwrap();
                let text = lines(Side::Board, letter, &pack(&Answer::Done, &bytes));
                answered = (letter, text);
                answered.1.concat()
            }
            Some(Words::Missing { letter, numbers }) if letter == answered.0 => {
                numbers.iter().map(|number| answered.1[*number as usize].as_str()).collect()
            }
            _ => continue,
        };
        if output.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn questions_are_answered_through_noise_and_what_that_cost_is_counted() {
    let (dialogue, input, output) = line(700);
    let board = thread::spawn(move || answer(input, output, 3));
    let mut exchange = Exchange::new(dialogue, BAUD);
    exchange.greet(Duration::from_secs(60)).unwrap();
    for bytes in [Vec::new(), program(), b"short".to_vec()] {
        let answered = exchange.answer(&Question::Bye, &bytes, Duration::from_secs(60)).unwrap();
        assert!(answered == (Answer::Done, bytes));
    }
    // A board that stops answering counts as a dead line.
    let gone = exchange.answer(&Question::Bye, b"", Duration::from_secs(60));
    assert!(gone.is_err());
    board.join().unwrap();
}

#[test]
fn damage_is_counted_and_what_the_kernel_said_is_kept() {
    let traffic = Rc::<RefCell<super::super::traffic::ConsoleTraffic>>::default();
    let (host, relay) = UnixStream::pair().unwrap();
    let (board, kernel) = UnixStream::pair().unwrap();
    disturb(kernel, relay.try_clone().unwrap(), 500);
    let mut reader = ConsoleReader::new(Port::of_socket(OwnedFd::from(host)).unwrap(), Rc::clone(&traffic));
    reader.keep();
    thread::spawn(move || answer(relay, board, 1));
    let mut exchange = Exchange::new(Dialogue::new(reader), BAUD);
    exchange.greet(Duration::from_secs(60)).unwrap();
    exchange.answer(&Question::Bye, &program(), Duration::from_secs(60)).unwrap();
    let traffic = traffic.borrow();
    assert!(traffic.damage.damaged > 0 && traffic.damage.repeated > 0, "{:?}", traffic.damage);
    assert!(traffic.damage.is_any());
    let console = String::from_utf8(traffic.console.text()).unwrap();
    let whole = std::str::from_utf8(MESSAGE).unwrap().trim_end();
    assert!(console.lines().filter(|line| *line == whole).count() > 1, "{console}");
}

#[test]
fn the_typed_line_checks_the_script_that_follows() {
    let shell = |by_us| Shell { by_us };
    let run = |typed: String, script: &str| {
        let mut child =
            Command::new("sh").args(["-c", typed.trim()]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    let script = "echo \"it's\"\necho here";
    assert_eq!(run(typed(script, shell(false), false), script), "tardy listens\nit's\nhere\n");
    assert_eq!(
        run(typed(script, shell(true), false), &script[1..]),
        "tardy listens\ntardy#1 garbled\ntardy#1 garbled\n"
    );
    let typed = typed(script, shell(true), true);
    assert!(typed.contains("sudo -n sh") && typed.contains("; exit;;") && !typed.contains("tardy listens"));
    assert_eq!(plain("who='Jürgen'\n\n"), "who='J?rgen'");
}

#[test]
fn echoed_input_is_not_output() {
    let (mut dialogue, ..) = line(1_000_000);
    let echo = typed("echo here", Shell { by_us: true }, false);
    for _ in 0..3 {
        dialogue.overhear(&format!("root@board:~# {}", echo.trim_end()));
    }
    assert_eq!(dialogue.next_line(), None);
}

#[test]
fn a_program_that_does_not_arrive_leaves_a_keeper_that_listens() {
    let folder = tempfile::tempdir().unwrap();
    let (mut dialogue, greeting, tools, mut child) = session(folder.path(), &[], 1_000_000);
    // Blocks whose checksum this board cannot verify.
    let misunderstood = Tools { sums: "none".into(), ..tools };
    let manner = Manner { baud: 921_600, stop: &StopRequests::default(), report: &|_| {} };
    let why = sending::send(&mut dialogue, ("meter-x", &program()), &misunderstood, &manner).unwrap_err();
    assert!(matches!(why, SerialError::BlockLost { block: 1, .. }), "{why}");
    dialogue.say("end").unwrap();
    dismiss(&dialogue);
    assert!(child.wait().unwrap().success() && !Path::new(&greeting.place).exists());
}
