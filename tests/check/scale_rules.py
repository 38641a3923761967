#!/usr/bin/python3
"""deploy/demo/scale-rules.sh divides every duration of rules, and touches nothing else."""
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
      summary: "[5m] of the last 15m"
      description: |-
        Over the last [15m]
        for: 15m
      runbook_url: "http://x/[5m]"
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
      summary: "[5m] of the last 15m"
      description: |-
        Over the last [15m]
        for: 15m
      runbook_url: "http://x/[5m]"
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
