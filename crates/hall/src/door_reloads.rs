//! What a door knows of reloads: where it leaves orders, and how the last one went.

use systole_core::rules::reload_payload::ReloadNews;
use systole_organism::reloading::orders::ReloadDesk;

/// What the door knows of reloads.
#[derive(Clone, Debug)]
pub struct DoorReloads {
    /// Where it leaves orders.
    pub desk: ReloadDesk,
    /// How the reload went that the organism's start belongs to.
    pub news: Option<ReloadNews>,
}
