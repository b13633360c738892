//! Whether a broker syncs what it takes before it confirms it. A client cannot ask for that. The broker's monitoring
//! page shows it, and which server the page belongs to.

use std::time::Duration;

use serde::Deserialize;

use super::unusable::{BrokerFault, make_line};
use super::wire::BrokerWire;

#[derive(Deserialize)]
struct MonitorPage {
    server_id: String,
    config: Option<ConfiguredSync>,
}

#[derive(Deserialize)]
struct ConfiguredSync {
    #[serde(default)]
    sync_always: bool,
}

/// Checks every page. All servers that answer must sync. They must be more than half of the pages and of the copies
/// that are kept, and the connected server must be among them. One server of a cluster that is down prevents no
/// start: what most servers have is not lost with it.
pub(super) async fn check_syncs(
    wire: &BrokerWire,
    pages: &[String],
    copies: usize,
    patience: Duration,
) -> Result<(), BrokerFault> {
    let (mut seen, mut unseen) = (Vec::new(), None);
    for page in pages {
        let asked = page.clone();
        let read = tokio::task::spawn_blocking(move || read_page(&asked, patience)).await;
        let read = read.unwrap_or_else(|panic| Err(panic.to_string()));
        let read = match read {
            Ok(read) => read,
            Err(why) => {
                let none = BrokerFault::Unseen { page: page.clone(), why: make_line(&why) };
                tracing::warn!(why = %none, fix = none.fix(), "one server of the broker does not show that it syncs");
                unseen.get_or_insert(none);
                continue;
            }
        };
        if !read.config.is_some_and(|config| config.sync_always) {
            return Err(BrokerFault::Unsynced { page: page.clone() });
        }
        if !seen.contains(&read.server_id) {
            seen.push(read.server_id);
        }
    }
    let servers = copies.max(pages.len());
    if seen.len() * 2 <= servers {
        let why = || {
            format!("they are of {} of the {servers} servers, and more than half have to show it", seen.len())
        };
        return Err(unseen.unwrap_or_else(|| BrokerFault::Unseen { page: pages.join(", "), why: why() }));
    }
    let server = wire.client.server_info().server_id;
    if seen.contains(&server) {
        return Ok(());
    }
    let why = format!("it is of another server than the one at {}", wire.address);
    Err(BrokerFault::Unseen { page: pages.join(", "), why })
}

fn read_page(page: &str, patience: Duration) -> Result<MonitorPage, String> {
    let agent: ureq::Agent = ureq::Agent::config_builder().timeout_global(Some(patience)).build().into();
    let address = format!("http://{page}/jsz?config=1");
    let mut answer = agent.get(&address).call().map_err(|error| error.to_string())?;
    let text = answer.body_mut().with_config().limit(crate::limits::MONITOR_BYTES).read_to_string();
    let text = text.map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|_| "it is no page of a nats-server with JetStream".to_owned())
}
