#!/usr/bin/python3
"""Whole days, of every kind, through the real exporter, rules and alerts: tests/replay/days."""
import days
import harness
import kinds


class Whole(days.Days):
    def test_nothing_grows_in_a_day_of_churn(self):
        """48,000 containers: after the first hour memory, descriptors and series stay as they are."""
        played = self.live_through("churn")
        _, first_bytes, first_fds, first_series = played.samples[1]
        for hour, resident, fds, series in played.samples[2:]:
            with self.subTest(hour=hour):
                self.assertLess(resident, 1.05 * first_bytes + 2e6)
                self.assertLessEqual(fds, first_fds + 2)
                self.assertLess(series, 1.1 * first_series)


def add(kind):
    def test(self):
        self.live_through(kind)
    setattr(Whole, "test_" + kind.replace("-", "_"), test)


for each in kinds.KINDS:
    if each != "churn":
        add(each)

if __name__ == "__main__":
    harness.need_command("promtool")
    harness.main()
