#!/usr/bin/python3
"""deploy/demo/scale-rules.sh divides every duration of rules, and what texts say of it, and touches
nothing else."""
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = SOURCE / "deploy/demo/scale-rules.sh"

RULES = '''\
groups:
- name: "of 5m"
  interval: "1m"
  rules:
  - expr: |-
      sum by (node) (rate(a_total{le="5m"}[5m]))
      /
      numa:latency:mean5m[1d] > 60
    record: "numa:latency:rate15m"
  - alert: "Slow"
    annotations:
      summary: "Slow for 15 minutes"
      description: |-
        Over the last 24 hours, for a day, an hour (1 week): 3 reads per second.
        for: 15m {{ with query "topk(3, rate(a[5m]))" }}30ns, a secondary one, 2 minutes
      runbook_url: "http://x/[5m]/15 minutes"
    expr: "max_over_time(a[1h30m:2m] offset 10m) and rate(b[100ms]) or c offset -1m"
    for: 15m
    keep_firing_for: "1m"
'''
SCALED = '''\
groups:
- name: "of 5m"
  interval: "6000ms"
  rules:
  - expr: |-
      sum by (node) (rate(a_total{le="5m"}[30000ms]))
      /
      numa:latency:mean5m[8640000ms] > 60
    record: "numa:latency:rate15m"
  - alert: "Slow"
    annotations:
      summary: "Slow for 90 seconds"
      description: |-
        Over the last 2.4 hours, for 2.4 hours, 6 minutes (16.8 hours): 3 reads per second.
        for: 15m {{ with query "topk(3, rate(a[30000ms]))" }}30ns, a secondary one, 12 seconds
      runbook_url: "http://x/[5m]/15 minutes"
    expr: "max_over_time(a[540000ms:12000ms] offset 60000ms) and rate(b[10ms]) or c offset -6000ms"
    for: 90000ms
    keep_firing_for: "6000ms"
'''


def scale(factor, text):
    return subprocess.run([SCRIPT, str(factor)], input=text, capture_output=True, text=True,
                          timeout=20, check=False)


def main():
    result = scale(10, RULES)
    assert result.returncode == 0, result.stderr
    for got, want in zip(result.stdout.splitlines(), SCALED.splitlines(), strict=True):
        assert got == want, f"{got!r} is not {want!r}"
    for factor in ("", "0", "-1", "x"):
        assert scale(factor, RULES).returncode == 2, factor


main()
