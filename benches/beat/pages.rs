//! Open pages beside a busy organism: each follows the log by its own stream and fetches itself again when it is told to,
//! with the same requests as the script of the pages. The floor is the same load without a page, from the same run.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::JoinSet;

use crate::callers::DoorLine;
use crate::child;
use crate::door::{Tool, case, through};
use crate::report::{Table, sized};
use crate::walk::{self, TOOLS, filled};

/// What follows the position of a page in the header of its requests.
const HTML: &str = "accept: text/html\r\n";

/// Calls with and without pages, in turn.
pub(crate) fn beside(table: &mut Table) {
    let (pages, calls) = (sized("PAGES", 64), sized("PAGE_CALLS", 60_000));
    let (mut rates, mut works, mut pumps, mut refreshes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..table.runs {
        let plain = case("calls", Tool::Inline, 32, "receipt", None, "");
        let watched = case("calls", Tool::Inline, 32, "receipt", Some("pages"), "");
        let (without, with) = (through(&plain, calls), through(&watched, calls));
        rates.push((with.pace.rate, without.pace.rate));
        works.push((with.pace.work_us, without.pace.work_us));
        pumps.push((with.pump_us, without.pump_us));
        refreshes.push((with.refreshes, f64::NAN));
    }
    table.add(&format!("calls beside {pages} open pages, 32 in flight"), "/s", "at least 0.9", &rates);
    table.add("  processor time of one in the pump's process", "us", "at most 1.1", &works);
    table.add("  of that the pump's thread", "us", "floor", &pumps);
    table.add("  seconds between two refreshes of a page", "s", "", &refreshes);
}

/// What a page shows.
enum OpenPage {
    /// The same address again.
    Whole(&'static str),
    /// A thread: its new rows, and the state of it.
    Thread(String),
}

/// The child that has pages open. After a line on its stdin it says how long a page took from one refresh to the next.
pub(crate) fn open(address: &str, token: &str, count: usize) {
    walk::runtime().block_on(async {
        let refreshes = Arc::new(AtomicU64::new(0));
        let mut pages = JoinSet::new();
        for page in 0..count {
            let mut line = DoorLine::to(address, token).await;
            let shown = match page % 3 {
                0 => OpenPage::Whole("/"),
                1 => OpenPage::Whole("/threads"),
                _ => {
                    let document = filled(TOOLS[0], "work", "x");
                    OpenPage::Thread(line.sends(&format!("followed-{page}"), "", &document).await.thread)
                }
            };
            let mut events = DoorLine::to(address, token).await;
            events.asks("GET /live", HTML, b"").await;
            let mut open = Page { line, shown, last: 0 };
            open.loads().await;
            let refreshes = refreshes.clone();
            pages.spawn(async move {
                loop {
                    let told = events.told().await;
                    open.refreshes(told).await;
                    refreshes.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        refreshes.store(0, Ordering::Relaxed);
        let began = crate::report::now();
        child::ready();
        // The pages go on while this waits.
        tokio::task::block_in_place(|| std::io::stdin().lock().read_line(&mut String::new())).unwrap();
        let each = refreshes.load(Ordering::Relaxed) as f64 / count as f64;
        println!("refreshes {}", began.elapsed().as_secs_f64() / each);
        std::io::stdout().flush().unwrap();
        std::future::pending::<()>().await;
    });
}

struct Page {
    line: DoorLine,
    shown: OpenPage,
    /// The position of its last row.
    last: u64,
}

impl Page {
    /// Opens it as a person does.
    async fn loads(&mut self) {
        let address = match &self.shown {
            OpenPage::Whole(address) => (*address).to_owned(),
            OpenPage::Thread(id) => format!("/t/{id}"),
        };
        self.line.fetches(&address, HTML).await;
    }

    /// Fetches what the script fetches, with the position that it was told.
    async fn refreshes(&mut self, told: u64) {
        let headers = format!("{HTML}systole-position: {told}\r\n");
        match &self.shown {
            OpenPage::Whole(address) => drop(self.line.fetches(address, &headers).await),
            OpenPage::Thread(id) => {
                let rows = format!("/t/{id}/rows?show=all&from={}", self.last);
                let rows = self.line.fetches(&rows, &headers).await;
                let last = rows.split("data-last=\"").nth(1).and_then(|rest| rest.split('"').next());
                self.last = last.unwrap().parse().unwrap();
                self.line.fetches(&format!("/t/{id}?from=4294967295&show=key"), &headers).await;
            }
        }
    }
}
