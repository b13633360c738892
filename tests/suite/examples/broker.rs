//! The messages when an organism starts and its broker is not there, does not know the pump, or is too old.

use systole_bus::managed;
use systole_bus::{Broker, BrokerCredentials, BrokerFault};
use systole_core::rules::{admit, core_payload};
use systole_core::types::codes::Code;
use systole_core::types::ports::ArrivedDocument;
use systole_core::types::record::Record;
use systole_show::columns::wrapped;

use super::outside::records;
use super::{ExampleBook, words};
use crate::broker::{KEY, NatsServer};
use crate::broker_fitness::pretender;
use crate::managed::{client, house, start};
use crate::program::PATIENCE;
use crate::stage::name;

pub(super) async fn show(book: &mut ExampleBook) {
    let mut server = NatsServer::with("authorization { users: [{user: pump, password: right}] }");
    let url = server.url();
    let unknown = BrokerCredentials::from_seed(KEY.0);
    write(book, Code::BusForbidden, "a key that the broker does not know", &url, Some(&unknown)).await;
    server.stop();
    write(book, Code::BusUnreachable, "a broker that does not run", &url, None).await;
    let old = format!("nats://{}", pretender("2.9.10"));
    write(book, Code::BusUnfit, "a broker of 2022", &old, None).await;
    let absent = managed::ServerProgram::find_on(Some("/usr/local/none:/none".as_ref())).await.unwrap_err();
    assert_eq!(absent.code(), Code::BusDown, "{absent}");
    let done = "systole run with `bus: {nats: managed}`, where no nats-server is installed";
    book.write(Code::BusDown, done, &page(absent.code(), &absent.to_string(), &absent.fix()));
    let done = "the listener echo says something in the name of another";
    book.take(&violated().await, Code::BusViolation, done);
}

/// What a listener sees if its message arrives on the subject of progress.
pub(super) fn show_refusal(book: &mut ExampleBook) {
    let speech = ArrivedDocument::Bytes(b"<notice xmlns=\"urn:systole:listener:v1\"/>".to_vec());
    let refusal = admit::make_unmatched(&name("echo"), &speech).refused.refusal;
    let text = words(Code::WrongSubject, &core_payload::system_error(&refusal));
    book.write(Code::WrongSubject, "a notice on the subject of progress, over a broker", &text);
}

async fn write(
    book: &mut ExampleBook,
    code: Code,
    done: &str,
    url: &str,
    credentials: Option<&BrokerCredentials>,
) {
    let tried = Broker::connect(&name("hello"), url, credentials, PATIENCE).await;
    let refusal = tried.map(|broker| format!("{broker:?}")).unwrap_err();
    assert_eq!(refusal.code(), code, "{refusal:?}");
    book.write(code, done, &told(&refusal, &url["nats://".len()..]));
}

fn told(refusal: &BrokerFault, address: &str) -> String {
    let words = refusal.to_string().replace(address, "127.0.0.1:4222");
    page(refusal.code(), &words, &refusal.fix())
}

fn page(code: Code, words: &str, fix: &str) -> String {
    let mut page = wrapped(&format!("{}:", code.as_str()), 4, words);
    page.extend(wrapped("  try     ", 11, fix));
    page.join("\n") + "\n"
}

/// The records of an organism in which a listener published something forbidden.
async fn violated() -> Vec<Record> {
    let folder = house();
    let mut running = start(folder.path());
    let echo = client(folder.path()).await;
    echo.publish("o.shop.in.other.0", "x".into()).await.unwrap();
    // The next wait blocks this thread, which would send it.
    echo.flush().await.unwrap();
    running.shows("bus.violation");
    running.interrupt();
    records(folder.path())
}
