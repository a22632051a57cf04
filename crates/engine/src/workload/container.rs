//! The files of a dataset, byte for byte: samples laid end to end, and what a container puts around each of them.
//!
//! A file is what begins it, then for each sample its head, its bytes and its tail, then what ends the file. All of their
//! lengths are known before anything is written, so that the place of a sample is computed and no file is read to find it.
//! Records of TFRecord are as <https://www.tensorflow.org/tutorials/load_data/tfrecord> describes them; npz is a zip archive
//! without compression (PKWARE's APPNOTE) with one array in NumPy's format 1.0; Parquet has a row group for each sample,
//! with one page of plain, required byte arrays. Not here: decoding, and HDF5, whose trees of blocks only its library writes.

use crc_fast::{CrcAlgorithm, Digest, checksum};
use ioassay_protocol::plan::train::Container;

use super::dataset::{Samples, spot};
use super::payload::Content;

/// Name of the array in an npz file: what DLIO calls it.
const ARRAY: &[u8] = b"x.npy";

/// Bytes of the head of a NumPy array: its description, filled up with spaces to a multiple of 64.
const ARRAY_HEAD_BYTES: usize = 128;

/// What a zip archive has before the name of a file, behind its bytes, and in its list before the name.
const ZIP_HEAD_BYTES: usize = 30;
const ZIP_TAIL_BYTES: usize = 16;
const ZIP_ENTRY_BYTES: usize = 46;
const ZIP_END_BYTES: usize = 22;

/// Sizes follow the bytes of a file in a zip archive, so that it is written without going back.
const ZIP_SIZES_FOLLOW: u16 = 1 << 3;

/// What a Parquet file begins and ends with.
const PARQUET_MARK: &[u8] = b"PAR1";

/// The last bytes of a Parquet file, by which readers find its footer: the length of that, and the mark.
pub const PARQUET_END_BYTES: u64 = 8;

/// Name of the column of a Parquet file.
const COLUMN: &str = "sample";

/// A container puts fewer bytes than this around a sample that has a file of its own.
pub const MOST_AROUND_BYTES: u64 = 1024;

/// What the names of files end with, so that other readers know them.
pub fn extension(container: Container) -> &'static str {
    match container {
        Container::Raw => "",
        Container::Tfrecord => ".tfrecord",
        Container::Npz => ".npz",
        Container::Parquet => ".parquet",
    }
}

/// The largest sample that a container can hold.
pub fn largest_sample_bytes(container: Container) -> u64 {
    match container {
        Container::Raw | Container::Tfrecord => u64::MAX,
        Container::Npz => u64::from(u32::MAX) - 4096,
        // The size of a page is signed.
        Container::Parquet => (1 << 31) - 4096,
    }
}

/// Bytes before the first sample of a file.
pub fn begin_bytes(container: Container) -> u64 {
    if container == Container::Parquet { PARQUET_MARK.len() as u64 } else { 0 }
}

/// Bytes right before and right after a sample of so many bytes.
#[inline]
pub fn around(container: Container, bytes: u64) -> (u64, u64) {
    match container {
        Container::Raw => (0, 0),
        Container::Tfrecord => (12, 4),
        Container::Npz => ((ZIP_HEAD_BYTES + ARRAY.len() + ARRAY_HEAD_BYTES) as u64, ZIP_TAIL_BYTES as u64),
        Container::Parquet => (parquet_head(bytes).len() as u64, 0),
    }
}

/// Bytes behind the last sample of `file`.
pub fn end_bytes(samples: &Samples, file: u64) -> u64 {
    match samples.container() {
        Container::Raw | Container::Tfrecord => 0,
        Container::Npz => (ZIP_ENTRY_BYTES + ARRAY.len() + ZIP_END_BYTES) as u64,
        Container::Parquet => parquet_end(samples, file).len() as u64,
    }
}

/// The index of a file of TFRecord, as DALI's `tfrecord2idx` writes it: a line for each record with its offset and length.
pub fn index(samples: &Samples, file: u64) -> String {
    use std::fmt::Write as _;

    let (mut lines, mut offset) = (String::new(), 0);
    for sample in samples.in_file(file) {
        let bytes = samples.stored_bytes(sample);
        let _ = writeln!(lines, "{offset} {bytes}");
        offset += bytes;
    }
    lines
}

/// The bytes of a file of a dataset from some place on, in order.
pub struct FileBytes<'a> {
    samples: &'a Samples,
    content: &'a Content,
    file: u64,
    next: Part,
    /// The part that is being copied, where it is not a sample, and how much of it was.
    framing: (Vec<u8>, usize),
    /// Of the sample that is being made, where its container has one.
    digest: Option<Digest>,
}

/// What comes next in a file.
#[derive(Debug, Clone, Copy)]
enum Part {
    Begin,
    Head(u64),
    /// A sample, from this byte of it on.
    Data(u64, u64),
    Tail(u64),
    End,
    Nothing,
}

impl<'a> FileBytes<'a> {
    /// All of `file`, which may be an index.
    pub fn of_file(samples: &'a Samples, content: &'a Content, file: u64) -> Self {
        Self::from(samples, content, file, Part::Begin)
    }

    /// From the head of `sample` on.
    pub fn of_sample(samples: &'a Samples, content: &'a Content, sample: u64) -> Self {
        Self::from(samples, content, samples.file_of(sample), Part::Head(sample))
    }

    fn from(samples: &'a Samples, content: &'a Content, file: u64, next: Part) -> Self {
        Self { samples, content, file, next, framing: (Vec::new(), 0), digest: None }
    }

    /// The next bytes, as many as `buffer` has.
    ///
    /// # Panics
    /// If the file has fewer.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        let mut rest = buffer;
        while !rest.is_empty() {
            let (framing, copied) = &mut self.framing;
            if *copied < framing.len() {
                let count = rest.len().min(framing.len() - *copied);
                let (part, others) = rest.split_at_mut(count);
                part.copy_from_slice(&framing[*copied..*copied + count]);
                *copied += count;
                rest = others;
            } else if let Part::Data(sample, offset) = self.next {
                let bytes = self.samples.bytes(sample) - offset;
                let (part, others) = rest.split_at_mut(rest.len().min(bytes as usize));
                self.content.fill(part, spot(sample, offset));
                if let Some(digest) = &mut self.digest {
                    digest.update(part);
                }
                let is_whole = part.len() as u64 == bytes;
                self.next = if is_whole { Part::Tail(sample) } else { Part::Data(sample, offset + part.len() as u64) };
                rest = others;
            } else {
                self.framing = (self.advance(), 0);
            }
        }
    }

    /// Makes the part that comes next, which is no sample.
    fn advance(&mut self) -> Vec<u8> {
        let (samples, container) = (self.samples, self.samples.container());
        match self.next {
            Part::Begin if self.file >= samples.files() => {
                self.next = Part::Nothing;
                index(samples, self.file - samples.files()).into_bytes()
            }
            Part::Begin => {
                self.next = Part::Head(samples.in_file(self.file).start);
                if container == Container::Parquet { PARQUET_MARK.to_vec() } else { Vec::new() }
            }
            Part::Head(sample) => {
                self.next = Part::Data(sample, 0);
                self.head(samples.bytes(sample))
            }
            Part::Tail(sample) => {
                self.next =
                    if sample + 1 < samples.in_file(self.file).end { Part::Head(sample + 1) } else { Part::End };
                match (container, &self.digest) {
                    (Container::Tfrecord, Some(digest)) => masked(digest.finalize() as u32).to_le_bytes().to_vec(),
                    (Container::Npz, Some(digest)) => zip_tail(digest.finalize() as u32, samples.bytes(sample)),
                    _ => Vec::new(),
                }
            }
            Part::End => {
                self.next = Part::Nothing;
                match (container, &self.digest) {
                    (Container::Npz, Some(digest)) => {
                        zip_end(digest.finalize() as u32, samples.bytes(samples.in_file(self.file).start))
                    }
                    (Container::Parquet, _) => parquet_end(samples, self.file),
                    _ => Vec::new(),
                }
            }
            Part::Data(..) | Part::Nothing => panic!("file {} of the dataset has no more bytes", self.file),
        }
    }

    fn head(&mut self, bytes: u64) -> Vec<u8> {
        match self.samples.container() {
            Container::Raw => Vec::new(),
            Container::Tfrecord => {
                self.digest = Some(Digest::new(CrcAlgorithm::Crc32Iscsi));
                let length = bytes.to_le_bytes();
                let sum = masked(checksum(CrcAlgorithm::Crc32Iscsi, &length) as u32);
                [&length[..], &sum.to_le_bytes()].concat()
            }
            Container::Npz => {
                let array = array_head(bytes);
                let mut digest = Digest::new(CrcAlgorithm::Crc32IsoHdlc);
                digest.update(&array);
                self.digest = Some(digest);
                // Its checksum and sizes follow the bytes.
                let mut head = b"PK\x03\x04".to_vec();
                zip_description(&mut head, [0; 3]);
                head.extend_from_slice(&[0, 0]);
                head.extend_from_slice(ARRAY);
                [head, array].concat()
            }
            Container::Parquet => parquet_head(bytes),
        }
    }
}

/// The checksum of a record, as TFRecord stores it: so that a record which holds records is not taken for its own.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The description of a one-dimensional array of bytes.
fn array_head(bytes: u64) -> Vec<u8> {
    let text = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({bytes},), }}");
    let room = ARRAY_HEAD_BYTES - 10;
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend_from_slice(&(room as u16).to_le_bytes());
    head.extend_from_slice(format!("{text:<width$}\n", width = room - 1).as_bytes());
    head
}

/// What a zip archive says of a file before its bytes and in its list: version 2.0, not compressed, of 1980-01-01, the
/// checksum with the size twice, and the length of its name.
fn zip_description(to: &mut Vec<u8>, [sum, stored, size]: [u32; 3]) {
    for field in [20, ZIP_SIZES_FOLLOW, 0, 0, 0x21] {
        to.extend_from_slice(&field.to_le_bytes());
    }
    for field in [sum, stored, size] {
        to.extend_from_slice(&field.to_le_bytes());
    }
    to.extend_from_slice(&(ARRAY.len() as u16).to_le_bytes());
}

fn zip_sizes(sum: u32, bytes: u64) -> [u32; 3] {
    let size = ARRAY_HEAD_BYTES as u32 + bytes as u32;
    [sum, size, size]
}

fn zip_tail(sum: u32, bytes: u64) -> Vec<u8> {
    let fields = zip_sizes(sum, bytes).map(u32::to_le_bytes);
    [&b"PK\x07\x08"[..], fields.as_flattened()].concat()
}

/// The list of a zip archive with one file, and its end.
fn zip_end(sum: u32, bytes: u64) -> Vec<u8> {
    let mut end = b"PK\x01\x02".to_vec();
    end.extend_from_slice(&20_u16.to_le_bytes());
    zip_description(&mut end, zip_sizes(sum, bytes));
    // No extra field, no comment, the first disk, no attributes, and the archive begins with it.
    end.extend_from_slice(&[0; 16]);
    end.extend_from_slice(ARRAY);
    let (head, tail) = around(Container::Npz, bytes);
    let (list_bytes, list_at) = (end.len() as u32, (head + bytes + tail) as u32);
    end.extend_from_slice(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    end.extend_from_slice(&list_bytes.to_le_bytes());
    end.extend_from_slice(&list_at.to_le_bytes());
    end.extend_from_slice(&[0; 2]);
    end
}

/// The head of the page that holds one sample of so many bytes, and the length before the sample.
fn parquet_head(bytes: u64) -> Vec<u8> {
    let page_bytes = bytes as i64 + 4;
    let mut thrift = Thrift::default();
    // A page of data, not compressed.
    thrift.integers(&[(1, 0), (2, page_bytes), (3, page_bytes)]);
    thrift.structure(5, |page| page.integers(&[(1, 1), (2, PLAIN), (3, RLE), (4, RLE)]));
    thrift.bytes.push(STOP);
    thrift.bytes.extend_from_slice(&(bytes as u32).to_le_bytes());
    thrift.bytes
}

/// The footer of a Parquet file, with what ends the file.
fn parquet_end(samples: &Samples, file: u64) -> Vec<u8> {
    let in_file = samples.in_file(file);
    let rows = (in_file.end - in_file.start) as i64;
    let mut footer = Thrift::default();
    footer.integers(&[(1, 1)]);
    footer.list(2, STRUCT, 2);
    footer.element(|root| {
        root.text(4, "schema");
        root.integers(&[(5, 1)]);
    });
    footer.element(|leaf| {
        leaf.integers(&[(1, BYTE_ARRAY), (3, REQUIRED)]);
        leaf.text(4, COLUMN);
    });
    footer.long(3, rows);
    footer.list(4, STRUCT, rows as usize);
    let mut offset = begin_bytes(Container::Parquet) as i64;
    for sample in in_file {
        let bytes = samples.stored_bytes(sample) as i64;
        footer.element(|group| {
            group.list(1, STRUCT, 1);
            group.element(|chunk| {
                chunk.long(2, offset);
                chunk.structure(3, |column| {
                    column.integers(&[(1, BYTE_ARRAY)]);
                    column.list(2, INTEGER, 1);
                    column.varint(zigzag(PLAIN));
                    column.list(3, BINARY, 1);
                    column.string(COLUMN);
                    column.integers(&[(4, UNCOMPRESSED)]);
                    for (field, value) in [(5, 1), (6, bytes), (7, bytes), (9, offset)] {
                        column.long(field, value);
                    }
                });
            });
            group.long(2, bytes);
            group.long(3, 1);
        });
        offset += bytes;
    }
    footer.text(6, "ioassay");
    footer.bytes.push(STOP);
    let length = (footer.bytes.len() as u32).to_le_bytes();
    [&footer.bytes[..], &length, PARQUET_MARK].concat()
}

/// Numbers of Parquet's enumerations.
const PLAIN: i64 = 0;
const RLE: i64 = 3;
const BYTE_ARRAY: i64 = 6;
const REQUIRED: i64 = 0;
const UNCOMPRESSED: i64 = 0;

/// Types of Thrift's compact protocol, and what ends a structure.
const INTEGER: u8 = 5;
const LONG: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;
const STOP: u8 = 0;

/// A structure in Thrift's compact protocol, in which fields come by rising numbers.
#[derive(Default)]
struct Thrift {
    bytes: Vec<u8>,
    last_field: u8,
}

impl Thrift {
    fn field(&mut self, number: u8, kind: u8) {
        self.bytes.push((number - self.last_field) << 4 | kind);
        self.last_field = number;
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn integers(&mut self, fields: &[(u8, i64)]) {
        for &(number, value) in fields {
            self.field(number, INTEGER);
            self.varint(zigzag(value));
        }
    }

    fn long(&mut self, number: u8, value: i64) {
        self.field(number, LONG);
        self.varint(zigzag(value));
    }

    fn string(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn text(&mut self, number: u8, text: &str) {
        self.field(number, BINARY);
        self.string(text);
    }

    /// The beginning of a list; its elements follow.
    fn list(&mut self, number: u8, kind: u8, count: usize) {
        self.field(number, LIST);
        if count < 15 {
            self.bytes.push((count as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            self.varint(count as u64);
        }
    }

    /// A structure within this one.
    fn structure(&mut self, number: u8, fill: impl FnOnce(&mut Self)) {
        self.field(number, STRUCT);
        self.element(fill);
    }

    /// A structure that is an element of a list.
    fn element(&mut self, fill: impl FnOnce(&mut Self)) {
        let outer = std::mem::take(&mut self.last_field);
        fill(self);
        self.bytes.push(STOP);
        self.last_field = outer;
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}
