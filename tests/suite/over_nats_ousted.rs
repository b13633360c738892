//! A pump that lost the log and does not know it yet: what it still does about its deliveries takes nothing away from
//! the pump that now holds the log. Two carriers of one listener over a real broker, each in its own term.

use std::sync::Arc;

use systole_bus::{Broker, WriterTerm};
use systole_core::types::composition::Reach;

use crate::broker::NatsServer;
use crate::program::PATIENCE;
use crate::proxy::{Proxy, Way};
use crate::stage::{CarrierStage, Cast, cast, name};

/// The broker's message that it stored something.
const STORED: &str = "\"stream\":\"SYSTOLE_hello_BUS\",\"seq\":";

/// The carrier of a pump in this term, when it has everything that it needs.
async fn carrier(url: &str, epoch: u64) -> CarrierStage {
    begins(url, epoch).await.joined().await
}

async fn begins(url: &str, epoch: u64) -> CarrierStage {
    let broker = Broker::connect(&name("hello"), url, None, PATIENCE).await.unwrap();
    broker.has_term(WriterTerm { log: "one".to_owned(), epoch });
    Cast { broker: Some(Arc::new(broker)), ..cast(Reach::Nats) }.in_flight(2).start()
}

/// Waits until the stream has these deliveries, in this order. It fails at once if the pump that leads reports
/// something meanwhile: it has nothing to report, and a delivery that it reports gone never comes.
async fn lie(server: &NatsServer, leads: &mut CarrierStage, wanted: &[&str]) {
    let stored = async { while lying(server).await != wanted {} };
    tokio::select! {
        biased;
        waited = tokio::time::timeout(PATIENCE, stored) => {
            assert!(waited.is_ok(), "wanted {wanted:?}, the stream has {:?}", lying(server).await);
        }
        said = leads.report() => panic!("wanted {wanted:?}, came {said:?}"),
    }
}

/// Waits until the consumer has the mark of the pump that leads. It fails if that pump reports something meanwhile.
async fn has_mark(server: &NatsServer, leads: &mut CarrierStage, wanted: &str) {
    let marked = async { while mark(server).await != wanted {} };
    tokio::select! {
        biased;
        waited = tokio::time::timeout(PATIENCE, marked) => assert!(waited.is_ok(), "it has another mark"),
        said = leads.report() => panic!("the consumer was to be taken back, came {said:?}"),
    }
}

/// The mark of the pump that made the listener's consumer, or changed it last.
async fn mark(server: &NatsServer) -> String {
    let jetstream = async_nats::jetstream::new(server.client().await);
    let stream = jetstream.get_stream("SYSTOLE_hello_BUS").await.unwrap();
    stream.consumer_info("echo").await.unwrap().config.metadata["systole.mark"].clone()
}

/// The deliveries for the listener in the stream.
async fn lying(server: &NatsServer) -> Vec<String> {
    let jetstream = async_nats::jetstream::new(server.client().await);
    let stream = jetstream.get_stream("SYSTOLE_hello_BUS").await.unwrap();
    let (mut lying, mut from) = (Vec::new(), 1);
    while let Ok(found) =
        stream.raw_message_builder().sequence(from).next_by_subject("o.hello.dlv.echo").send().await
    {
        from = found.sequence + 1;
        let envelope = systole_kit::envelope::read_delivered(&found.payload).unwrap();
        lying.push(envelope.stamp.delivery.to_string());
    }
    lying
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_a_pump_that_was_ousted_takes_no_delivery_of_the_other_away() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let mut ousted = carrier(&proxy.url(), 1).await;
    // It does not know whether the broker has this one, and will look.
    proxy.loses(STORED, 1);
    ousted.hand("of the first");
    proxy.has_lost(1);
    assert_eq!(lying(&server).await, ["of the first"]);
    let mut leads = carrier(&server.url(), 2).await;
    leads.hand("of the second");
    lie(&server, &mut leads, &["of the second"]).await;
    ousted.expect("gone of the first listener.lost", "another pump has taken the log over").await;
    ousted.expect("left: ", "another pump has taken the log over").await;
    assert_eq!(lying(&server).await, ["of the second"]);
    // It also sends nothing more.
    ousted.hand("too late");
    // By then it may have found out again that it is down, from the consumer that the other carrier made.
    let mut said = ousted.report().await;
    while said.starts_with("left: ") {
        said = ousted.report().await;
    }
    // It sees the consumer that the other pump made, or that the other took the log over, and sends nothing. If it sees the
    // consumer while it puts a new fence for this delivery, it reports the delivery as lost.
    let is_down = said.starts_with("not now too late: ")
        && (said.contains("another pump") || said.contains("another program"));
    let is_lost = said.starts_with("gone too late listener.lost: ") && said.contains("another program");
    assert!(is_down || is_lost, "{said}");
    assert_eq!(lying(&server).await, ["of the second"]);
    leads.hand("and another");
    lie(&server, &mut leads, &["of the second", "and another"]).await;
    assert!(leads.reports.try_recv().is_err(), "nothing happened to it");
    // The next pump that takes over finds the delivery to repeat, and clears it away.
    let third = carrier(&server.url(), 3).await;
    assert_eq!(lying(&server).await, Vec::<String>::new());
    third.stop().await;
    leads.stop().await;
    ousted.stop().await;
}

/// Holds up the old pump's messages until the other pump has a delivery out, and lets them arrive then.
async fn comes_late(words: &'static str, is_opening: bool) {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let ousted = if is_opening {
        proxy.stalls_at(words);
        begins(&proxy.url(), 1).await
    } else {
        let ousted = carrier(&proxy.url(), 1).await;
        proxy.loses(STORED, 1);
        ousted.hand("of the first");
        proxy.has_lost(1);
        proxy.stalls_at(words);
        ousted
    };
    proxy.has_stalled();
    let mut leads = carrier(&server.url(), 2).await;
    leads.hand("of the second");
    lie(&server, &mut leads, &["of the second"]).await;
    proxy.goes(Way::Pass);
    // In any case, it has arrived when the old pump reports the outcome.
    let mut ousted = ousted;
    let said = ousted.report().await;
    assert!(said == "joined" || said.starts_with("gone of the first listener.lost"), "{said}");
    assert_eq!(lying(&server).await, ["of the second"], "{said}");
    leads.hand("and another");
    lie(&server, &mut leads, &["of the second", "and another"]).await;
    leads.stop().await;
    ousted.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_a_fence_of_an_ousted_pump_that_comes_late_is_put_nowhere() {
    comes_late("HPUB o.hello.dlv._fence_echo ", false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_an_ousted_pump_that_looks_late_leaves_what_lies_behind_its_fence() {
    comes_late("\"next_by_subj\":\"o.hello.dlv.echo\"", false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_an_ousted_pump_that_clears_away_late_leaves_what_lies_behind_its_fence() {
    comes_late("\"next_by_subj\":\"o.hello.dlv.echo\"", true).await;
}

/// It has everything that it needs except the consumer when the other pump takes over. The request for the consumer
/// arrives when the other pump has a delivery out.
#[tokio::test(flavor = "multi_thread")]
async fn d8_a_consumer_that_an_ousted_pump_changes_late_is_taken_back_and_nothing_is_lost() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    proxy.stalls_at("PUB $JS.API.CONSUMER.CREATE.");
    let mut ousted = begins(&proxy.url(), 1).await;
    proxy.has_stalled();
    let mut leads = carrier(&server.url(), 2).await;
    leads.hand("of the second");
    lie(&server, &mut leads, &["of the second"]).await;
    let own = mark(&server).await;
    proxy.goes(Way::Pass);
    ousted.expect("joined", "").await;
    has_mark(&server, &mut leads, &own).await;
    leads.hand("and another");
    lie(&server, &mut leads, &["of the second", "and another"]).await;
    assert!(leads.reports.try_recv().is_err(), "nothing happened to it");
    leads.stop().await;
    ousted.stop().await;
}
