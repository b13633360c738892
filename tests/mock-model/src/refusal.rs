//! A provider's refusal, before it is written in the provider's form.

use crate::script::NoReply;

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// The faulty part of the request, if the provider names it.
    pub(crate) param: Option<String>,
    /// The provider's own code, if it has one.
    pub(crate) code: Option<&'static str>,
}

impl Refusal {
    /// A refusal with the provider's message.
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Refusal {
        Refusal { status, message: message.into(), param: None, code: None }
    }

    /// An invalid request.
    pub(crate) fn bad(message: impl Into<String>) -> Refusal {
        Refusal::new(400, message)
    }

    /// The refusal with the faulty part.
    pub(crate) fn at(self, param: impl Into<String>) -> Refusal {
        Refusal { param: Some(param.into()), ..self }
    }

    /// The refusal with the provider's own code.
    pub(crate) fn called(self, code: &'static str) -> Refusal {
        Refusal { code: Some(code), ..self }
    }

    /// The script has no answer. That is a mistake in the test.
    pub(crate) fn unscripted(why: &NoReply) -> Refusal {
        Refusal::new(503, why.to_string())
    }

    /// The usual message of a provider that failed itself.
    pub(crate) fn broken() -> Refusal {
        Refusal::new(500, "The server had an error while processing your request. Sorry about that!")
    }

    /// The message for a status that the script gives without one.
    pub(crate) fn of_status(status: u16) -> Refusal {
        let message = match status {
            401 => "The key is not valid.",
            403 => "The key may not do this.",
            404 => "What was asked for is not here.",
            413 => "The request is too large.",
            429 => "Rate limit reached. Please try again later.",
            500 => return Refusal::broken(),
            503 => "The model is overloaded. Please try again later.",
            504 => "The answer took too long.",
            529 => "Overloaded",
            _ => "The request was not answered.",
        };
        let refusal = Refusal::new(status, message);
        if status == 429 { refusal.called("rate_limit_exceeded") } else { refusal }
    }
}
