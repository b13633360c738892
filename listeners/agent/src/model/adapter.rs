//! Asks a provider once: one request, and one complete answer or a fault. It retries nothing, and keeps no more of an
//! answer than its limits allow. The form decides what a request and an answer look like.

use std::sync::Arc;

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use rustls::RootCertStore;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::access::AdapterFault;
use super::asked_provider::{AskedProvider, ModelSettings};
use super::form::{self, AnswerReading, BodyClose, EventFault, EventStep, ProviderForm};
use super::held;
use super::held_answer::{HeldAnswer, RefusedField};
use super::key::ModelKey;
use super::limits::HttpLimits;
use super::partial_answer::PartialAnswer;
use super::unfit::{self, BodyShape};
use super::{
    AnswerFuture, AnswerWatcher, MessagePart, Model, ModelAccess, ModelAnswer, ModelFault, ModelFaultKind,
    ModelRequest, ProviderRow, ServedBy, StopReason, params,
};
use crate::spec;
use systole_http::{
    BodyPart, EventReader, FailedRequest, HttpAddress, HttpAnswer, HttpClient, LineFault, StreamEvent,
    load_web_roots,
};

/// A provider for one model of the file.
pub struct ModelAdapter {
    inner: Arc<AdapterCore>,
}

struct AdapterCore {
    form: &'static dyn ProviderForm,
    client: HttpClient,
    to: HttpAddress,
    headers: HeaderMap,
    asked: AskedProvider,
    limits: HttpLimits,
}

impl ModelAdapter {
    /// Prepares requests for `model`. Opens nothing. Without `roots`, it trusts the web's certificates.
    ///
    /// # Errors
    /// If the address or the parameters are wrong, or the model is a script, which has no provider.
    pub fn new(
        model: &spec::ModelSpec,
        access: impl Into<ModelAccess>,
        limits: HttpLimits,
        roots: Option<RootCertStore>,
    ) -> Result<Self, AdapterFault> {
        let ModelAccess { key, headers: further, proxies, mut secrets } = access.into();
        let Some(&ProviderRow { form, .. }) = model.provider.row() else {
            return Err(AdapterFault::new(format!(
                "models.{} is a script, which is read and not asked over a network",
                model.name
            )));
        };
        let settings = ModelSettings::from(model);
        let to = form::build_address(form, &settings).map_err(AdapterFault::new)?;
        check_reserved(form, &settings, &model.params).map_err(AdapterFault::new)?;
        let roots = roots.unwrap_or_else(load_web_roots);
        let via = proxies.choose_proxy(&to).map_err(AdapterFault::new)?;
        secrets.extend(via.as_ref().and_then(|proxy| proxy.secret.clone()).and_then(ModelKey::from_secret));
        let client = HttpClient::new(roots, via)
            .map_err(|fault| AdapterFault::new(format!("no TLS on this machine: {fault}")))?;
        let mut headers = form.build_headers(key.as_ref());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let streamed = unfit::list_types(form.framing()).first().copied().filter(|_| model.stream);
        headers.insert(ACCEPT, HeaderValue::from_static(streamed.unwrap_or("application/json")));
        for (name, value) in further {
            headers.insert(name, value);
        }
        let asked =
            AskedProvider { provider: model.provider.word(), at: to.to_text(), model: settings, secrets };
        let limits = limits.with_model(&model.timeout);
        Ok(Self { inner: Arc::new(AdapterCore { form, client, to, headers, asked, limits }) })
    }
}

impl From<&spec::ModelSpec> for ModelSettings {
    fn from(model: &spec::ModelSpec) -> Self {
        let spec::ModelSpec {
            name,
            model,
            url,
            server,
            key_env,
            window,
            max_output,
            thinking,
            is_cached,
            files,
            stream,
            params,
            ..
        } = model.clone();
        Self {
            name,
            model,
            url,
            server,
            key_env,
            window,
            max_output,
            thinking,
            is_cached,
            files,
            stream,
            params,
        }
    }
}

fn check_reserved(
    form: &dyn ProviderForm,
    model: &ModelSettings,
    given: &Map<String, Value>,
) -> Result<(), String> {
    params::find_reserved(given, form.reserved_keys()).map_or(Ok(()), |key| {
        Err(format!(
            "models.{}.params has {key}, which is reserved for the conversation: leave it out",
            model.name
        ))
    })
}

impl Model for ModelAdapter {
    fn find_held<'r>(&self, request: &'r ModelRequest) -> Option<HeldAnswer<'r>> {
        self.inner.form.find_held(&self.inner.asked.model, request)
    }

    fn find_refused(&self, request: &ModelRequest, fault: &ModelFault) -> Option<RefusedField> {
        held::find_refused(&self.inner.build_fields(request).ok()?, fault)
    }

    fn ask(&self, request: ModelRequest, watcher: AnswerWatcher) -> AnswerFuture {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            inner.ask(&request, watcher).await.map_err(|fault| ModelFault {
                partial: inner.asked.hide_secrets(&fault.partial),
                words: inner.asked.hide_secrets(&fault.words),
                ..fault
            })
        })
    }
}

impl AdapterCore {
    async fn ask(&self, request: &ModelRequest, watcher: AnswerWatcher) -> Result<ModelAnswer, ModelFault> {
        let begun = Instant::now();
        let request =
            &*super::file_bounds::hold_back(request, &self.asked.model.files, self.form.file_bounds());
        let request = &*super::ids::make_distinct(request);
        let body = self.build_body(request)?;
        let HttpLimits { connect, first, .. } = self.limits;
        let posted = self.client.post(&self.to, self.headers.clone(), body, connect, first).await;
        let mut answer = posted.map_err(|why| self.build_unanswered_fault(why))?;
        let framing = self.form.framing();
        let shape = unfit::check_answer(&mut answer, &self.asked, framing, &self.limits, begun + first).await;
        let shape = shape.map_err(|fault| match self.build_fields(request) {
            Ok(fields) => held::name_refused(fault, &fields),
            Err(_) => fault,
        })?;
        let calls = request.messages.iter().flat_map(|message| &message.parts);
        let calls = calls.filter(|part| matches!(part, MessagePart::Call(_))).count();
        let listening = request.enough.as_ref().map(super::EnoughCheck::build_reader);
        let mut partial = PartialAnswer::new(self.limits.answer, calls, watcher, listening);
        let id = ["request-id", "x-request-id"].iter().find_map(|name| answer.headers.get(*name));
        ServedBy::keep(&mut partial.served.request, id.and_then(|id| id.to_str().ok()));
        let mut reading = self.form.build_reader();
        match shape {
            BodyShape::Stream => self.read_stream(answer, begun, reading.as_mut(), &mut partial).await?,
            BodyShape::Whole => self.read_whole(answer, begun, reading.as_mut(), &mut partial).await?,
        }
        partial.end_answer()?;
        match partial.stop {
            Some(StopReason::Filtered) => {
                let words = format!("{} would not let the model answer", self.asked);
                Err(partial.build_refusal(ModelFaultKind::Refused, &words))
            }
            Some(_) if partial.is_window_full => {
                let words = format!("{} ended its answer because the window is full", self.asked);
                Err(partial.build_refusal(ModelFaultKind::WindowFull, &words))
            }
            Some(stop) => Ok(partial.finish(self.asked.model.name.clone(), stop)),
            None => Err(self.build_break_fault(&partial, "ended its answer without saying why it ended")),
        }
    }

    fn build_body(&self, request: &ModelRequest) -> Result<Vec<u8>, ModelFault> {
        let wrong = |words: String| ModelFault {
            kind: ModelFaultKind::InvalidRequest,
            words,
            status: None,
            retry_after_ms: None,
            partial: String::new(),
            may_be_paid: false,
            used: None,
        };
        let body = self.build_fields(request).map_err(wrong)?;
        serde_json::to_vec(&body).map_err(|fault| wrong(format!("the request cannot be written: {fault}")))
    }

    /// The fields of a request, with the parameters over them.
    fn build_fields(&self, request: &ModelRequest) -> Result<Map<String, Value>, String> {
        let model = &self.asked.model;
        check_reserved(self.form, model, &request.params)?;
        let mut body = self.form.build_body(model, request)?;
        params::lay_over(&mut body, &model.params);
        params::lay_over(&mut body, &request.params);
        Ok(body)
    }

    /// Reads to the end of the answer, good or bad. On success, the end sign of the form was seen, or enough was
    /// read. In the second case, the connection is closed with the rest unread.
    async fn read_stream(
        &self,
        mut answer: HttpAnswer,
        begun: Instant,
        reading: &mut dyn AnswerReading,
        partial: &mut PartialAnswer,
    ) -> Result<(), ModelFault> {
        let mut events = EventReader::new(self.form.framing(), self.limits.line);
        let (mut until, mut silent) = (begun + self.limits.first, true);
        loop {
            // If bytes always arrive, the timeout would never fire by itself.
            if Instant::now() >= until {
                return Err(self.build_late_fault(partial));
            }
            let close = match answer.next(until).await {
                BodyPart::Bytes(bytes) => {
                    silent &= bytes.is_empty();
                    events.feed_bytes(&bytes);
                    while let Some(event) =
                        events.next_event().map_err(|fault| self.build_line_fault(fault, partial))?
                    {
                        let step = self.take_event(&event, reading, partial)?;
                        if partial.is_enough() {
                            partial.cut_here();
                            return Ok(());
                        }
                        match step {
                            EventStep::Nothing => {}
                            EventStep::Content => until = Instant::now() + self.limits.idle,
                            EventStep::End => return Ok(()),
                        }
                    }
                    continue;
                }
                BodyPart::End => BodyClose::Measured,
                BodyPart::Closed => BodyClose::Unmeasured,
                BodyPart::Cut => {
                    return Err(self.build_break_fault(partial, "broke off before the end of its answer"));
                }
                BodyPart::TooLate => return Err(self.build_late_fault(partial)),
            };
            if silent {
                let whole = close == BodyClose::Measured;
                let fault = self.build_break_fault(partial, "answered 200 and nothing else");
                return Err(ModelFault { may_be_paid: !whole, ..fault });
            }
            return self.close_stream(close, &mut events, reading, partial);
        }
    }

    /// Reads a body that is JSON as a whole: an answer that was not streamed, or a list of its events.
    async fn read_whole(
        &self,
        mut answer: HttpAnswer,
        begun: Instant,
        reading: &mut dyn AnswerReading,
        partial: &mut PartialAnswer,
    ) -> Result<(), ModelFault> {
        // Text needs more bytes as JSON than by itself.
        let most = self.limits.answer.saturating_mul(2);
        let (mut body, mut until) = (Vec::new(), begun + self.limits.first);
        loop {
            match answer.next(until).await {
                BodyPart::Bytes(bytes) => body.extend_from_slice(&bytes),
                BodyPart::End | BodyPart::Closed => break,
                BodyPart::Cut => {
                    return Err(self.build_break_fault(partial, "broke off before the end of its answer"));
                }
                BodyPart::TooLate => return Err(self.build_late_fault(partial)),
            }
            if body.len() > most {
                return Err(partial.too_large());
            }
            until = until.max(Instant::now() + self.limits.idle);
        }
        let text = std::str::from_utf8(&body)
            .map_err(|_| self.build_break_fault(partial, "sent bytes that are not UTF-8"))?;
        let text = text.trim_start_matches('\u{feff}').trim();
        for event in form::split_events(text, partial).map_err(|wrong| self.build_fault(wrong, partial))? {
            let step = self.take_event(&event, reading, partial)?;
            if partial.is_enough() {
                partial.cut_here();
                return Ok(());
            }
            if step == EventStep::End {
                break;
            }
        }
        if partial.has_content() { Ok(()) } else { Err(unfit::build_empty_fault(&self.asked, &answer, text)) }
    }

    /// The body is over without the form's end sign. A last event without an end counts if it is complete in itself.
    fn close_stream(
        &self,
        close: BodyClose,
        events: &mut EventReader,
        reading: &mut dyn AnswerReading,
        partial: &mut PartialAnswer,
    ) -> Result<(), ModelFault> {
        while let Some(event) = events.take_left().map_err(|fault| self.build_line_fault(fault, partial))? {
            // Half an event, on a connection that may have ended too early, means nothing.
            if close == BodyClose::Unmeasured && !form::is_complete(&event) {
                break;
            }
            let step = self.take_event(&event, reading, partial)?;
            if partial.is_enough() {
                partial.cut_here();
                return Ok(());
            }
            if step == EventStep::End {
                return Ok(());
            }
        }
        if partial.stop.is_some() && reading.is_whole(close) {
            return Ok(());
        }
        Err(self.build_break_fault(partial, "ended its answer without the end that the form asks for"))
    }

    fn take_event(
        &self,
        event: &StreamEvent,
        reading: &mut dyn AnswerReading,
        partial: &mut PartialAnswer,
    ) -> Result<EventStep, ModelFault> {
        // An event without text is a heartbeat.
        if event.text.trim().is_empty() {
            return Ok(EventStep::Nothing);
        }
        let step = reading.take_event(event, partial).map_err(|wrong| self.build_fault(wrong, partial))?;
        if step == EventStep::End {
            partial.mark_ended();
        }
        Ok(step)
    }

    fn build_fault(&self, wrong: EventFault, partial: &PartialAnswer) -> ModelFault {
        match wrong {
            EventFault::Fault(fault) => {
                ModelFault { words: format!("{} {}", self.asked, fault.words), ..fault }
            }
            EventFault::Complaint(complaint) => {
                let fault = complaint.build_fault(&self.asked, 200, None);
                // An error in the answer is the provider's last word, so the outcome is known.
                let may_be_paid = fault.may_be_paid || partial.may_be_paid();
                let used = may_be_paid.then(|| partial.estimate_use());
                let partial = partial.build_fault(fault.kind, "").partial;
                ModelFault { partial, may_be_paid, used, ..fault }
            }
        }
    }

    fn build_line_fault(&self, fault: LineFault, partial: &PartialAnswer) -> ModelFault {
        match fault {
            LineFault::TooLong => {
                let words = format!("sent a line of more than {} bytes, the most allowed", self.limits.line);
                partial.build_fault(ModelFaultKind::TooLarge, format!("{} {words}", self.asked))
            }
            LineFault::NotUtf8 => self.build_break_fault(partial, "sent bytes that are not UTF-8"),
        }
    }

    fn build_break_fault(&self, partial: &PartialAnswer, words: &str) -> ModelFault {
        partial.build_fault(ModelFaultKind::Truncated, format!("{} {words}", self.asked))
    }

    fn build_late_fault(&self, partial: &PartialAnswer) -> ModelFault {
        if partial.has_content() {
            let words = format!("said nothing more for {} ms", self.limits.idle.as_millis());
            return self.build_break_fault(partial, &words);
        }
        let words = format!("has not begun to answer within {} ms", self.limits.first.as_millis());
        partial.build_fault(ModelFaultKind::Unavailable, format!("{} {words}", self.asked))
    }

    fn build_unanswered_fault(&self, why: FailedRequest) -> ModelFault {
        let name = &self.asked.model.name;
        let (may_be_paid, kind, words) = match why {
            FailedRequest::NoConnection(why) => (
                false,
                ModelFaultKind::Unavailable,
                format!("cannot be reached: {why}; look at models.{name}.url and whether it runs"),
            ),
            FailedRequest::NotSent(why) => (
                false,
                ModelFaultKind::Unavailable,
                format!("closed the connection before the request: {why}"),
            ),
            FailedRequest::Unwritable(why) => {
                (false, ModelFaultKind::InvalidRequest, format!("cannot be sent this request: {why}"))
            }
            FailedRequest::NoHead(why) if why.is_parse() => (
                true,
                ModelFaultKind::Unavailable,
                format!("did not answer as HTTP does: {why}; look at models.{name}.url"),
            ),
            FailedRequest::NoHead(why) => {
                (true, ModelFaultKind::Truncated, format!("broke off before it answered: {why}"))
            }
            FailedRequest::TooLate => {
                let waited = self.limits.first.as_millis();
                (true, ModelFaultKind::Unavailable, format!("has not begun to answer within {waited} ms"))
            }
        };
        ModelFault { may_be_paid, ..self.asked.build_fault(kind, None, words) }
    }
}
