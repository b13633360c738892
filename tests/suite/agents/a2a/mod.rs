//! Other agents at the door for A2A: the stock libraries of the protocol's authors, and message by message.

mod agent;
mod deciding;
mod refusals;
mod replay;
mod storms;
mod streams;
mod tasks;
