//! Following the log of an organism elsewhere, also over its death.

use rustix::process::Signal;

use super::{FarStage, from};
use crate::organism::say;
use crate::program::{Running, run_file};
use crate::reading::{ALICE, BOB, TOKENS};

#[test]
fn h11_the_log_is_followed_from_elsewhere_also_over_a_restart() {
    let stage = FarStage::start();
    let (url, address) = (stage.url(), run_file(stage.stage.path()).address);
    let set = [("SYSTOLE_URL", url.as_str()), ("SYSTOLE_TOKEN", BOB)];
    let mut following = Running::start_with(stage.away.path(), &["log", "-f", "--json"], &set);
    stage.stage.sends(BOB, &say("one more"), 200);
    following.shows("one more");
    stage.stage.organism.signal(Signal::KILL);
    following.says("the stream is lost");
    let FarStage { stage, away } = stage;
    let crate::reading::ReadStage { organism, folder, .. } = stage;
    organism.end();
    let bound = format!("console.listen={address}");
    let again = Running::organism_set(folder.path(), &["--set", &bound], &TOKENS);
    let file = folder.path().join("say.xml");
    std::fs::write(&file, say("after the restart")).unwrap();
    let sent = from(away.path(), &url, BOB, &["send", "--file", &file.display().to_string()]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    following.shows("after the restart");
    // Nothing is missing and nothing doubled.
    following.signal(Signal::INT);
    let ran = following.end();
    let positions: Vec<u64> =
        ran.json_lines().iter().map(|record| record["position"].as_u64().unwrap()).collect();
    assert!(positions.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{positions:?}");
    // Without an organism that comes back, it ends.
    let mut last = Running::start_with(away.path(), &["log", "-f"], &set);
    last.shows("after the restart");
    let whole = from(away.path(), &url, ALICE, &["log", "-f"]);
    assert_eq!((whole.code, whole.stderr.contains("ingress.forbidden")), (Some(4), true), "{whole:?}");
    again.interrupt();
    let ran = last.end();
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("nothing answers at") && ran.stderr.contains("--from "), "{ran:?}");
}
