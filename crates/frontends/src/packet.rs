//! What IOR, mdtest and the IO500 write: `--dataPacketType`.

use ioassay_protocol::plan::data::Payload;

/// What files hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet {
    /// The signature and what follows it, the same in every transfer or file of a rank.
    Timestamp,
    /// The same with the transfer's offset, or the file's number.
    Offset,
    /// One number of chance, and the offset.
    Incompressible,
    /// Numbers of chance.
    Random,
}

impl Packet {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Timestamp, Self::Offset, Self::Incompressible, Self::Random];

    /// Its name in full.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timestamp => "timestamp",
            Self::Offset => "offset",
            Self::Incompressible => "incompressible",
            Self::Random => "random",
        }
    }

    /// The one that a text begins with the letter of: the originals take any letters after it.
    pub fn of_letter(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|packet| packet.name().chars().next() == text.chars().next())
    }

    /// As plans have it.
    pub fn payload(self, signature: i32) -> Payload {
        match self {
            Self::Timestamp => Payload::IorTimestamp { signature },
            Self::Offset => Payload::IorOffset { signature },
            Self::Incompressible => Payload::IorIncompressible { signature },
            Self::Random => Payload::IorRandom { signature },
        }
    }
}
