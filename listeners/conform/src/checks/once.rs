//! Checks of a program that is started for each delivery.

use std::process::ExitStatus;
use std::time::Duration;

use systole_carriers::JudgedProgram;
use systole_kit::elements::{ElementReader, StreamPiece};
use systole_kit::{DocumentLimits, Payload, namespaces};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::documents::{Delivery, read_payload};
use crate::limits;
use crate::stage::Bench;
use crate::verdict::{CheckFault, CheckVerdict, RunningCheck, show_bytes};

pub(super) fn find_check<'b>(bench: &'b Bench, name: &str) -> Option<RunningCheck<'b>> {
    Some(match name {
        "answer" => Box::pin(check_answer(bench)),
        "xmlns" => Box::pin(check_xmlns(bench)),
        "failure" => Box::pin(check_failure(bench)),
        "stderr" => Box::pin(check_stderr(bench)),
        "empty" => Box::pin(check_empty(bench)),
        "term" => Box::pin(check_term(bench)),
        _ => return None,
    })
}

/// What one start of the program came to.
struct OnceRun {
    sent: String,
    output: Vec<u8>,
    errors: Vec<u8>,
    status: Option<ExitStatus>,
}

impl OnceRun {
    fn fail(&self, expected: &str) -> CheckFault {
        let status = self.status.map_or_else(|| "it still ran".to_owned(), |status| status.to_string());
        let came = format!("{}; {status}; stderr: {}", show_bytes(&self.output), show_bytes(&self.errors));
        CheckFault::build_failure(&self.sent, expected, came)
    }

    fn require(&self, holds: bool, expected: &str) -> CheckVerdict {
        if holds { Ok(()) } else { Err(self.fail(expected)) }
    }

    fn has_succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// The elements of its output, and whether there is text beside them.
    fn list_elements(&self) -> (Vec<Vec<u8>>, bool) {
        let (mut reader, mut pieces) = (ElementReader::new(limits::FRAME_BYTES), Vec::new());
        let fed = reader.feed_chunk(&self.output, &mut pieces);
        let mut elements: Vec<Vec<u8>> = Vec::new();
        let mut has_text = fed.is_err();
        for piece in pieces {
            match piece {
                StreamPiece::Element(element) => elements.push(element.to_vec()),
                StreamPiece::Stray(stray) => has_text |= !stray.trim_ascii().is_empty(),
            }
        }
        (elements, has_text)
    }

    fn list_payloads(&self) -> Vec<Payload> {
        let read = |bytes: &Vec<u8>| Payload::parse(bytes, &DocumentLimits::default()).ok();
        self.list_elements().0.iter().filter_map(read).collect()
    }
}

fn make_delivery(payload: Payload) -> Delivery {
    Delivery {
        token: "265d7c65a3d3e7568eff516550f2d738".to_owned(),
        call: "1".to_owned(),
        key: "42ecbf5dd2ebeb1b8d95b3241e45db55".to_owned(),
        turn: 1,
        attempt: 1,
        journal: None,
        thread: "sess-42ecbf5dd2eb".to_owned(),
        payload,
    }
}

/// Starts the program with one request, closes its stdin, and reads what it says to its end.
async fn run_once(bench: &Bench, payload: Payload) -> Result<OnceRun, CheckFault> {
    let subject = &bench.subject;
    let names = (&subject.composition.organism, &subject.listener);
    let started = JudgedProgram::start(&subject.program, names, &subject.around).await;
    let (mut program, (mut input, mut output, mut errors)) =
        started.map_err(|why| CheckFault::build_failure("the start of the program", "it runs", why))?;
    let mut document = make_delivery(payload).to_document(subject.listener.as_str());
    let sent = show_bytes(&document);
    document.push(b'\n');
    let (mut said, mut words) = (Vec::new(), Vec::new());
    let talking = async {
        let writing = async {
            // A program may answer without reading.
            let _unread = input.write_all(&document).await;
            drop(input);
        };
        let mut bounded = (&mut output).take(limits::FRAME_BYTES as u64);
        let mut bounded_words = (&mut errors).take(limits::FRAME_BYTES as u64);
        tokio::join!(writing, bounded.read_to_end(&mut said), bounded_words.read_to_end(&mut words))
    };
    let _in_time = tokio::time::timeout(limits::ANSWER, talking).await;
    let status = crate::pipe::wait_for_end(&mut program, Duration::from_secs(1)).await;
    Ok(OnceRun { sent, output: said, errors: words, status })
}

/// A request that is answered.
async fn run_well(bench: &Bench) -> Result<OnceRun, CheckFault> {
    let run = run_once(bench, bench.subject.example()).await?;
    let answers = run.list_payloads().iter().any(|payload| bench.subject.returns(payload));
    run.require(
        run.has_succeeded() && (answers || bench.subject.returns_nothing()),
        "an element of `returns`, and exit 0",
    )?;
    Ok(run)
}

async fn check_answer(bench: &Bench) -> CheckVerdict {
    let run = run_well(bench).await?;
    for payload in run.list_payloads() {
        if let Err(words) = bench.subject.judge_payload(&payload) {
            return Err(run.fail(&format!("what its schema allows; libxml2: {words}")));
        }
    }
    Ok(())
}

async fn check_xmlns(bench: &Bench) -> CheckVerdict {
    let run = run_well(bench).await?;
    let (elements, _) = run.list_elements();
    for element in &elements {
        let payload = Payload::parse(element, &DocumentLimits::default());
        let holds = payload.is_ok_and(|payload| {
            let own = &*payload.name().ns;
            !own.is_empty() && own != namespaces::LISTENER && own != namespaces::ENVELOPE
        });
        run.require(holds, "items with their own xmlns, and no <reply>")?;
    }
    Ok(())
}

async fn check_failure(bench: &Bench) -> CheckVerdict {
    run_well(bench).await?;
    let other = read_payload("<other xmlns=\"https://xml-pipeline.org/ns/other/v1\"/>");
    let run = run_once(bench, other).await?;
    let failed = run.status.is_some_and(|status| !status.success());
    run.require(failed && !run.errors.trim_ascii().is_empty(), "exit above 0, and words on stderr")
}

async fn check_stderr(bench: &Bench) -> CheckVerdict {
    let run = run_well(bench).await?;
    run.require(!run.list_elements().1, "its own words on stderr only")
}

async fn check_empty(bench: &Bench) -> CheckVerdict {
    if !bench.subject.returns_nothing() {
        return Err(CheckFault::build_unscored("it returns something"));
    }
    let run = run_once(bench, bench.subject.example()).await?;
    run.require(run.has_succeeded() && run.output.trim_ascii().is_empty(), "no output, and exit 0")
}

async fn check_term(bench: &Bench) -> CheckVerdict {
    run_well(bench).await?;
    let subject = &bench.subject;
    let names = (&subject.composition.organism, &subject.listener);
    let started = JudgedProgram::start(&subject.program, names, &subject.around).await;
    let (mut program, _pipes) =
        started.map_err(|why| CheckFault::build_failure("the start of the program", "it runs", why))?;
    tokio::time::sleep(limits::MOMENT).await;
    program.send_term();
    match crate::pipe::wait_for_end(&mut program, limits::EOF_END).await {
        Some(_) => Ok(()),
        None => Err(CheckFault::build_failure(
            "TERM, before it has read its request",
            "its end within 5 s",
            "it still runs",
        )),
    }
}

/// Has the program answer one request: a program that does nothing passes no check.
pub(crate) async fn expect_alive(bench: &Bench) -> CheckVerdict {
    run_well(bench).await.map(drop)
}
