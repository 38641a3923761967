// Files of a mixin: function(mixin) gives rules and alerts as text, and dashboards as objects, by file.
//
// What only some have is in a folder of its own, for them, unless the mixin has it among the others.
local yaml = import 'yaml.libsonnet';
// Folders, by the setting that has their parts among the others.
local parts = { persistentMemory: 'persistent-memory', kubelet: 'kubelet' };

local only(name, mixin) =
  local isOfIt(text) = std.length(std.findSubstr(name, text)) > 0;
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
  [file + '.yaml']: head + yaml(groups[file]) + '\n'
  for groups in [{ rules: mixin.prometheusRules, alerts: mixin.prometheusAlerts }]
  for file in std.objectFields(groups)
  if groups[file].groups != []
};
// Names that also differ where all files are put into one folder.
local below(name, files) = {
  [name + '/' + (if std.startsWith(file, name) then file else name + '-' + file)]: files[file]
  for file in std.objectFields(files)
};

function(mixin)
  local both(files) = std.foldl(
    function(all, setting)
      local name = parts[setting];
      all + if mixin._config[setting] then {}
      else below(name, files(only(name, mixin { _config+:: { [setting]: true } }))),
    std.objectFields(parts),
    files(mixin)
  );
  {
    texts: both(texts),
    dashboards: both(function(m) { [file]: m.grafanaDashboards[file] for file in std.objectFieldsAll(m.grafanaDashboards) }),
  }
