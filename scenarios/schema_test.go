package scenarios

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sim/scenarios/assembly/input"
	"sim/scenarios/schema"

	"github.com/BurntSushi/toml"
)

// allTables returns the tables of keys of all forms of workloads and fabrics.
func allTables() []*schema.Table {
	s := &Scenario{Replicas: []input.Replica{{}}, Jobs: []Job{{}}}
	tables := formSchema(s, forOneJob).Tables
	for _, k := range allForms() {
		tables = append(tables, formSchema(s, forOneJob, k).Tables[1:]...)
	}
	return tables
}

// collectFields adds the address and the path of each field of v that is not a struct to found.
func collectFields(v reflect.Value, path string, found map[uintptr]string) {
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			collectFields(v.Field(i), path+"."+v.Type().Field(i).Name, found)
		}
		return
	}
	found[v.Addr().Pointer()] = path
}

// TestEveryFieldHasAKey checks that a key sets each field of a scenario, and that no two keys
// of a scenario set the same field.
func TestEveryFieldHasAKey(t *testing.T) {
	s := &Scenario{Replicas: []input.Replica{{}}, Jobs: []Job{{}}}
	missing := map[uintptr]string{}
	collectFields(reflect.ValueOf(s).Elem(), "Scenario", missing)
	collectFields(reflect.ValueOf(&s.Replicas[0]).Elem(), "Replica", missing)
	collectFields(reflect.ValueOf(&s.Jobs[0]).Elem(), "Job", missing)
	for _, excluded := range []any{&s.Replicas, &s.Jobs, &s.Jobs[0].Scenario, &s.Tiers, &s.Workload.Patterns, &s.Workload.Programs, &s.Fabric.Generators, &s.Fabric.Links.InnerTiers, &s.Fabric.Links.KindName, &s.Fabric.Links.Summary, &s.Fabric.HostGPUs, &s.Workload.Measured, &s.Workload.HasCopySync, &s.Workload.Trace.Job, &s.Workload.Trace.HoldsStage, &s.Workload.StepScenarios,
		&s.files, &s.Deprecated, &s.LeftOut, &s.Policy.Optimised.Cache, &s.Policy.MILP.Export,
		&s.Profile, &s.Workload.Spec.GPU, &s.Policy.Calls.Options.Machine} { // not set by a key
		delete(missing, reflect.ValueOf(excluded).Pointer())
	}
	for _, k := range allForms() {
		keyOf := map[uintptr]string{}
		for _, tab := range formSchema(s, forOneJob, k).Tables {
			for _, key := range tab.Keys {
				field := key.Field(0)
				address := field.Addr().Pointer()
				if other, ok := keyOf[address]; ok {
					t.Errorf("%s.%s sets the same field as %s", tab.Path, key.Name, other)
				}
				if field.Type() == reflect.TypeFor[string]() || missing[address] != "" {
					keyOf[address] = tab.Path + "." + key.Name
				}
				delete(missing, address)
			}
		}
	}

	for _, name := range missing {
		if !strings.HasSuffix(name, "._") {
			t.Errorf("no key sets field %s, want one", name)
		}
	}
}

// TestSchema checks the tables of keys. All keys have documentation, their defaults are
// accepted values, and the keys on which they depend exist.
func TestSchema(t *testing.T) {
	tables := allTables()
	exists := func(path string) bool {
		parent, name := schema.CutLast(path)
		return slices.ContainsFunc(tables,
			func(t *schema.Table) bool { return t.Path == parent && t.Find(name) != nil })
	}

	for _, tab := range tables {
		if tab.Doc == "" {
			t.Errorf("table [%s] has no documentation", tab.Path)
		}
		for _, k := range tab.Keys {
			key := tab.Path + "." + k.Name
			if k.Doc == "" || strings.ContainsAny(k.Doc, "|\n") {
				t.Errorf("%s: got documentation %q, want one line without |", key, k.Doc)
			}
			for _, w := range []*schema.Condition{tab.When, k.UseCondition()} {
				if w == nil {
					continue
				}
				for _, dep := range w.Keys {
					if !exists(dep) {
						t.Errorf("%s depends on %s, which does not exist", key, dep)
					}
				}
			}

			if !strings.HasPrefix(k.DefaultText, "`") {
				continue
			}
			var m map[string]any
			if _, err := toml.Decode("v = "+strings.Trim(k.DefaultText, "`"), &m); err != nil {
				t.Errorf("%s: default %s is not accepted: %v", key, k.DefaultText, err)
			} else if w := k.Set(0, m["v"]); w != nil {
				t.Errorf("%s: default %s is not accepted: %v", key, k.DefaultText, w)
			}
		}
	}

	for _, path := range append(podShapeKeys, "policy.delta-fast.population", "workload.replicas", "workload.flows", "workload.schedule") {
		if !exists(path) {
			t.Errorf("checks depend on %s, which does not exist", path)
		}
	}
}

// TestReference checks some lines of the reference of keys, and that all rows of a table have
// the same number of columns.
func TestReference(t *testing.T) {
	var b strings.Builder
	if err := WriteReference(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `seed` | whole number that is not negative | `1` | seed of all random choices |",
		"| `port_bandwidth` | a rate above 0bps and up to 10Pbps | required | rate of an optical port in each direction |",
		"| `time_limit` | a time | `\"0s\"` | ",
		"### `[[replica]]`",
		"- `calibrated`: is closest",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the reference lacks %q", want)
		}
	}

	columns := 0
	for line := range strings.Lines(b.String()) {
		n := strings.Count(line, "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = n
		case n != columns:
			t.Errorf("row with another number of columns than its table: %s", line)
		}
	}
}

// findMismatch returns the path of a value that a JSON Schema does not allow, "" if v is valid.
// It supports the keywords that JSONSchema writes: anyOf, enum, properties, items and pattern.
func findMismatch(node map[string]any, v any, path string) string {
	if all, ok := node["anyOf"].([]any); ok {
		first := ""
		for i, one := range all {
			mismatch := findMismatch(one.(map[string]any), v, path)
			if mismatch == "" {
				return ""
			}
			if i == 0 {
				first = mismatch
			}
		}

		return first
	}

	if enum, ok := node["enum"].([]any); ok && !slices.Contains(enum, v) {
		return path
	}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			properties, closed := node["properties"].(map[string]any)
			below, ok := properties[name].(map[string]any)
			if !ok && closed {
				return path + "." + name
			}
			if mismatch := findMismatch(below, inner, path+"."+name); mismatch != "" {
				return mismatch
			}
		}
	case []any:
		items, _ := node["items"].(map[string]any)
		for _, inner := range v {
			if mismatch := findMismatch(items, inner, path); mismatch != "" {
				return mismatch
			}
		}
	case string:
		if pattern, ok := node["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(v) {
			return path
		}
	}

	return ""
}

// TestJSONSchema checks that all built-in scenarios and studies are valid by the JSON Schema,
// and that scenarios with wrong keys or values are not.
func TestJSONSchema(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSONSchema(&b); err != nil {
		t.Fatal(err)
	}
	var jsonSchema map[string]any
	if err := json.Unmarshal(b.Bytes(), &jsonSchema); err != nil {
		t.Fatal(err)
	}
	decode := func(data []byte) any {
		root, _, wrong := schema.Decode("x.toml", data)
		text, err := json.Marshal(root)
		if wrong != nil || err != nil {
			t.Fatal(wrong, err)
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}

	for _, name := range append(EmbeddedScenarios(), EmbeddedStudies()...) {
		_, data, _ := openFile(name)
		if mismatch := findMismatch(jsonSchema, decode(data), ""); mismatch != "" {
			t.Errorf("%s: got a mismatch at %s, want none", name, mismatch)
		}
	}

	for text, want := range map[string]string{
		"[fabric]\nkind = \"torus\"\ndimms = [3]": ".fabric", "[workload]\nkind = \"train\"": ".workload",
		"seeed = 3": ".seeed", "[engine]\nuntil = \"3\"": ".engine.until",
		"[[job]]\nname = \"a\"\nport = 3": ".job.port",
	} {
		if mismatch := findMismatch(jsonSchema, decode([]byte(text)), ""); !strings.HasPrefix(mismatch, want) {
			t.Errorf("%s: got a mismatch at %q, want %s", text, mismatch, want)
		}
	}
}
