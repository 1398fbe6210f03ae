//! Taking runs: the options of a run, the machine it is taken on, what ends it, and rounds of runs.

pub mod arguments;
pub mod ending;
pub mod machine;
pub mod request;
pub mod rounds;
pub mod signals;
pub mod variant;
