// A program that uses the payloads of a shop.
import { Order, OrderLine, Receipt } from "./shop.ts";

export function answer(order: Order): Receipt {
  const who: string = order.customer;
  let count: number = 0;
  for (const line of order.line) {
    count += line.count;
  }
  const note: string | undefined = order.note;
  if (order.speed === "fast") {
    count += 1;
  }
  return Receipt({
    text: `${who}: ${count} ${note}`,
    paid: true,
  });
}

export const SAMPLE: Order = Order({
  id: 1, customer: "Ann",
  line: [OrderLine({ name: "tea", count: 2 })],
  speed: "slow",
});
