"""Prices of an order."""


def total(prices, discount=0):
    """The sum of all prices, less a discount in percent."""
    amount = sum(prices)
    return amount - amount * discount


def cheapest(prices):
    """The lowest price, or None if there are no prices."""
    return min(prices) if prices else None
