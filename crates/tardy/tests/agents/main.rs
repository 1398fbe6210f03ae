//! `tardy mcp` and the skill for coding agents, as a client sees them.

mod answers;
mod blind;
mod client;
mod hostile;
mod measure;
mod protocol;
mod server;
mod skill;
