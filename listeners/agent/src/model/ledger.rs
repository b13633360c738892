//! Reports to the ledger around each request. No request is sent before the ledger accepts it, and each request ends
//! with its answer or with a known fault. It writes no ledger itself.

use std::future::Future;

use systole_kit::journal::OutcomeDetails;
use systole_kit::money::Money;

use super::held_answer::HeldAnswer;
use super::price::RequestReserve;
use super::{ModelAnswer, ModelFault};
use crate::spec;

/// Records requests and their costs.
pub trait RequestLedger: Send {
    /// Why no request may be sent, such as an exhausted budget.
    type Halt: Send;

    /// A request is about to be sent. It is sent once this returns successfully, which means it is on disk.
    fn record_start(
        &mut self,
        going: OutgoingRequest<'_>,
    ) -> impl Future<Output = Result<(), Self::Halt>> + Send;

    /// The outcome of the last started request.
    fn record_end(&mut self, came: RequestOutcome<'_>)
    -> impl Future<Output = Result<(), Self::Halt>> + Send;
}

/// A request that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingRequest<'a> {
    /// The model, with its name in the file.
    pub model: &'a spec::ModelSpec,
    /// The number of this request to that model for this answer, from 1.
    pub attempt: u32,
    /// The most that it may use and cost.
    pub reserve: RequestReserve,
    /// What holds its answer.
    pub held: Option<HeldAnswer<'a>>,
    /// How many milliseconds it waits before it goes out, because of the rate of the model.
    pub wait_ms: Option<u64>,
}

/// The outcome of a request.
#[derive(Clone, Debug)]
pub struct RequestOutcome<'a> {
    /// The model.
    pub model: &'a spec::ModelSpec,
    /// The answer, or why there is none.
    pub outcome: Result<&'a ModelAnswer, &'a ModelFault>,
    /// Tokens read. 0 if the provider did no work; `None` if unknown.
    pub tokens_in: Option<u64>,
    /// Tokens written, likewise.
    pub tokens_out: Option<u64>,
    /// The cost. `None` if the model has no price or the usage is unknown.
    pub money: Option<Money>,
    /// What else is known.
    pub details: OutcomeDetails,
}

impl<'a> RequestOutcome<'a> {
    /// The ledger's view of an outcome. `estimated` is the number of tokens that the request has.
    pub(super) fn from_answer(
        model: &'a spec::ModelSpec,
        outcome: Result<&'a ModelAnswer, &'a ModelFault>,
        estimated: u64,
    ) -> Self {
        let usage = match outcome {
            Ok(answer) => answer.usage,
            Err(ModelFault { used: Some(used), .. }) => {
                super::TokenUsage { tokens_in: used.tokens_in.or(Some(estimated)), ..*used }
            }
            Err(fault) if fault.may_be_paid => super::TokenUsage::default(),
            Err(_) => {
                super::TokenUsage { tokens_in: Some(0), tokens_out: Some(0), ..super::TokenUsage::default() }
            }
        };
        let money = super::price::compute_cost(model.price.as_ref(), &usage);
        let served = outcome.map(|answer| answer.served.clone()).unwrap_or_default();
        let details = OutcomeDetails {
            cached: usage.cached,
            cache_write: usage.cache_write,
            reasoning: usage.reasoning,
            served: served.model,
            fingerprint: served.fingerprint,
            request: served.request,
            again: None,
        };
        let super::TokenUsage { tokens_in, tokens_out, .. } = usage;
        Self { model, outcome, tokens_in, tokens_out, money, details }
    }
}
