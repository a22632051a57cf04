//! How messages get from node to node. Not here: what they say.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

/// One node's end of what joins all nodes. Messages from one node to another arrive whole, once and in order; nothing
/// here ever waits, so that a leader can give up on a node that is gone.
pub trait Wire {
    /// Sends `message` to node `to`.
    ///
    /// # Errors
    /// If what joins the nodes is broken for good.
    fn send(&mut self, to: u32, message: Vec<u8>) -> io::Result<()>;

    /// A message that has arrived, and from which node; `None` if there is none now.
    ///
    /// # Errors
    /// As for [`Wire::send`].
    fn receive(&mut self) -> io::Result<Option<(u32, Vec<u8>)>>;

    /// True when everything that was sent has left this node.
    fn has_sent_all(&mut self) -> bool;
}

/// The wire between nodes that are threads of one process: for tests, and to measure what the rest costs.
#[derive(Debug)]
pub struct Threads {
    node: u32,
    to: Vec<Sender<(u32, Vec<u8>)>>,
    from: Receiver<(u32, Vec<u8>)>,
}

impl Threads {
    /// The ends of a wire between so many nodes.
    pub fn between(nodes: u32) -> Vec<Self> {
        let (to, from): (Vec<_>, Vec<_>) = (0..nodes).map(|_| channel()).unzip();
        from.into_iter().enumerate().map(|(node, from)| Self { node: node as u32, to: to.clone(), from }).collect()
    }
}

impl Wire for Threads {
    fn send(&mut self, to: u32, message: Vec<u8>) -> io::Result<()> {
        // A node that is gone does not hear it.
        let _ = self.to[to as usize].send((self.node, message));
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Option<(u32, Vec<u8>)>> {
        Ok(self.from.try_recv().ok())
    }

    fn has_sent_all(&mut self) -> bool {
        true
    }
}
