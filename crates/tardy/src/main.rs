//! The command `tardy`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tardy::cli::main()
}
