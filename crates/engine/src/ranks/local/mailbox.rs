//! Which mailbox of a node holds what.

/// A mailbox of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mailbox {
    /// What all of the node are to do next.
    Order,
    /// From this node to the others.
    Outbox,
    /// From the others to this node.
    Inbox,
    /// From one rank.
    Rank(u32),
}

impl From<Mailbox> for u64 {
    fn from(mailbox: Mailbox) -> Self {
        match mailbox {
            Mailbox::Order => 0,
            Mailbox::Outbox => 1,
            Mailbox::Inbox => 2,
            Mailbox::Rank(rank) => 3 + Self::from(rank),
        }
    }
}
