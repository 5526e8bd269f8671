# `unittest`
import io
import unittest

seen = []


class Sums(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        seen.append("class")

    def setUp(self):
        self.values = [1, 2]
        self.addCleanup(seen.append, "clean")

    def tearDown(self):
        seen.append("down")

    def test_sum(self):
        self.assertEqual(sum(self.values), 3)
        self.assertAlmostEqual(0.1 + 0.2, 0.3)
        self.assertIn(1, self.values)
        self.assertIsInstance(self.values, list)
        self.assertCountEqual([2, 1], self.values)
        self.assertRegex("abc", "b+")

    def test_raises(self):
        with self.assertRaises(ZeroDivisionError) as caught:
            1 / 0
        self.assertIn("zero", str(caught.exception))
        self.assertRaisesRegex(ValueError, "invalid literal", int, "x")

    def test_wrong(self):
        self.assertEqual([1], [2], "differs")

    def test_broken(self):
        {}["no"]

    def test_many(self):
        for n in (1, 2, 3):
            with self.subTest(n=n):
                self.assertNotEqual(n, 2)

    @unittest.skip("later")
    def test_later(self):
        raise AssertionError

    @unittest.expectedFailure
    def test_known(self):
        self.fail("known")


class Waits(unittest.TestCase):
    def test_nothing(self):
        self.assertIsNone(None)


written = io.StringIO()
loader = unittest.TestLoader()
suite = unittest.TestSuite([loader.loadTestsFromTestCase(Sums), loader.loadTestsFromTestCase(Waits)])
result = unittest.TextTestRunner(stream=written).run(suite)
# Python 3.12.1, alone of all versions, does not count the test that is skipped.
assert result.testsRun in (7, 8) and not result.wasSuccessful()
assert (len(result.failures), len(result.errors), len(result.skipped)) == (2, 1, 1)
text = written.getvalue()
assert "[1] != [2]" in text or "Lists differ: [1] != [2]" in text
assert "KeyError: 'no'" in text and f"Ran {result.testsRun} tests in " in text
assert "FAILED (failures=2, errors=1, skipped=1, expected failures=1)" in text
assert seen.count("class") == 1 and seen[1:3] == ["down", "clean"]


class Logs(unittest.TestCase):
    def test_logs(self):
        import logging

        with self.assertLogs("app", level="INFO") as found:
            logging.getLogger("app").info("hello")
        self.assertEqual(found.output, ["INFO:app:hello"])
        self.assertSequenceEqual([1], (1,))


outcome = unittest.TestResult()
Logs("test_logs").run(outcome)
assert outcome.wasSuccessful()
