//! A request for a page, read once for all pages: who asks, for which moment, with which parts of the address, and
//! whether a person or a program reads the answer.
//!
//! An address comes in; its checked parts go out, and later the answer in the form that was asked for. A broken
//! address gets a readable answer too.

use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::extract::{FromRequestParts, Query, RawPathParams};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::command_line::quote_word;
use super::frame::{Frame, PageTab};
use super::guard;
use super::refusal_page::{self, RefusalPage};
use crate::limits::ADDRESS_BYTES;
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::refusal::Refusal;
use systole_doorway::percent::is_text;
use systole_hall::http_state::{Caller, HttpState};
use systole_hall::log_view::{LogMoment, MomentAsked};
use systole_hall::reading::{QueryFields, ReadFault, ReadRefusal, ReadResult};
use systole_hall::request_refusals::{self, describe_unfit_address};
use systole_show::columns::plain;

/// The client of a session's cookie, in a request for a change. The cookie alone allows only reading, so such a route
/// takes a `ChangeForm`.
#[derive(Clone)]
pub(crate) struct CookieReader(pub(crate) Name);

/// A request for a page.
pub(crate) struct PageRequest {
    pub(super) state: Arc<HttpState>,
    pub(super) client: Name,
    /// The position that counts as now, if it is not the end of the log.
    pub(super) at: Option<Position>,
    /// The position that the page was told of, if it refreshes itself.
    told: Option<Position>,
    /// Whether a browser reads the answer.
    pub(super) is_html: bool,
    /// Whether the request came in by the public address.
    is_public: bool,
    /// Whether it is the form of a change.
    is_change: bool,
    /// The address with its query.
    pub(super) address: String,
    /// The end of the log when the request came.
    pub(super) end: Position,
    query: Vec<(String, String)>,
    parts: Vec<(String, String)>,
}

/// A page as an answer.
pub(super) fn render_page(page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response(),
        Err(error) => {
            tracing::error!(why = %error, fix = "report it with these words", "a page cannot be rendered");
            (StatusCode::INTERNAL_SERVER_ERROR, "this page cannot be rendered\n").into_response()
        }
    }
}

impl FromRequestParts<Arc<HttpState>> for PageRequest {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<HttpState>) -> Result<PageRequest, Response> {
        let caller = parts.extensions.get::<Caller>().map(|caller| caller.0.clone());
        let client = caller.or_else(|| parts.extensions.get::<CookieReader>().map(|one| one.0.clone()));
        let is_html = guard::wants_html(&parts.headers);
        let address = parts.uri.path_and_query().map_or("/", |whole| whole.as_str()).to_owned();
        let Some(client) = client else {
            let refusal = Refusal::new(Code::IngressUnauthorized, "sign in first");
            return Err(request_refusals::refuse_message(&refusal));
        };
        let mut asked = PageRequest {
            state: state.clone(),
            client,
            at: None,
            told: guard::read_position(&parts.headers),
            is_html,
            is_public: state.addresses.find_public(&parts.headers).is_some(),
            is_change: parts.method == Method::POST,
            address,
            end: state.front.end(),
            query: Vec::new(),
            parts: Vec::new(),
        };
        let read = asked.read_address(&parts.uri).and_then(|()| {
            asked.at = asked.number("at")?.map(Position);
            Ok(())
        });
        let path = RawPathParams::from_request_parts(parts, state).await;
        let read = read.and_then(|()| match &path {
            Ok(found) => {
                asked.parts = found.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                Ok(())
            }
            Err(_) => Err(describe_unfit_address("the address is not UTF-8")),
        });
        match read {
            Ok(()) => Ok(asked),
            Err(refusal) => Err(asked.refuse_page(&refusal)),
        }
    }
}

impl PageRequest {
    fn read_address(&mut self, uri: &Uri) -> Result<(), Refusal> {
        if self.address.len() > ADDRESS_BYTES {
            self.address = "/".to_owned();
            return Err(describe_unfit_address(format!("the address is longer than {ADDRESS_BYTES} bytes")));
        }
        let unread =
            |_| describe_unfit_address("what follows `?` in the address cannot be read: it is NAME=VALUE&…");
        self.query = Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(unread)?.0;
        if uri.query().is_some_and(|query| !is_text(query.as_bytes())) {
            return Err(describe_unfit_address("what follows `?` in the address is not UTF-8"));
        }
        // An empty field of a form means that it is not set.
        self.query.retain(|(_, value)| !value.is_empty());
        for (at, (name, _)) in self.query.iter().enumerate() {
            if self.query.iter().skip(at + 1).any(|(other, _)| other == name) {
                return Err(describe_unfit_address(format!("{name}= is given twice")));
            }
        }
        Ok(())
    }

    /// The path of the address.
    pub(super) fn path(&self) -> &str {
        self.address.split('?').next().unwrap_or_default()
    }

    /// A value of the query.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Refuses names in the query that this page does not know: a mistyped filter must not show everything.
    pub(super) fn only(&self, names: &[&str]) -> Result<(), Refusal> {
        let unknown = self.query.iter().find(|(name, _)| name != "at" && !names.contains(&name.as_str()));
        let Some((name, _)) = unknown else { return Ok(()) };
        let known = names.iter().chain(&["at"]).map(|name| format!("{name}=")).collect::<Vec<_>>();
        let words = format!("this page does not know {name}=; it knows {}", known.join(", "));
        Err(describe_unfit_address(words))
    }

    /// Refuses what follows `?`: a change is made now, and its form has all that it needs.
    pub(super) fn only_a_path(&self) -> Result<(), Refusal> {
        match self.query.is_empty() {
            true => Ok(()),
            false => Err(describe_unfit_address("a form takes nothing that follows `?` in the address")),
        }
    }

    /// A whole number from 1 in the query.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, Refusal> {
        let Some(typed) = self.value(name) else { return Ok(None) };
        match typed.parse() {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(describe_unfit_address(format!("{name}={typed}: it is a whole number from 1"))),
        }
    }

    /// One of some words in the query.
    pub(super) fn one_of(&self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>, Refusal> {
        let Some(typed) = self.value(name) else { return Ok(None) };
        match words.iter().find(|word| **word == typed) {
            Some(word) => Ok(Some(word)),
            None => Err(describe_unfit_address(format!("{name}={typed}: it is one of {}", words.join(", ")))),
        }
    }

    /// Those of some fields that are set, as options of a command.
    pub(super) fn options(&self, names: &[&str]) -> String {
        let set = names.iter().filter_map(|name| Some((name, self.value(name)?)));
        let option = |(name, value): (&&str, &str)| {
            let between = if value.starts_with('-') { '=' } else { ' ' };
            format!(" --{name}{between}{}", quote_word(&plain(value)))
        };
        set.map(option).collect()
    }

    /// A part of the path.
    pub(super) fn part(&self, name: &str) -> &str {
        self.parts.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The thread in the path.
    pub(super) fn thread(&self) -> Result<ThreadId, Refusal> {
        ThreadId::parse(self.part("id")).map_err(|malformed| {
            Refusal::new(Code::UnknownThread, malformed.to_string())
                .fixed_by("/threads, which lists the threads")
        })
    }

    /// Runs work that reads the log, at the moment that was asked for.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&LogMoment) -> Result<T, LogFault> + Send + 'static,
    ) -> Result<T, Refusal> {
        let asked = MomentAsked { at: self.at, told: self.told };
        self.state.views.run_reading(&self.state.front, &self.client, asked, work).await
    }

    /// The same for work that takes fields of the query and may refuse. Unknown fields are refused.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        known: &[&str],
        work: impl FnOnce(&LogMoment, &QueryFields) -> ReadResult<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let known: Vec<&str> = known.iter().copied().chain(["at"]).collect();
        let fields = QueryFields::of(Ok(Query(self.query.clone())), &known);
        let fields = fields.map_err(ReadRefusal::into_refusal)?;
        let found = self.read(move |moment| ReadFault::split_result(work(moment, &fields)));
        found.await?.map_err(ReadRefusal::into_refusal)
    }

    /// The frame of the page.
    pub(super) fn frame(&self, tab: PageTab, title: &str) -> Frame {
        let composition = self.state.front.composition();
        let client = Some(&self.client);
        let frame = Frame::of(&composition.organism, client, (tab, title), self.at, &self.address);
        let sees_all = composition.has_role(&self.client, Role::Read);
        let frame = Frame { position: self.end.0, is_public: self.is_public, ..frame };
        frame.for_reader(sees_all).at_rest(self.state.front.at_rest())
    }

    /// An answer for a program.
    pub(super) fn json(&self, value: &impl Serialize) -> Response {
        Json(value).into_response()
    }

    /// An answer that says what is wrong.
    pub(super) fn refuse_page(&self, refusal: &Refusal) -> Response {
        let status = refusal_page::status(refusal);
        if !self.is_html {
            let mut response = request_refusals::refuse_message(refusal);
            *response.status_mut() = status;
            return response;
        }
        let frame = self.frame(PageTab::Other, refusal_page::title(status, self.is_change));
        (status, render_page(&RefusalPage::of(frame, refusal))).into_response()
    }

    /// The answer for an address that leads nowhere.
    pub(super) fn nowhere(&self) -> Response {
        let words = if self.is_html { "there is no page at this address" } else { "there is no such route" };
        let refusal = Refusal::new(Code::NoSuchElement, words);
        let routes = "GET /v1/openapi.json, which lists the routes";
        self.refuse_page(&if self.is_html {
            refusal.fixed_by("one of the pages above")
        } else {
            refusal.fixed_by(routes)
        })
    }

    /// The answer for an address that takes another method.
    pub(super) fn takes_another(&self, method: &Method) -> Response {
        let fix = if self.is_html {
            "the form on the page that leads here"
        } else {
            "a method of the header Allow"
        };
        let refusal = describe_unfit_address(format!("this address does not take {method}"));
        let mut response = self.refuse_page(&refusal.fixed_by(fix));
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        response
    }

    /// The answer, or what is wrong.
    pub(super) fn answer_page(&self, answer: Result<Response, Refusal>) -> Response {
        answer.unwrap_or_else(|refusal| self.refuse_page(&refusal))
    }
}

/// The refusal for a thread that is not there, or that belongs to another client.
pub(super) fn unknown_thread() -> Refusal {
    Refusal::new(Code::UnknownThread, "there is no such thread").fixed_by("/threads, which lists the threads")
}
