//! The connections of the HTTP server: how they are taken, bounded for each client, and closed with an answer; the places,
//! the messages and the logins that are counted for each client; and what is kept so that many may look at a log at once.
//! It knows no route.

pub mod compression;
pub mod entrance;
mod failed_logins;
mod farewell;
mod framing;
pub mod kept_answers;
pub mod kept_views;
pub mod limits;
mod listening;
mod message_bounds;
pub mod named_origins;
pub mod page_origin;
pub mod percent;
pub mod rpc;
mod shared_places;
mod sign_in_guesses;
mod unread_connections;
mod visitors;
pub mod watch_budget;

pub use failed_logins::{FailedLoginCounts, LoginReport};
pub use listening::{Doorway, VisitorConnection};
pub use message_bounds::{ClientBounds, MessageBounds};
pub use shared_places::{ClientPlaces, PlaceShortage, SharedPlace, SharedPlaces};
pub use sign_in_guesses::SignInGuesses;
pub use unread_connections::UnreadConnections;
pub use visitors::{Visitor, Visitors};
