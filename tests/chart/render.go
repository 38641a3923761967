// Renders the Helm chart as `helm template` does, as far as charts like this one go: text/template
// with sprig and the functions that helm adds. There is no helm on the machines that test this.
//
//	render [-release NAME] [-namespace NAMESPACE] [-capabilities VERSION,...] CHART [VALUES.yaml...]
//
// Prints one YAML document per rendered template, each below "# Source: FILE". NOTES.txt is rendered,
// too, and not printed.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type values = map[string]interface{}

// Numbers become float64 on their way through JSON, as they do in helm.
func parseYAML(text []byte) (values, error) {
	var any map[string]interface{}
	if err := yaml.Unmarshal(text, &any); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(any)
	if err != nil {
		return nil, err
	}
	result := values{}
	err = json.Unmarshal(encoded, &result)
	if result == nil {
		result = values{}
	}
	return result, err
}

// What a user gives goes over what the chart has; null takes away.
func merge(base, over values) values {
	for key, value := range over {
		under, isMap := base[key].(values)
		given, givenMap := value.(values)
		switch {
		case value == nil:
			delete(base, key)
		case isMap && givenMap:
			base[key] = merge(under, given)
		default:
			base[key] = value
		}
	}
	return base
}

// .Files of a chart: everything but templates and what helm reads itself.
type files map[string][]byte

func (f files) Get(name string) string { return string(f[name]) }

func (f files) Glob(pattern string) files {
	found := files{}
	for name, data := range f {
		if ok, _ := path.Match(pattern, name); ok {
			found[name] = data
		}
	}
	return found
}

type versions []string

func (v versions) Has(version string) bool {
	for _, known := range v {
		if known == version {
			return true
		}
	}
	return false
}

func toYAML(value interface{}) string {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if encoder.Encode(integers(value)) != nil {
		return "" // as helm does
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// helm's YAML comes from JSON, where 3.0 is written 3.
func integers(value interface{}) interface{} {
	switch v := value.(type) {
	case values:
		copied := values{}
		for key, item := range v {
			copied[key] = integers(item)
		}
		return copied
	case []interface{}:
		copied := make([]interface{}, len(v))
		for i, item := range v {
			copied[i] = integers(item)
		}
		return copied
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return value
}

func functions(root *template.Template) template.FuncMap {
	funcs := sprig.TxtFuncMap()
	delete(funcs, "env")
	delete(funcs, "expandenv")
	execute := func(t *template.Template, name string, data interface{}) (string, error) {
		var out strings.Builder
		err := t.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	funcs["include"] = func(name string, data interface{}) (string, error) {
		return execute(root, name, data)
	}
	funcs["tpl"] = func(text string, data interface{}) (string, error) {
		clone, err := root.Clone()
		if err != nil {
			return "", err
		}
		if _, err = clone.New("tpl").Parse(text); err != nil {
			return "", err
		}
		return execute(clone, "tpl", data)
	}
	funcs["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, fmt.Errorf("%s", message)
		}
		return value, nil
	}
	funcs["toYaml"] = toYAML
	funcs["fromYaml"] = func(text string) values {
		result, err := parseYAML([]byte(text))
		if err != nil {
			return values{"Error": err.Error()}
		}
		return result
	}
	funcs["lookup"] = func(...string) values { return values{} }
	return funcs
}

func readChart(folder string) (chart values, defaults values, templates map[string]string, rest files, err error) {
	templates, rest = map[string]string{}, files{}
	err = filepath.Walk(folder, func(file string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		if info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%s: a symbolic link, which a package of the chart would not have", file)
		}
		name, _ := filepath.Rel(folder, file)
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		switch {
		case name == "Chart.yaml":
			chart, err = parseYAML(data)
		case name == "values.yaml":
			defaults, err = parseYAML(data)
		case strings.HasPrefix(name, "templates/"):
			templates[name] = string(data)
		default:
			rest[name] = data
		}
		return err
	})
	return
}

// The chart's metadata under the names that templates use: appVersion is .Chart.AppVersion.
func title(chart values) values {
	result := values{}
	for key, value := range chart {
		result[strings.ToUpper(key[:1])+key[1:]] = value
	}
	return result
}

func render(folder string, valueFiles []string, release values, known versions) (string, error) {
	chart, vals, templates, rest, err := readChart(folder)
	if err != nil {
		return "", err
	}
	for _, file := range valueFiles {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		over, err := parseYAML(text)
		if err != nil {
			return "", fmt.Errorf("%s: %v", file, err)
		}
		vals = merge(vals, over)
	}

	root := template.New("chart").Option("missingkey=zero")
	root.Funcs(functions(root))
	names := make([]string, 0, len(templates))
	for name, text := range templates {
		if _, err := root.New(name).Parse(text); err != nil {
			return "", err
		}
		names = append(names, name)
	}
	sort.Strings(names)

	var out strings.Builder
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		data := values{
			"Values": vals, "Release": release, "Chart": title(chart), "Files": rest,
			"Capabilities": values{
				"APIVersions": known,
				"KubeVersion": values{"Version": "v1.30.0", "Major": "1", "Minor": "30"},
			},
			"Template": values{"Name": name, "BasePath": "templates"},
		}
		var text strings.Builder
		if err := root.ExecuteTemplate(&text, name, data); err != nil {
			return "", err
		}
		// With missingkey=zero a map's missing value prints so; helm takes it out.
		body := strings.ReplaceAll(text.String(), "<no value>", "")
		if strings.TrimSpace(body) == "" || path.Base(name) == "NOTES.txt" {
			continue
		}
		for _, document := range strings.Split("\n"+body, "\n---\n") {
			if strings.TrimSpace(document) != "" {
				fmt.Fprintf(&out, "---\n# Source: %s\n%s\n", name, strings.Trim(document, "\n"))
			}
		}
	}
	return out.String(), nil
}

func main() {
	name := flag.String("release", "interference-exporter", "name of the release")
	namespace := flag.String("namespace", "monitoring", "namespace of the release")
	capabilities := flag.String("capabilities", "", "API versions that the cluster has")
	flag.Parse()
	if flag.NArg() < 1 {
		flag.Usage()
		os.Exit(2)
	}
	release := values{"Name": *name, "Namespace": *namespace, "Service": "Helm", "Revision": 1,
		"IsInstall": true, "IsUpgrade": false}
	text, err := render(flag.Arg(0), flag.Args()[1:], release, strings.Split(*capabilities, ","))
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}
