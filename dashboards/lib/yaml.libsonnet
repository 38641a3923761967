// Writes rule files. std.manifestYamlDoc takes half a minute for them in Debian's jsonnet, and its
// quoted strings are hard to read; here all text is a block, which needs no quoting.
local spaces(n) = '            '[:n];
local lines(n, text) = [spaces(n) + line for line in std.split(text, '\n')];
local plain(key, text) = [key + ': ' + text];
local block(key, text) = [key + ': |-'] + lines(2, text);
local map(write) = function(key, object) [key + ':'] + [
  '  ' + line
  for name in std.objectFields(object)
  for line in write(name, object[name])
];

// In the order in which people read them.
local fields = [
  ['alert', plain],
  ['record', plain],
  ['expr', block],
  ['for', plain],
  ['labels', map(function(key, text) if std.startsWith(text, '{{') then block(key, text) else plain(key, text))],
  ['annotations', map(block)],
];
local rule(r) = [
  line
  for field in fields
  if field[0] in r
  for line in field[1](field[0], r[field[0]])
];
local item(list) = ['- ' + list[0]] + ['  ' + line for line in list[1:]];

function(file)
  std.join('\n', ['groups:'] + [
    line
    for group in file.groups
    for line in item(['name: ' + group.name, 'interval: ' + group.interval, 'rules:'] + [
      line
      for r in group.rules
      for line in item(rule(r))
    ])
  ])
