//! What is told to whoever keeps the books, around each request that goes out. Nothing goes out before the books say
//! so, and each request ends with its answer or with a fault that is known. Writes no books itself.

use std::future::Future;

use systole_kit::money::Money;

use super::price::Reserve;
use super::{Answer, Fault};
use crate::spec;

/// Whoever keeps the books.
pub trait Ledger: Send {
    /// Why nothing may go out, such as a budget without room.
    type Halt: Send;

    /// A request is about to go out: it does once this has come back well, and so once it is on disk.
    fn started(&mut self, going: Going<'_>) -> impl Future<Output = Result<(), Self::Halt>> + Send;

    /// What came of the request that was started last.
    fn ended(&mut self, came: Came<'_>) -> impl Future<Output = Result<(), Self::Halt>> + Send;
}

/// A request that is about to go out.
#[derive(Clone, Copy, Debug)]
pub struct Going<'a> {
    /// The model, with its name in the file.
    pub model: &'a spec::Model,
    /// The number of this request to that model for the one answer, from 1.
    pub attempt: u32,
    /// The most that it may use and cost.
    pub reserve: Reserve,
}

/// What came of a request.
#[derive(Clone, Copy, Debug)]
pub struct Came<'a> {
    /// The model.
    pub model: &'a spec::Model,
    /// The answer, or why there is none.
    pub outcome: Result<&'a Answer, &'a Fault>,
    /// Tokens that were read: 0 where the provider did no work; none where nobody knows.
    pub tokens_in: Option<u64>,
    /// Tokens that were written, likewise.
    pub tokens_out: Option<u64>,
    /// What it cost; none where the model has no price or nobody knows.
    pub money: Option<Money>,
}

impl<'a> Came<'a> {
    /// What an outcome means for the books.
    pub(super) fn of(model: &'a spec::Model, outcome: Result<&'a Answer, &'a Fault>) -> Self {
        let usage = match outcome {
            Ok(answer) => answer.usage,
            Err(fault) if fault.may_be_paid => super::Usage::default(),
            Err(_) => super::Usage { tokens_in: Some(0), tokens_out: Some(0), cached: None },
        };
        let money = super::price::cost(model.price.as_ref(), &usage);
        Self { model, outcome, tokens_in: usage.tokens_in, tokens_out: usage.tokens_out, money }
    }
}
