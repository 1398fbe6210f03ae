//! `message-queue`: from `mq_send` until the thread in `mq_receive` runs. pmqtest's method.

use super::error::MethodError;
use super::stimulus::{self, PartnerPlace, Post, Receive, Received, Requested};
use super::{MeasuringMethod, RunContext, ThreadSetup};
use crate::journal::Journal;
use crate::kernel::message_queue::MessageQueue;
use archive::method::message_queue::MessageQueue as MessageQueues;
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, Rounds};
use std::path::Path;
use std::sync::Arc;

impl Post for MessageQueue {
    #[inline]
    fn post(&self) {
        self.send();
    }
}

impl Receive for Arc<MessageQueue> {
    #[inline]
    fn receive(&mut self) -> Received {
        if MessageQueue::receive(self) { Received::Stimulus } else { Received::Broken }
    }
}

impl MeasuringMethod for MessageQueues {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        if root.join("proc/sys/fs/mqueue").exists() {
            return Vec::new();
        }
        vec![Obstacle {
            kind: ObstacleKind::Kernel,
            text: "the kernel has no POSIX message queues (CONFIG_POSIX_MQUEUE)".into(),
            fix: String::new(),
        }]
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let setup = |cpu: &u32| {
            let refused =
                |source| MethodError::Refused { method: Method::MessageQueue, action: "make a message queue", source };
            let queue = Arc::new(MessageQueue::new(*cpu).map_err(refused)?);
            let place = PartnerPlace::of(run, *cpu, self.partner()).with(self.caches());
            Ok(match self.rounds() {
                Rounds::Requested => {
                    let request = Arc::new(MessageQueue::new(*cpu).map_err(refused)?);
                    stimulus::requested_setup(run, *cpu, place, Requested::by(queue, request))
                }
                Rounds::Scheduled => stimulus::setup(*cpu, place, queue.clone(), queue),
            })
        };
        run.measured.iter().map(setup).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_message_queues_is_named() {
        let root = tempfile::tempdir().unwrap();
        assert!(MessageQueues::default().obstacles(root.path())[0].text.contains("CONFIG_POSIX_MQUEUE"));
    }
}
