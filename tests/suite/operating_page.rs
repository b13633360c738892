//! Runs `docs/operating.md` word for word, with a broker, three pumps and a kill. Only the ports differ.
//! `SYSTOLE_GOLDEN=1` writes the shown output again; review the page like code then.

use std::path::Path;

use crate::broker::path;
use crate::ports;
use crate::session::{Shell, steps};
use crate::terminals::Terminals;

#[test]
fn h8_the_page_of_operating_is_what_one_sees() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operating.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let taken_over = text
        .split_once("### A kill")
        .unwrap()
        .1
        .split_once("```text\n")
        .unwrap()
        .1
        .split_once("```")
        .unwrap()
        .0;
    let [client, monitor] = [ports::free(), ports::free()].map(|port| port.to_string());

    let mut terminals = Terminals::new(Shell::new().with("PATH", path().split(':').next().unwrap()));
    for mut step in steps(&text) {
        step.command = step.command.replace(":4222", &format!(":{client}"));
        step.command = step.command.replace(":8222", &format!(":{monitor}"));
        let begins = |with: &str| step.command.starts_with(with);
        if begins("nats-server ") {
            terminals.leave(&step);
            terminals.says("Server is ready");
        } else if begins("systole run --set") {
            terminals.leave(&step);
        } else {
            terminals.run(&step);
            if begins("kill ") {
                terminals.goes_on(taken_over);
            }
        }
    }
    terminals.judge(&page, &text, (42, 4));
}
