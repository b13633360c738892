"""Orders two lamps and many chairs, and prints what comes of it."""
from payloads.shop import Order, Ordered
from systole_sdk import Client, Unanswered

client = Client()
lamps = client.ask(Order(article="lamp", count=2, account="ada"), returns=Ordered, key="order-7")
print(lamps.receipt)
try:
    client.ask(Order(article="chair", count=5, account="ada"), returns=Ordered)
except Unanswered as error:
    print(error)
