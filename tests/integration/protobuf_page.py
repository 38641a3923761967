"""Prometheus' protobuf exposition, read by Google's protobuf with messages made from the list of
fields in prometheus/client_model. Nothing here comes from the exporter."""
import math

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

CONTENT_TYPE = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
# What Prometheus 2.42 sends with --enable-feature=native-histograms.
ACCEPT = ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,"
          "application/openmetrics-text;version=1.0.0;q=0.8,"
          "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1")

COUNTER, GAUGE, HISTOGRAM = 0, 1, 4
TYPES = {COUNTER: "counter", GAUGE: "gauge", HISTOGRAM: "histogram"}

# Message: {field: (number, type)}; "*" for repeated.
MESSAGES = {
    "Timestamp": {"seconds": (1, "int64"), "nanos": (2, "int32")},
    "LabelPair": {"name": (1, "string"), "value": (2, "string")},
    "Gauge": {"value": (1, "double")},
    "Counter": {"value": (1, "double"), "created_timestamp": (3, "Timestamp")},
    "Untyped": {"value": (1, "double")},
    "Bucket": {"cumulative_count": (1, "uint64"), "upper_bound": (2, "double")},
    "BucketSpan": {"offset": (1, "sint32"), "length": (2, "uint32")},
    "Histogram": {
        "sample_count": (1, "uint64"), "sample_sum": (2, "double"), "bucket": (3, "Bucket*"),
        "schema": (5, "sint32"), "zero_threshold": (6, "double"), "zero_count": (7, "uint64"),
        "positive_span": (12, "BucketSpan*"), "positive_delta": (13, "sint64*"),
        "created_timestamp": (15, "Timestamp")},
    "Metric": {
        "label": (1, "LabelPair*"), "gauge": (2, "Gauge"), "counter": (3, "Counter"),
        "untyped": (5, "Untyped"), "timestamp_ms": (6, "int64"), "histogram": (7, "Histogram")},
    "MetricFamily": {
        "name": (1, "string"), "help": (2, "string"), "type": (3, "int32"),
        "metric": (4, "Metric*"), "unit": (5, "string")},
}


def _family_class():
    file = descriptor_pb2.FileDescriptorProto(name="metrics.proto", package="test",
                                              syntax="proto2")
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            added = message.field.add(name=field, number=number)
            added.label = kinds.LABEL_REPEATED if kind[-1] == "*" else kinds.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            if kind in MESSAGES:
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".test.{kind}"
            else:
                added.type = getattr(kinds, "TYPE_" + kind.upper())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(
        pool.FindMessageTypeByName("test.MetricFamily"))


_Family = _family_class()


def _varint(data, at):
    value = shift = 0
    while True:
        assert at < len(data), "a length is cut"
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            assert byte > 0 or shift == 7, "a length with bytes that say nothing"
            return value, at


def families(data):
    """The messages of a page. Each must be, byte for byte, what Google's library writes itself, and
    hold no field that is not in the list."""
    found, at = [], 0
    while at < len(data):
        length, at = _varint(data, at)
        assert at + length <= len(data), "a message is cut"
        family = _Family.FromString(data[at:at + length])
        family.DiscardUnknownFields()
        assert family.SerializeToString(deterministic=True) == data[at:at + length], family.name
        found.append(family)
        at += length
    return found


def native(histogram):
    """(schema, zero threshold, zero count, {index: count}), or None if it is a classic one."""
    if not histogram.positive_span and not histogram.zero_count:
        return None
    index, buckets, count, deltas = 0, {}, 0, iter(histogram.positive_delta)
    for i, span in enumerate(histogram.positive_span):
        assert i == 0 or span.offset >= 0, "spans that run backwards"
        index += span.offset
        for _ in range(span.length):
            count += next(deltas)
            assert count > 0, "an empty bucket, or one below 0"
            buckets[index] = count
            index += 1
    assert next(deltas, None) is None, "more deltas than buckets"
    assert sum(buckets.values()) + histogram.zero_count == histogram.sample_count
    return histogram.schema, histogram.zero_threshold, histogram.zero_count, buckets


def bounds(schema, index):
    """(lower, upper] of a native bucket."""
    return 2 ** ((index - 1) / 2 ** schema), 2 ** (index / 2 ** schema)


class Page:
    """.samples as in the text format, {(name, labels): value}, with 'le' as a number; .help and
    .types by name; .native and .created by (name, labels)."""

    def __init__(self, data):
        self.samples, self.help, self.types, self.units = {}, {}, {}, {}
        self.native, self.created = {}, {}
        for family in families(data):
            assert family.name not in self.types, f"family {family.name} appears twice"
            assert family.HasField("type") and family.metric
            self.help[family.name], self.types[family.name] = family.help, TYPES[family.type]
            if family.HasField("unit"):
                self.units[family.name] = family.unit
            for metric in family.metric:
                self._metric(family, metric)

    def _add(self, name, labels, value, **more):
        key = (name, tuple(sorted({**labels, **more}.items())))
        assert key not in self.samples, f"duplicate series: {key}"
        self.samples[key] = value

    def _metric(self, family, metric):
        labels = {label.name: label.value for label in metric.label}
        assert len(labels) == len(metric.label), "a label twice"
        assert not metric.HasField("timestamp_ms")
        kinds = [kind for kind in ("gauge", "counter", "untyped", "histogram")
                 if metric.HasField(kind)]
        assert kinds == [TYPES[family.type]], (family.name, kinds)
        value = getattr(metric, kinds[0])
        if kinds[0] in ("counter", "histogram"):
            created = value.created_timestamp
            self.created[family.name, tuple(sorted(labels.items()))] = \
                created.seconds * 10**9 + created.nanos
        if kinds[0] != "histogram":
            assert value.HasField("value")
            self._add(family.name, labels, value.value)
            return
        self._add(family.name + "_count", labels, value.sample_count)
        self._add(family.name + "_sum", labels, value.sample_sum)
        edges = [bucket.upper_bound for bucket in value.bucket]
        assert edges == sorted(set(edges)) and edges[-1] == math.inf, edges
        for bucket in value.bucket:
            self._add(family.name + "_bucket", labels, bucket.cumulative_count,
                      le=bucket.upper_bound)
        self.native[family.name, tuple(sorted(labels.items()))] = native(value)
