//! Systole: the heart of an organism of agents.
//!
//! One pump moves schema-checked XML payloads between listeners. The flow has one direction and
//! carries its evidence in hand:
//!
//! ```text
//! ingress ──Raw──▶ admit ──Admitted──▶ record ──Recorded──▶ route ──Delivery──▶ deliver ──▶ listener
//!    ▲                └─Refusal─▶ record too                  └─Refusal─▶ record too           │
//!    └────────────────────────── a reply is Raw again: nothing skips the door ────────────────┘
//! ```
//!
//! The rooms, in reading order; `docs/ARCHITECTURE.md` says what each may not do:

pub mod words;

pub mod rules;

pub mod pump;

pub mod edges;

pub mod audit;

pub mod organism;

pub mod console;

pub mod cli;
