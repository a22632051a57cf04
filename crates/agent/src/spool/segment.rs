//! A segment file of a spool: a row of frames, each a header with lengths and checksums, then a payload.
//!
//! Not here: which segments there are ([`super`]).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::sinks::Payload;

/// The longest payload that is believed when a spool is read.
const PAYLOAD_BYTES: u64 = 1 << 30;

/// Length, documents, checksum of the payload, checksum of these three, state: each of four bytes.
const HEADER: u64 = 20;
const STATE: u64 = 16;
const WAITING: u32 = 0;
const DELIVERED: u32 = 1;

/// A segment file that is open.
#[derive(Debug)]
pub struct Segment {
    /// Its number, which is its name.
    pub number: u64,
    /// Its file.
    pub file: File,
    /// Where the first frame is that may wait.
    pub read: u64,
    /// Where the next frame is written.
    pub end: u64,
    /// Documents of the frames that wait.
    pub documents: u64,
}

impl Segment {
    /// Writes a frame behind all others. After an error it is not there.
    pub fn write(&mut self, frame: &Frame) -> io::Result<()> {
        if let Err(error) = self.file.write_all_at(&frame.bytes, self.end) {
            // What was written of it would be cut off when the spool is opened, too.
            let _ = self.file.set_len(self.end);
            return Err(error);
        }
        self.end += frame.size();
        self.documents += frame.documents;
        Ok(())
    }

    /// The first payload that waits, and where it is.
    pub fn next(&mut self) -> io::Result<Option<(u64, Payload)>> {
        while self.read < self.end {
            let header = Header::read(&self.file, self.read)?;
            if header.state == WAITING {
                let mut bytes = vec![0; header.length as usize];
                self.file.read_exact_at(&mut bytes, self.read + HEADER)?;
                if crc32fast::hash(&bytes) != header.payload_sum {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                return Ok(Some((self.read, Payload { documents: header.documents.into(), bytes })));
            }
            self.read += header.frame();
        }
        Ok(None)
    }

    /// Marks the frame at `read` and goes behind it.
    pub fn pass(&mut self) {
        match Header::read(&self.file, self.read) {
            Ok(header) => {
                // Unmarked, it would be delivered again by the next agent: stores know documents that they have.
                let _ = self.file.write_all_at(&DELIVERED.to_le_bytes(), self.read + STATE);
                self.read += header.frame();
                self.documents -= u64::from(header.documents);
            }
            Err(_) => (self.read, self.documents) = (self.end, 0),
        }
    }

    /// Counts what waits, cuts off what was not written to its end, and says how many documents are lost.
    pub fn recover(&mut self) -> io::Result<u64> {
        let mut lost = 0;
        let mut offset = 0;
        let mut bytes = Vec::new();
        while offset < self.end {
            let Ok(header) = Header::read(&self.file, offset) else {
                // Of how many documents it was is not known.
                lost += 1;
                break;
            };
            let whole = offset + header.frame() <= self.end;
            if header.state == WAITING {
                let mut sound = whole;
                if whole {
                    bytes.resize(header.length as usize, 0);
                    self.file.read_exact_at(&mut bytes, offset + HEADER)?;
                    sound = crc32fast::hash(&bytes) == header.payload_sum;
                }
                if sound {
                    self.documents += u64::from(header.documents);
                } else {
                    lost += u64::from(header.documents);
                    self.file.write_all_at(&DELIVERED.to_le_bytes(), offset + STATE)?;
                }
            }
            if !whole {
                break;
            }
            offset += header.frame();
        }
        if offset < self.end {
            self.file.set_len(offset)?;
            self.end = offset;
        }
        Ok(lost)
    }
}

struct Header {
    length: u32,
    documents: u32,
    payload_sum: u32,
    state: u32,
}

impl Header {
    fn read(file: &File, offset: u64) -> io::Result<Self> {
        let mut bytes = [0; HEADER as usize];
        file.read_exact_at(&mut bytes, offset)?;
        let [length, documents, payload_sum, sum, state] =
            std::array::from_fn(|word| u32::from_le_bytes(std::array::from_fn(|byte| bytes[4 * word + byte])));
        if crc32fast::hash(&bytes[..12]) != sum || u64::from(length) > PAYLOAD_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self { length, documents, payload_sum, state })
    }

    fn frame(&self) -> u64 {
        HEADER + u64::from(self.length)
    }
}

/// A payload with its header, as it is written.
pub struct Frame {
    documents: u64,
    bytes: Vec<u8>,
}

impl Frame {
    /// That of a payload.
    pub fn of(payload: &Payload) -> Self {
        let length = u32::try_from(payload.bytes.len()).expect("payloads are of some thousand documents");
        let documents = u32::try_from(payload.documents).expect("payloads are of some thousand documents");
        let mut bytes = Vec::with_capacity(payload.bytes.len() + HEADER as usize);
        for word in [length, documents, crc32fast::hash(&payload.bytes)] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes.extend(WAITING.to_le_bytes());
        bytes.extend(&payload.bytes);
        Self { documents: payload.documents, bytes }
    }

    /// Its bytes.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}
