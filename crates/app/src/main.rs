//! The command `tardy`.

use std::process::ExitCode;

fn main() -> ExitCode {
    app::cli::main()
}
