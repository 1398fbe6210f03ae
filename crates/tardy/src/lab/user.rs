//! Who works at a command line, for the log of actions.

/// `USER@HOST`.
pub fn this_user() -> String {
    let user = std::env::var("USER").ok().filter(|name| !name.is_empty());
    let user = user.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()));
    format!("{user}@{}", rustix::system::uname().nodename().to_string_lossy())
}
