//! Systole: an organism of agents.
//!
//! One pump moves schema-checked XML payloads between listeners. Data flows in one direction, and each value is
//! proof that the previous step was done:
//!
//! ```text
//! ingress ──Raw──▶ admit ──Admitted──▶ record ──Recorded──▶ route ──Delivery──▶ deliver ──▶ listener
//!    ▲                └─Refusal─▶ record too                  └─Refusal─▶ record too           │
//!    └────────────────────────── a reply is Raw again: nothing skips the door ────────────────┘
//! ```
//!
//! This crate has the commands. `docs/ARCHITECTURE.md` says what each crate below it does, and what it must not do.

pub mod cli;
mod limits;
