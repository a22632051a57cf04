//! What the jobs of a phase that have ranks on several nodes agree on, and the work that they share.

use std::io;

use super::super::message::{JobKey, JobMessage, Message};
use super::super::wire::Wire;
use super::NodeLeader;
use crate::plan::MOST_JOBS;

impl<W: Wire> NodeLeader<'_, W> {
    /// Another node's ranks of a job have come to something, or the first node answers them.
    pub(super) fn take_job(&mut self, from: u32, key: JobKey, message: JobMessage, bytes: &[u8]) -> io::Result<()> {
        match message {
            JobMessage::Max { most, came, of } if key.order == self.order => {
                let Some(most) = self.reduce.add(key, most, came, of) else { return Ok(()) };
                let agreed = Message::Job(key, JobMessage::Agreed { most });
                (0..self.nodes).try_for_each(|node| self.tell(node, &agreed, &[]))
            }
            JobMessage::Hungry { came, members } if key.order == self.order => {
                self.stealing.hungry(key, from, came, &self.seating.nodes_of(members));
                self.share_out(key)
            }
            JobMessage::Piece if self.is_first() && key.order == self.order => {
                self.stealing.piece(key, from, bytes);
                self.share_out(key)
            }
            // Of a step or an order that is over.
            _ if !self.runs(key) => Ok(()),
            JobMessage::Agreed { most } => {
                self.place.job(key.job as usize).agree(most);
                Ok(())
            }
            JobMessage::Wanted => {
                self.place.work(key.job as usize).want_elsewhere();
                Ok(())
            }
            JobMessage::Piece => {
                self.take_in(key, bytes);
                Ok(())
            }
            JobMessage::NoMore => {
                self.place.work(key.job as usize).finish();
                Ok(())
            }
            JobMessage::Max { .. } | JobMessage::Hungry { .. } => Ok(()),
        }
    }

    /// What the jobs of the running phase have to agree on, and work to be shared.
    pub(super) fn pass_on_jobs(&mut self) -> io::Result<()> {
        let step = self.place.step();
        for job in 0..MOST_JOBS {
            let place = self.place;
            let (shared, list) = (place.job(job), place.work(job));
            let Some(members) = shared.members() else { continue };
            let key = JobKey { order: self.order, step, job: job as u32 };
            if let Some((most, came)) = shared.take_asked() {
                self.tell(0, &Message::Job(key, JobMessage::Max { most, came, of: members.count }), &[])?;
            }
            if let Some(came) = list.take_hungry() {
                self.tell(0, &Message::Job(key, JobMessage::Hungry { came, members }), &[])?;
            }
            for piece in list.give_away(|| self.place.stopping()) {
                self.active_ns = self.now_ns();
                self.tell(0, &Message::Job(key, JobMessage::Piece), &piece)?;
            }
        }
        Ok(())
    }

    fn take_in(&mut self, key: JobKey, piece: &[u8]) {
        if self.runs(key) {
            self.place.work(key.job as usize).take_in(piece, || self.place.stopping());
        }
    }

    /// As the first node: gives the pieces that it has to nodes that have none.
    fn share_out(&mut self, key: JobKey) -> io::Result<()> {
        let out = self.stealing.share_out(key);
        for (node, piece) in out.pieces {
            if node == self.node {
                self.take_in(key, &piece);
            } else {
                self.tell(node, &Message::Job(key, JobMessage::Piece), &piece)?;
            }
        }
        for node in out.asked {
            self.tell(node, &Message::Job(key, JobMessage::Wanted), &[])?;
        }
        out.finished.into_iter().try_for_each(|node| self.tell(node, &Message::Job(key, JobMessage::NoMore), &[]))
    }
}
