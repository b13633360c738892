//! How `run` goes on with another configuration: an order is answered, what is out ends, the organism stops and starts
//! again in the same process. Its address, its credentials and its run file stay, so that no one outside notices.

use std::net::TcpListener;
use std::path::Path;

use super::hosting::HostPart;
use super::local_organism;
use super::place::Place;
use super::screen::Screen;
use systole_config::OrganismFile;
use systole_core::rules::reload_payload::{FailedReload, Reload, ReloadNews};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_core::types::time::spell_duration;
use systole_doors::reloading::RELOAD_DRAIN;
use systole_doorway::UnreadConnections;
use systole_log::alarms::{AlarmKind, LogAlarm};
use systole_organism::plan::ReloadAtStart;
use systole_organism::reloading::orders::{ReloadOrder, ReloadPreview, ReloadRequest, ReloadSource};
use systole_organism::reloading::preview::{find_before, is_beside, preview_reload, refuse_mistakes};
use systole_organism::reloading::programs::try_programs;
use systole_organism::runfile::{Credential, GuestCredentials, PostedRunFile};
use systole_organism::running::Organism;
use systole_system::failpoint;

/// What the next start in this process begins with.
pub(super) struct NextRun {
    pub(super) file: OrganismFile,
    pub(super) reload: ReloadAtStart,
    /// What stays of the organism that ran before, if one did.
    pub(super) kept: Option<KeptDoor>,
    /// The configuration that goes on if this one does not start, and the client that ordered this one.
    pub(super) fallback: Option<Box<(OrganismFile, Name)>>,
    /// Whether its new programs were tried.
    pub(super) is_tried: bool,
}

/// What stays over a reload.
pub(super) struct KeptDoor {
    pub(super) socket: TcpListener,
    pub(super) operator: Credential,
    pub(super) guests: GuestCredentials,
    pub(super) posted: PostedRunFile,
    /// The connections that the next door serves.
    pub(super) unread: UnreadConnections,
}

impl NextRun {
    pub(super) fn from_file(file: OrganismFile, takes_file: bool) -> NextRun {
        let reload = ReloadAtStart { takes_file, ..ReloadAtStart::default() };
        NextRun { file, reload, kept: None, fallback: None, is_tried: false }
    }

    /// The run after an order that was answered.
    pub(super) fn from_order(ordered: OrderedReload, before: OrganismFile, kept: KeptDoor) -> NextRun {
        let OrderedReload { request, file } = ordered;
        let reload = Reload {
            config: file.composition.hash,
            before: before.composition.hash,
            by: request.by.clone(),
            is_back: request.source == ReloadSource::Back,
        };
        let news = Some(ReloadNews::Done(reload));
        let fallback = Some(Box::new((before, request.by)));
        let reload = ReloadAtStart { news, ..ReloadAtStart::default() };
        NextRun { file, reload, kept: Some(kept), fallback, is_tried: false }
    }

    /// The configuration before, because this one did not start.
    pub(super) fn fall_back(
        screen: Screen,
        failed: &OrganismFile,
        (before, by): (OrganismFile, Name),
        words: String,
    ) -> NextRun {
        let config = failed.composition.hash;
        screen.say(format!("the reload failed, and the configuration before goes on: {words}"));
        let news = Some(ReloadNews::Failed(FailedReload { config, by, words }));
        let reload = ReloadAtStart { news, ..ReloadAtStart::default() };
        NextRun { file: before, reload, kept: None, fallback: None, is_tried: false }
    }

    /// The configuration with which the log ended for this reload; `None` if no organism ran before.
    pub(super) fn find_ended(&self) -> Option<Box<OrganismFile>> {
        self.kept.as_ref()?;
        let before = self.fallback.as_deref().map_or(&self.file, |(before, _)| before);
        Some(Box::new(before.clone()))
    }

    /// Tries the programs that are new. One that does not start brings the configuration before back.
    pub(super) async fn try_new_programs(self, screen: Screen) -> NextRun {
        let Some(before) = self.fallback.as_deref().filter(|_| !self.is_tried) else { return self };
        let around = std::env::vars_os().filter(|(name, _)| name != failpoint::VARIABLE).collect();
        match (try_programs(&self.file.composition, &before.0.composition, &around).await, self) {
            (Err(words), NextRun { file, kept, fallback: Some(before), .. }) => {
                NextRun { kept, ..NextRun::fall_back(screen, &file, *before, words) }
            }
            (_, next) => NextRun { is_tried: true, ..next },
        }
    }
}

/// An order that is carried out.
pub(super) struct OrderedReload {
    pub(super) request: ReloadRequest,
    pub(super) file: OrganismFile,
}

impl KeptDoor {
    /// What stays of an organism that has no door yet; `None` if it never had one.
    pub(super) fn keep(
        socket: Option<TcpListener>,
        posted: Option<PostedRunFile>,
        (operator, guests): (Credential, GuestCredentials),
        unread: UnreadConnections,
    ) -> Option<KeptDoor> {
        Some(KeptDoor { socket: socket?, operator, guests, posted: posted?, unread })
    }
}

/// Where the configurations of this process come from.
pub(super) struct ReloadPlaces<'a> {
    pub(super) screen: Screen,
    pub(super) place: &'a Place,
    pub(super) part: &'a HostPart,
}

impl ReloadPlaces<'_> {
    /// Answers an order. `None` if nothing is to be done.
    pub(super) fn answer_order(
        &self,
        organism: &Organism,
        current: &OrganismFile,
        order: ReloadOrder,
    ) -> Option<Box<OrderedReload>> {
        let request = order.request.clone();
        // Files are read, and no one else waits for this thread.
        let judged = tokio::task::block_in_place(|| self.judge_request(organism, current, &request));
        let (answer, file) = match judged {
            Ok((preview, file)) => (Ok(preview), Some(file).filter(|_| !request.is_shown)),
            Err(refusal) => (Err(refusal), None),
        };
        order.answer_with(answer);
        file.map(|file| self.begin_reload(request, file))
    }

    /// Takes the hangup of a process without a terminal as an order, since only its user may signal it.
    pub(super) fn take_signal(
        &self,
        organism: &Organism,
        current: &OrganismFile,
    ) -> Option<Box<OrderedReload>> {
        let (by, source, drain) = (Name::new_operator(), ReloadSource::File, RELOAD_DRAIN);
        let request = ReloadRequest { by, source, drain, approved: None, is_shown: false };
        let judged = tokio::task::block_in_place(|| self.judge_request(organism, current, &request));
        match judged {
            Ok((_, file)) => Some(self.begin_reload(request, file)),
            Err(refusal) => {
                self.screen.say(format!("not reloaded: {}", refusal.message));
                refusal.fix.iter().for_each(|fix| self.screen.say(format!("  try: {fix}")));
                None
            }
        }
    }

    fn begin_reload(&self, request: ReloadRequest, file: OrganismFile) -> Box<OrderedReload> {
        let config = file.composition.hash;
        let time = spell_duration(u64::try_from(request.drain.as_millis()).unwrap_or(u64::MAX));
        self.screen.say(format!("reloads configuration {config}: waits up to {time} for what is out"));
        Box::new(OrderedReload { request, file })
    }

    /// What a reload would change, with the configuration that would go on.
    fn judge_request(
        &self,
        organism: &Organism,
        current: &OrganismFile,
        request: &ReloadRequest,
    ) -> Result<(ReloadPreview, OrganismFile), Box<Refusal>> {
        let unfit = |words: String| Box::new(Refusal::new(Code::UnfitReload, words));
        let loaded = match &request.source {
            ReloadSource::File => self.place.load(),
            ReloadSource::OtherFile(other) => self.load_beside(other)?,
            ReloadSource::Back => {
                let before = find_before(&**organism.reader(), current.composition.hash);
                let before = before.map_err(|fault| unfit(fault.to_string()))?;
                let before =
                    before.ok_or_else(|| unfit("no other configuration ran before this one".to_owned()))?;
                self.place.load_stored(&before)
            }
        };
        let next = loaded.map_err(|mistakes| refuse_mistakes(&mistakes))?;
        let next = self.part.adapt_file(self.screen, next);
        let next = next.map_err(|_| unfit("the pump of this process cannot run it".to_owned()))?;
        let around = local_organism::find_surroundings(self.screen, self.place, false);
        let around = around.map_err(|_| unfit(format!("{} is not readable", failpoint::VARIABLE)))?;
        let alarms = organism.handle().alarms();
        let is_unwritten = |alarm: &&LogAlarm| alarm.until.is_none() && alarm.kind != AlarmKind::Tip;
        if let Some(alarm) = alarms.iter().find(is_unwritten).filter(|_| !request.is_shown) {
            // The end of the run could not be written.
            let refusal = Refusal::new(Code::UnfitReload, alarm.words.clone()).fixed_by(alarm.fix);
            return Err(Box::new(refusal));
        }
        Ok((preview_reload(request, current, &next, around)?, next))
    }

    /// Programs run in the folder of the organism's file, and paths start there.
    fn load_beside(
        &self,
        other: &Path,
    ) -> Result<Result<OrganismFile, systole_config::FileMistakes>, Box<Refusal>> {
        if is_beside(other, self.place.file()) {
            return Ok(self.place.load_other(other));
        }
        let words = format!("{} is not in the folder of the organism's file", other.display());
        Err(Box::new(Refusal::new(Code::UnfitReload, words).fixed_by("a copy of it in that folder")))
    }
}
