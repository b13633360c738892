//! An outsider's access: to the life of the organism that can be reached, with its own credential. It
//! does not know what is sent.

use std::sync::Arc;

use super::board::NoticeBoard;
use super::guests::SoakClient;
use super::house::RunFolder;
use systole_client::client::DoorClient;

/// One party's access.
pub(crate) struct Doorstep {
    house: RunFolder,
    guest: SoakClient,
    board: Arc<NoticeBoard>,
    door: Option<(u64, DoorClient)>,
}

impl Doorstep {
    pub(crate) fn new(house: &RunFolder, guest: SoakClient, board: Arc<NoticeBoard>) -> Doorstep {
        Doorstep { house: house.clone(), guest, board, door: None }
    }

    /// The door of the reachable life, with its number; `None` once the run is given up. If it is the
    /// life seen last, it waits a moment first.
    pub(crate) fn at(&mut self, seen: Option<u64>) -> Option<(u64, &DoorClient)> {
        let reachable = self.board.reach(seen)?;
        if self.door.as_ref().is_none_or(|(life, _)| *life != reachable.life) {
            let run = self.house.as_seen_by(self.guest, reachable.run);
            self.door = Some((reachable.life, DoorClient::from_run_file(&run)));
        }
        self.now()
    }

    /// The door that was last seen, whether or not that life continues.
    pub(crate) fn now(&self) -> Option<(u64, &DoorClient)> {
        self.door.as_ref().map(|(life, door)| (*life, door))
    }
}
