//! What all doors share. A request finds here who asks and what is refused; a door finds how the log is read for its client,
//! and how a message, an order or an answer comes in. Nothing here knows a protocol or writes a page.

pub mod door_reloads;
pub mod door_row;
pub mod http_state;
pub mod inbound;
pub mod limits;
pub mod log_view;
pub mod reading;
pub mod record_files;
pub mod request_refusals;
pub mod runs;
pub mod sessions;
pub mod steering;
pub mod waiting;
