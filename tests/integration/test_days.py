#!/usr/bin/python3
"""Hours of days through the real exporter, rules and alerts: tests/replay/days says what is true of them."""
import days
import harness


class Hours(days.Days):
    def test_a_batch_at_night(self):
        self.live_through("nightly-batch", seconds=4 * 3600)

    def test_deployments(self):
        self.live_through("deployments", seconds=3 * 3600)


if __name__ == "__main__":
    harness.need_command("promtool")
    harness.main()
