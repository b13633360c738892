//! Where somebody from outside stands: in front of whichever life of the organism can be reached, with a
//! credential of its own. It knows nothing of what is said at the door.

use std::sync::Arc;

use super::board::Board;
use super::guests::Guest;
use super::house::House;
use crate::console::client::Client as Door;

/// One party's way in.
pub(super) struct Doorstep {
    house: House,
    guest: Guest,
    board: Arc<Board>,
    door: Option<(u64, Door)>,
}

impl Doorstep {
    pub(super) fn new(house: &House, guest: Guest, board: Arc<Board>) -> Doorstep {
        Doorstep { house: house.clone(), guest, board, door: None }
    }

    /// The door of the life that can be reached, with its number; none once the run is given up. The life
    /// that was seen last is waited out for a moment.
    pub(super) fn at(&mut self, seen: Option<u64>) -> Option<(u64, &Door)> {
        let reachable = self.board.reach(seen)?;
        if self.door.as_ref().is_none_or(|(life, _)| *life != reachable.life) {
            let run = self.house.as_seen_by(self.guest, reachable.run);
            self.door = Some((reachable.life, Door::of(&run)));
        }
        self.now()
    }

    /// The door that was last seen, whether that life still goes on or not.
    pub(super) fn now(&self) -> Option<(u64, &Door)> {
        self.door.as_ref().map(|(life, door)| (*life, door))
    }
}
