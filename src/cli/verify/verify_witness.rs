//! `systole verify --witness`: the last checkpoints of the log that witnesses hold, read back over HTTP. So a log that was
//! rolled back together with its own checkpoints is found.

use std::collections::BTreeSet;

use systole_http::HttpAddress;

use super::super::exit::CommandExit;
use super::super::local_organism;
use super::super::screen::Screen;
use systole_export::verdict::{CheckpointKeeper, CheckpointSource};
use systole_organism::planning;
use systole_show::columns::plain;
use systole_witness::WitnessFault;

/// The checkpoints of these logs that the witnesses hold. Each witness has to hold one.
pub(super) fn read_back(
    screen: Screen,
    urls: &[String],
    origins: &BTreeSet<String>,
) -> Result<Vec<CheckpointSource>, CommandExit> {
    if origins.is_empty() {
        let words =
            "--witness: the log's name is not known: no policy names it, and no checkpoint is beside the log";
        return Err(screen.refuse(words, "--policy FILE or --key VKEY"));
    }
    let mut addresses = Vec::new();
    for url in urls {
        let address = HttpAddress::parse(url).map_err(|why| {
            let words = format!("--witness {url}: {why}");
            screen.refuse(words, "the address that proof.to names, as https://HOST/PATH")
        })?;
        addresses.push((url, address));
    }
    local_organism::with_runtime(screen, async {
        read_all(&addresses, origins).await.map_err(|UnreadWitness { url, fault }| match fault {
            Some(fault) => {
                let words = format!("the witness {url}: {fault}");
                screen.fail_with(CommandExit::Unavailable, words, "again later, or without --witness")
            }
            None => {
                let names = origins.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", ");
                let words = format!("the witness {url} holds no checkpoint of {names}");
                let fix = "a witness that proof.to names; systole checkpoint --to sends it one";
                screen.fail_with(CommandExit::Failed, words, fix)
            }
        })
    })
}

/// A witness without a checkpoint: it has none, or does not say so.
struct UnreadWitness {
    url: String,
    fault: Option<WitnessFault>,
}

async fn read_all(
    addresses: &[(&String, HttpAddress)],
    origins: &BTreeSet<String>,
) -> Result<Vec<CheckpointSource>, UnreadWitness> {
    let client = planning::build_witness_client();
    let mut found = Vec::new();
    for (url, address) in addresses {
        let before = found.len();
        for origin in origins {
            let read = client.read_back(address, origin, crate::limits::WITNESS_ANSWER).await;
            let signed = read.map_err(|fault| UnreadWitness { url: (*url).clone(), fault: Some(fault) })?;
            let (place, keeper) = ((*url).clone(), CheckpointKeeper::Witness);
            found.extend(signed.map(|signed| CheckpointSource { place, keeper, signed }));
        }
        if found.len() == before {
            return Err(UnreadWitness { url: (*url).clone(), fault: None });
        }
    }
    Ok(found)
}
