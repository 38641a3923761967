// Files of a mixin: function(mixin) gives rules and alerts as text, and dashboards as objects, by file.
//
// Persistent memory is in a folder of its own, for whoever has it, unless the mixin has it among the others.
local yaml = import 'yaml.libsonnet';
local name = 'persistent-memory';
local isOfIt(text) = std.length(std.findSubstr(name, text)) > 0;

local only(mixin) =
  local groups(file) = { groups: [group for group in file.groups if isOfIt(group.name)] };
  {
    prometheusRules: groups(mixin.prometheusRules),
    prometheusAlerts: groups(mixin.prometheusAlerts),
    grafanaDashboards: {
      [file]: mixin.grafanaDashboards[file]
      for file in std.objectFieldsAll(mixin.grafanaDashboards)
      if isOfIt(file)
    },
  };
local head = '# Rendered from the mixin by dashboards/render.sh; change that.\n';
local texts(mixin) = {
  'rules.yaml': head + yaml(mixin.prometheusRules) + '\n',
  'alerts.yaml': head + yaml(mixin.prometheusAlerts) + '\n',
};
// Names that also differ where all files are put into one folder.
local below(files) = {
  [name + '/' + (if isOfIt(file) then file else name + '-' + file)]: files[file]
  for file in std.objectFields(files)
};

function(mixin)
  local apart = only(mixin { _config+:: { persistentMemory: true } });
  local both(files) = files(mixin) + if mixin._config.persistentMemory then {} else below(files(apart));
  {
    texts: both(texts),
    dashboards: both(function(m) { [file]: m.grafanaDashboards[file] for file in std.objectFieldsAll(m.grafanaDashboards) }),
  }
