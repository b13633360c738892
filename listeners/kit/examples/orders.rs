//! A listener over stdin with a payload of several fields. It says what it takes by the name of the request.

use systole_kit::Payload;
use systole_kit::stdio::{Failure, answer_each};

const SHOP: &str = "https://xml-pipeline.org/ns/shop/v1";

fn take_order(order: &Payload) -> Result<Payload, Failure> {
    let (Some(article), Some(count)) = (order.text_of("article"), order.text_of("count")) else {
        return Err(Failure::new("orders.incomplete", "an order has an article and a count"));
    };
    Ok(Payload::write(SHOP, "ordered", |inside| {
        inside.open("article").text(&article);
        inside.open("count").text(&count);
    }))
}

fn main() -> std::process::ExitCode {
    answer_each(|turn| match &*turn.request().name().local {
        "order" => take_order(turn.request()),
        other => Err(Failure::new("orders.unknown", format!("<{other}> is not taken here"))),
    })
}
