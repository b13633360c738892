//! What surrounds every page: its title, the way to the other pages, the moment that it shows, who is signed in, and
//! the command that shows the same.

use std::fmt::Display;
use std::sync::Arc;

use super::assets::{ICON, SCRIPT, STYLE};
use super::shorten::encode_part;
use systole_core::types::ids::Name;
use systole_core::types::ports::{Clock as _, Position};
use systole_hall::record_files::FileLine;
use systole_organism::resting_verdict::{ExportedProof, RestingVerdict};
use systole_queries::questions::find_query;
use systole_system::clock::WallClock;

/// The pages that the frame leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PageTab {
    /// What waits for a person, what is stuck, what went wrong.
    Attention,
    /// The list of threads, and the pages of one thread.
    Threads,
    /// What waits for a person, and what was decided.
    Approvals,
    /// What this client may send, by its form.
    Send,
    /// What was refused.
    Refused,
    /// What models cost.
    Cost,
    /// What takes long.
    Slow,
    /// What is sent at which times.
    Schedules,
    /// The search.
    Find,
    /// Who may address whom.
    Map,
    /// The configurations.
    Config,
    /// What proves the log.
    Proof,
    /// A page that is on no list.
    Other,
}

/// The pages about all threads, for clients that may read all.
const OF_ALL: [PageTab; 5] =
    [PageTab::Cost, PageTab::Schedules, PageTab::Map, PageTab::Config, PageTab::Proof];

/// The pages in the order of the list, each with its address and its label.
const TABS: [(PageTab, &str, &str); 12] = [
    (PageTab::Attention, "/", "Attention"),
    (PageTab::Threads, "/threads", "Threads"),
    (PageTab::Approvals, "/approvals", "Approvals"),
    (PageTab::Send, "/send", "Send"),
    (PageTab::Refused, "/refused", "Refused"),
    (PageTab::Cost, "/cost", "Cost"),
    (PageTab::Slow, "/slow", "Slow"),
    (PageTab::Schedules, "/schedules", "Schedules"),
    (PageTab::Find, "/find", "Find"),
    (PageTab::Map, "/map", "Map"),
    (PageTab::Config, "/config", "Configurations"),
    (PageTab::Proof, "/proof", "Proof"),
];

impl PageTab {
    /// The page of that address. A page below a thread is one of the threads.
    pub(super) fn of(path: &str) -> PageTab {
        match path {
            "/decisions" => return PageTab::Approvals,
            path if path.starts_with("/t/") => return PageTab::Threads,
            _ => {}
        }
        TABS.iter().find(|(_, known, _)| *known == path).map_or(PageTab::Other, |(tab, ..)| *tab)
    }
}

/// A link to a page.
pub(super) struct TabLink {
    tab: PageTab,
    pub(super) href: String,
    pub(super) label: &'static str,
    pub(super) is_current: bool,
}

/// A past moment that a page shows.
pub(super) struct PastMoment {
    /// Its position in the log.
    pub(super) position: u64,
    /// The address of the same page as it is now.
    pub(super) now: String,
}

/// The commands that take `--at`, beside those of the questions.
const OF_PAST: [&str; 7] = ["approve", "config", "find", "graph", "log", "ps", "trail"];

/// The commands that show the same at every moment.
const TIMELESS: [&str; 1] = ["blob"];

/// The frame of one page.
pub(super) struct Frame {
    /// The page's own title.
    pub(super) title: String,
    /// How many things wait for a person, for the title of the tab.
    pub(super) count: usize,
    pub(super) organism: String,
    /// The client that is signed in; none on the sign-in page.
    pub(super) client: Option<String>,
    pub(super) tabs: Vec<TabLink>,
    /// Whether the client may see the threads of others.
    pub(super) sees_all: bool,
    pub(super) past: Option<PastMoment>,
    /// The command that shows the same.
    pub(super) command: Option<String>,
    /// The address of this page, for forms that lead back to it.
    pub(super) address: String,
    /// The verdict on a log that is shown without an organism.
    pub(super) at_rest: Option<Arc<RestingVerdict>>,
    /// The end of the log when the page was asked for, and the server's time.
    pub(super) position: u64,
    pub(super) now: u64,
    /// Whether the page follows the log.
    pub(super) is_live: bool,
    /// Whether the cookie of the session makes changes, so that no form asks for a token.
    pub(super) is_public: bool,
    pub(super) style: String,
    pub(super) script: String,
    pub(super) icon: String,
}

impl Frame {
    /// The frame of a page for a client. `address` is the page's own, with its query.
    pub(super) fn of(
        organism: &Name,
        client: Option<&Name>,
        (tab, title): (PageTab, &str),
        at: Option<Position>,
        address: &str,
    ) -> Frame {
        let past = at.map(|at| PastMoment { position: at.0, now: without_at(address) });
        let mut frame = Frame {
            title: title.to_owned(),
            count: 0,
            organism: organism.to_string(),
            client: client.map(ToString::to_string),
            tabs: Vec::new(),
            sees_all: true,
            past,
            command: None,
            address: address.to_owned(),
            at_rest: None,
            position: 0,
            now: WallClock.now().0,
            is_live: false,
            is_public: false,
            style: STYLE.href(),
            script: SCRIPT.href(),
            icon: ICON.href(),
        };
        if frame.client.is_some() {
            let link = |(of, path, label): &(PageTab, &str, &'static str)| TabLink {
                tab: *of,
                // A message is sent now.
                href: if *path == "/send" { (*path).to_owned() } else { frame.to(path) },
                label,
                is_current: *of == tab,
            };
            frame.tabs = TABS.iter().map(link).collect();
        }
        frame
    }

    /// The same with the command that shows the same. On a page of the past, a command that shows only the present is
    /// not named.
    pub(super) fn with_command(mut self, command: impl Into<String>) -> Frame {
        let Some(words) = self.write_command(&command.into(), "") else { return self };
        let name = words.split(' ').nth(1).unwrap_or_default();
        self.command = match &self.past {
            Some(past) if OF_PAST.contains(&name) || find_query(name).is_some() => {
                Some(format!("{words} --at {}", past.position))
            }
            Some(_) if !TIMELESS.contains(&name) => None,
            _ => Some(words),
        };
        self
    }

    /// A command that looks, with what it looks at, for the file of this page. An export is only verified and replayed.
    pub(super) fn write_command(&self, command: &str, what: impl Display) -> Option<String> {
        let words = format!("{command} {what}");
        let words = words.trim_end();
        let Some(shown) = &self.at_rest else { return Some(words.to_owned()) };
        let file = &shown.typed;
        match (shown.is_export(), words) {
            (_, "systole verify") => Some(format!("{words} {file}")),
            (false, words) if !words.starts_with("systole console") => Some(format!("{words} --log {file}")),
            _ => None,
        }
    }

    /// The same with a command, if one shows the same.
    pub(super) fn with_known_command(self, command: Option<String>) -> Frame {
        match command {
            Some(command) => self.with_command(command),
            None => self,
        }
    }

    /// The same without the pages that a client may not see.
    pub(super) fn for_reader(mut self, sees_all: bool) -> Frame {
        self.sees_all = sees_all;
        self.tabs.retain(|link| sees_all || !OF_ALL.contains(&link.tab));
        self
    }

    /// The same for a page that follows the log, unless it shows the past.
    pub(super) fn live(mut self) -> Frame {
        self.is_live = self.past.is_none() && self.at_rest.is_none();
        self
    }

    /// The same for a log that is shown without an organism: nothing is sent, and the verdict is on every page.
    pub(super) fn at_rest(mut self, verdict: Option<&Arc<RestingVerdict>>) -> Frame {
        self.at_rest = verdict.cloned();
        self.tabs.retain(|link| verdict.is_none() || link.tab != PageTab::Send);
        self
    }

    /// Whether it is of an export without the log's own thread.
    pub(super) fn lacks_own_thread(&self) -> bool {
        self.export_proof().is_some_and(|found| found.lacks_own_thread)
    }

    /// Whether it is of an export from which requests to models are left out.
    pub(super) fn lacks_requests(&self) -> bool {
        self.export_proof().is_some_and(|found| found.lacks_requests)
    }

    /// What proves the export that is shown.
    pub(super) fn export_proof(&self) -> Option<&ExportedProof> {
        self.at_rest.as_ref()?.exported.as_ref()
    }

    /// The address of another page at the same moment. It is percent-encoded where it has foreign parts.
    pub(super) fn to(&self, path: &str) -> String {
        match &self.past {
            Some(past) if path.contains('?') => format!("{path}&at={}", past.position),
            Some(past) => format!("{path}?at={}", past.position),
            None => path.to_owned(),
        }
    }
}

impl Frame {
    /// The address of a further page of a thread. Its id is percent-encoded.
    pub(super) fn thread(&self, id: &str, page: &str) -> String {
        self.to(&format!("/t/{id}/{page}"))
    }

    /// The address of a record. The thread's id is percent-encoded.
    pub(super) fn record(&self, id: &str, seq: &u64) -> String {
        self.to(&format!("/t/{id}/{seq}"))
    }

    /// The address of a file of a record, or of the record if the file is not there.
    pub(super) fn file(&self, file: &FileLine) -> String {
        let id = encode_part(file.thread.as_str());
        match file.why {
            None => self.to(&format!("/t/{id}/{}/files/{}", file.seq, file.number)),
            Some(_) => self.record(&id, &file.seq),
        }
    }
}

/// An address without its `at`.
fn without_at(address: &str) -> String {
    let Some((path, query)) = address.split_once('?') else { return address.to_owned() };
    let left: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("at=")).collect();
    if left.is_empty() { path.to_owned() } else { format!("{path}?{}", left.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_keep_the_moment_and_one_leads_back_to_now() {
        let name = Name::parse("acme").unwrap();
        let shown = (PageTab::Threads, "Threads");
        let frame =
            Frame::of(&name, Some(&name), shown, Some(Position(7)), "/threads?state=working&at=7&q=a");
        assert_eq!(frame.to("/"), "/?at=7");
        assert_eq!(frame.to("/threads?q=b"), "/threads?q=b&at=7");
        let frame = frame.with_command("systole ps");
        assert_eq!(frame.command.as_deref(), Some("systole ps --at 7"));
        let frame = frame.with_command("systole blob 12ab");
        assert_eq!(frame.command.as_deref(), Some("systole blob 12ab"));
        let frame = frame.with_command("systole verify");
        assert_eq!(frame.command, None, "it verifies the log as it is now");
        assert_eq!(frame.past.map(|past| past.now).as_deref(), Some("/threads?state=working&q=a"));
        assert_eq!(without_at("/?at=3"), "/");
    }
}
