//! Agents as people run them: the real program, a file with an agent, its peers and a model, and the mock of a
//! provider in place of the model. These tests call no code of an agent. They read what it did from the log and from
//! the requests that the mock got.

mod a2a;
mod acp;
mod ag_ui;
mod ag_ui_streams;
mod again;
mod aimock;
mod any_model;
mod away;
mod chat_files;
mod chat_windows;
mod chats;
mod circles;
mod crowded;
mod deaths;
mod dialects;
mod door_storms;
mod early;
mod faults;
mod gone;
mod growth;
mod house;
mod kills;
mod langchain;
mod nonce;
mod notes;
mod open_responses;
mod picture;
mod reckoning;
mod relay;
mod responses;
mod seeing;
mod settings;
mod strait;
mod strangers;
mod trees;
mod uncounted;
mod views;
mod voice;
mod whole;
mod window;
