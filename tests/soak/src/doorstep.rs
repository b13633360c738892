//! An outsider's access: to the life of the organism that can be reached, with its own credential. It
//! does not know what is sent.

use std::sync::Arc;

use super::board::Board;
use super::guests::Guest;
use super::house::House;
use systole::console::client::Client as Door;

/// One party's access.
pub(crate) struct Doorstep {
    house: House,
    guest: Guest,
    board: Arc<Board>,
    door: Option<(u64, Door)>,
}

impl Doorstep {
    pub(crate) fn new(house: &House, guest: Guest, board: Arc<Board>) -> Doorstep {
        Doorstep { house: house.clone(), guest, board, door: None }
    }

    /// The door of the reachable life, with its number; `None` once the run is given up. If it is the
    /// life seen last, it waits a moment first.
    pub(crate) fn at(&mut self, seen: Option<u64>) -> Option<(u64, &Door)> {
        let reachable = self.board.reach(seen)?;
        if self.door.as_ref().is_none_or(|(life, _)| *life != reachable.life) {
            let run = self.house.as_seen_by(self.guest, reachable.run);
            self.door = Some((reachable.life, Door::of(&run)));
        }
        self.now()
    }

    /// The door that was last seen, whether or not that life continues.
    pub(crate) fn now(&self) -> Option<(u64, &Door)> {
        self.door.as_ref().map(|(life, door)| (*life, door))
    }
}
