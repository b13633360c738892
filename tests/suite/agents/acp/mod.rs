//! Organisms in editors: `systole acp`, by the stock libraries of the protocol's authors, and message by message.

mod asking;
mod editing;
mod editor;
mod refusals;
mod storms;
mod streams;
