//! The connections of the HTTP server: how they are taken, bounded for each client, and closed with an answer; and the
//! places, the messages and the logins that are counted for each client. It knows no route and reads no request.

mod failed_logins;
mod farewell;
mod framing;
pub mod limits;
mod listening;
mod message_bounds;
mod shared_places;
mod sign_in_guesses;
mod unfit_request;
mod unread_connections;
mod visitors;

pub use failed_logins::{FailedLoginCounts, LoginReport};
pub use listening::{Doorway, VisitorConnection};
pub use message_bounds::{ClientBounds, MessageBounds};
pub use shared_places::{ClientPlaces, PlaceShortage, SharedPlace, SharedPlaces};
pub use sign_in_guesses::SignInGuesses;
pub use unfit_request::describe_unfit_request;
pub use unread_connections::UnreadConnections;
pub use visitors::{Visitor, Visitors};
