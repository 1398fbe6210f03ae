//! One account of a run, for everything that shows, judges or indexes an archive.
//!
//! [`Account`] opens an archive and answers what follows from it: figures, explanations, causes, verdicts, the data of a
//! report. Each answer is computed when it is first asked for, and kept. `account` defines it, `explaining` reads what `explain`
//! needs from the disk, one trace at a time, `judging` passes runs to `judge`, `planned` reads the limits that a plan named,
//! `block_requests` has `storage` divide the time of block requests, `chains` follows the chains of a watch, `stored_file` reads programs whose functions are to be named, and
//! `brief` answers in few bytes, `window` about a part of a run, `ranking` adds up the delay that each program or mechanism caused.
//!
//! It reads archives and nothing else, writes only explanations beside a run, and prints nothing.

mod account;
mod block_requests;
pub mod brief;
pub mod chains;
mod explaining;
mod judging;
pub mod planned;
pub mod ranking;
mod spike_trace;
pub mod stored_file;
pub mod window;

pub use account::{Account, ExplanationSource};
pub use explain::Stretch;
pub use explain::flight::{FlightArchiver, StopPoint};
pub use explain::scheduling_bound::{Delays, Interference, bound_ns};
pub use explaining::{explain_arrived, explain_case, explain_one, stop_point};
pub use judging::{COMPARE_VERSION, ComparedRuns, DifferingCauses, JUDGE_VERSION, JudgedRun, compared, differing};
pub use spike_trace::{DiskFile, SpikeTrace};
