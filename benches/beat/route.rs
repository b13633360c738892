//! The floor of a hop without a disk: quick-xml reads every event of a payload, and libxml2 parses
//! it strictly and validates it. Tokio channels pass it to a router and on to a listener that sends
//! the next one. Nothing is stamped, recorded or remembered, and only the payload is ours.

use std::hint::black_box;
use std::thread;

use libxml::parser::{Parser, ParserOptions};
use libxml::schemas::{SchemaParserContext, SchemaValidationContext};
use quick_xml::NsReader;
use quick_xml::events::Event;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;

use crate::hops::Pace;
use crate::report::{now, worked};
use crate::walk::{self, TOOLS, filled};

/// Messages taken from a channel at once.
const AT_ONCE: usize = 64;

/// Reads every event and resolves its name, as a gate must.
fn gate(document: &[u8]) {
    let mut reader = NsReader::from_reader(document);
    loop {
        match reader.read_resolved_event().unwrap() {
            (_, Event::Eof) => return,
            event => {
                black_box(&event);
            }
        }
    }
}

/// The work of one validator thread until all senders are gone.
fn judge(mut raws: Receiver<Vec<u8>>, router: &Sender<Vec<u8>>) {
    let xsd = std::fs::read("config/bench/schemas/tool.xsd").unwrap();
    let mut compiler = SchemaParserContext::from_buffer(&xsd);
    let Ok(mut schema) = SchemaValidationContext::from_parser(&mut compiler) else {
        unreachable!("the schema of the benchmark compiles")
    };
    let parser = Parser::default();
    let mut came = Vec::with_capacity(AT_ONCE);
    while raws.blocking_recv_many(&mut came, AT_ONCE) > 0 {
        for payload in came.drain(..) {
            gate(&payload);
            let strict = ParserOptions { recover: false, no_net: true, ..ParserOptions::default() };
            let document = parser.parse_string_with_options(&payload, strict).unwrap();
            assert!(schema.validate_document(&document).is_ok(), "the payload is valid");
            if router.blocking_send(payload).is_err() {
                return;
            }
        }
    }
}

/// A listener: it answers every delivery with the same bytes.
async fn answer(mut deliveries: Receiver<Vec<u8>>, validator: Sender<Vec<u8>>) {
    let mut came = Vec::with_capacity(AT_ONCE);
    while deliveries.recv_many(&mut came, AT_ONCE).await > 0 {
        for delivered in came.drain(..) {
            if validator.send(delivered.clone()).await.is_err() {
                return;
            }
        }
    }
}

/// The pace with that many validator threads and that many payloads in flight.
pub(crate) fn route(validators: usize, in_flight: usize, hops: u64, text: usize) -> Pace {
    let payload = filled(TOOLS[0], "work", &"x".repeat(text));
    walk::runtime().block_on(async {
        // Every channel has room for everything, so no sender on the ring ever waits.
        let (router, mut routed) = channel(in_flight);
        let doors: Vec<Sender<Vec<u8>>> = (0..validators)
            .map(|_| {
                let ((door, raws), router) = (channel(in_flight), router.clone());
                thread::spawn(move || judge(raws, &router));
                door
            })
            .collect();
        drop(router);
        let mut listeners = JoinSet::new();
        let seats: Vec<Sender<Vec<u8>>> = (0..2)
            .map(|n| {
                let (seat, deliveries) = channel(in_flight);
                listeners.spawn(answer(deliveries, doors[n % validators].clone()));
                seat
            })
            .collect();
        for n in 0..in_flight {
            doors[n % validators].send(payload.clone()).await.unwrap();
        }
        drop(doors);
        let mut came = Vec::with_capacity(AT_ONCE);
        let (mut done, mut began, mut before) = (0_u64, now(), 0.0);
        let warm = hops / 10;
        while routed.recv_many(&mut came, AT_ONCE).await > 0 {
            for payload in came.drain(..) {
                done += 1;
                if done == warm {
                    (began, before) = (now(), worked().0);
                }
                seats[usize::from(done % 2 == 0)].send(payload).await.unwrap();
            }
            if done >= warm + hops {
                break;
            }
        }
        Pace::of(done - warm, began.elapsed().as_secs_f64(), worked().0 - before)
    })
}
