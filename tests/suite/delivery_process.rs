//! Listeners that are programs: real shell and Python processes.

use crate::stage::{Cast, shell};

/// Reads a line, takes the delivery out of it, and calls `answer` with it.
const LOOP: &str = r#"
answer() { printf '<reply xmlns="urn:systole:listener:v1" delivery="%s"><pong xmlns="urn:t"/></reply>\n' "$1"; }
while IFS= read -r line; do
  d=${line#*delivery=\"}; d=${d%%\"*}
  CASE
done
"#;

/// A shell script that does this for every line, with the delivery in `$d`.
fn each(case: &str) -> Cast {
    shell(&LOOP.replace("CASE", case))
}

fn pong(delivery: &str) -> String {
    ["said <reply xmlns=\"urn:systole:listener:v1\" delivery=\"", delivery, "\"><pong xmlns=\"urn:t\"/></reply>"]
        .concat()
}

#[tokio::test]
async fn d3_a_shell_script_that_stays_answers() {
    let mut stage = each("answer $d").start();
    stage.expect("joined", "").await;
    for delivery in ["d1", "d2"] {
        stage.hand(delivery);
        assert_eq!(stage.report().await, pong(delivery));
    }
    assert!(stage.stop().await.is_empty());
}
