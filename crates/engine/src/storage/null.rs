//! `null`: does nothing, at once. What a phase costs with it is what the engine costs.

use std::io;
use std::path::Path;

use super::names::Names;
use super::names::null::{CAPABILITIES, NullNames};
use super::{Capabilities, Connection, FinishedTransfer, InFlight, OpenFile, Opening, Setup, StorageApi};

pub(super) struct Null;

impl StorageApi for Null {
    fn name(&self) -> &'static str {
        "null"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            directories: true,
            shared_files: true,
            rewrites: true,
            sync: true,
            depth: u32::MAX,
            names: Some(CAPABILITIES),
            ..Capabilities::NONE
        }
    }

    fn connect(&self, setup: Setup<'_>) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(NullConnection {
            transfer_bytes: setup.buffers.first().map_or(0, |buffer| buffer.len()),
            names: NullNames,
        }))
    }
}

struct NullConnection {
    transfer_bytes: usize,
    names: NullNames,
}

impl Connection for NullConnection {
    fn open(&mut self, _path: &Path, _opening: Opening<'_>) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(NullFile { transfer_bytes: self.transfer_bytes, begun: Vec::new() }))
    }

    fn names(&mut self) -> Option<&mut dyn Names> {
        Some(&mut self.names)
    }
}

struct NullFile {
    transfer_bytes: usize,
    begun: Vec<InFlight>,
}

impl OpenFile for NullFile {
    fn write_at(&mut self, data: &[u8], _offset: u64) -> io::Result<usize> {
        Ok(data.len())
    }

    fn read_at(&mut self, data: &mut [u8], _offset: u64) -> io::Result<usize> {
        Ok(data.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn check_linked(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }

    fn begin(&mut self, transfer: InFlight) -> io::Result<()> {
        self.begun.push(transfer);
        Ok(())
    }

    fn finish(&mut self, _at_least: u32, ended: &mut Vec<FinishedTransfer>) -> io::Result<()> {
        let moved = |transfer: InFlight| self.transfer_bytes - transfer.from as usize;
        ended.extend(self.begun.drain(..).map(|t| FinishedTransfer { buffer: t.buffer, moved: Ok(moved(t)) }));
        Ok(())
    }
}
