//! The JSON of the HTTP door: what it answers and takes. The door and the client for our own commands use the same types.

mod alarm_types;
pub mod ending;
pub mod limits;
pub mod log_types;
pub mod record_words;
pub mod refusal_page;
pub mod reload_types;
pub mod request_refusals;
pub mod retry_types;
pub mod rpc_codes;
pub mod schedule_types;
pub mod types;
