import unittest

from prices import cheapest, total


class Prices(unittest.TestCase):
    def test_total_adds_all_prices(self):
        self.assertEqual(total([3, 4]), 7)

    def test_a_discount_is_in_percent(self):
        self.assertEqual(total([50, 50], discount=10), 90)

    def test_nothing_is_cheapest_of_nothing(self):
        self.assertIsNone(cheapest([]))


if __name__ == "__main__":
    unittest.main()
