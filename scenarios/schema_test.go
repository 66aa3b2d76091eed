package scenarios

import (
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

func allTables() []*table {
	tables := []*table{general()}
	for _, k := range kinds() {
		for i := range k.tables {
			tables = append(tables, &k.tables[i])
		}
	}
	return tables
}

// leaves adds the addresses of v's fields that are no structs.
func leaves(v reflect.Value, path string, found map[uintptr]string) {
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			leaves(v.Field(i), path+"."+v.Type().Field(i).Name, found)
		}
		return
	}
	found[v.Addr().Pointer()] = path
}

// Every field of a scenario has a key, and no two keys share one but model and
// the architecture's name.
func TestEveryFieldHasAKey(t *testing.T) {
	s := &Scenario{Replicas: []Replica{{}}, Jobs: []Job{{}}}
	missing := map[uintptr]string{}
	leaves(reflect.ValueOf(s).Elem(), "Scenario", missing)
	leaves(reflect.ValueOf(&s.Replicas[0]).Elem(), "Replica", missing)
	leaves(reflect.ValueOf(&s.Jobs[0]).Elem(), "Job", missing)
	for _, whole := range []any{&s.Replicas, &s.Jobs, &s.Jobs[0].Scenario} { // not keys themselves
		delete(missing, reflect.ValueOf(whole).Pointer())
	}
	taken := map[uintptr]string{}
	apart := func(path string) string { return strings.Replace(path, "workload.experts.", "workload.", 1) } // of different kinds
	for _, tab := range allTables() {
		for i := range tab.keys {
			k := &tab.keys[i]
			at := reflect.ValueOf(k.field(s, 0)).Pointer()
			other, ok := taken[at]
			if ok && other != "workload.model" && k.name != "model" && apart(other) != apart(tab.path+"."+k.name) { // kinds may have the same keys
				t.Errorf("%s.%s sets the field of %s", tab.path, k.name, other)
			}
			taken[at] = tab.path + "." + k.name
			delete(missing, at)
		}
	}
	for _, name := range missing {
		t.Errorf("no key sets %s", name)
	}
}

// Keys are documented, their defaults are allowed, and what they depend on
// exists.
func TestSchema(t *testing.T) {
	s := &Scenario{Replicas: []Replica{{}}, Jobs: []Job{{}}}
	tables := allTables()
	exists := func(path string) bool {
		parent, name := cutLast(path)
		return hasKey(tables, parent, name)
	}
	for _, tab := range tables {
		if tab.doc == "" {
			t.Errorf("[%s] has no doc", tab.path)
		}
		for i := range tab.keys {
			k := &tab.keys[i]
			at := tab.path + "." + k.name
			if k.doc == "" || strings.ContainsAny(k.doc, "|\n") {
				t.Errorf("%s: doc %q", at, k.doc)
			}
			for _, w := range []*condition{tab.when, k.when} {
				if w == nil {
					continue
				}
				for _, dep := range w.keys {
					if !exists(dep) {
						t.Errorf("%s depends on %s, which does not exist", at, dep)
					}
				}
			}
			if !strings.HasPrefix(k.fillDoc, "`") {
				continue
			}
			k.fill(s, 0)
			var m map[string]any
			if _, err := toml.Decode("v = "+strings.Trim(k.fillDoc, "`"), &m); err != nil {
				t.Errorf("%s: default %s: %v", at, k.fillDoc, err)
			} else if w := k.set(k.field(s, 0), m["v"]); w != nil {
				t.Errorf("%s: default %s: %v", at, k.fillDoc, w)
			}
		}
	}
	for _, path := range append(shape, "policy.delta-fast.population", "workload.replicas", "workload.flows", "workload.schedule") {
		if !exists(path) {
			t.Errorf("checks depend on %s, which does not exist", path)
		}
	}
}

func TestReference(t *testing.T) {
	var b strings.Builder
	if err := Reference(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `seed` | whole number that is not negative | `1` | decides every random choice |",
		"| `port_bandwidth` | a rate above 0bps and up to 10Pbps | required | rate of an optical port, each way |",
		"| `time_limit` | a time | `\"0s\"` | ",
		"### `[[replica]]`",
		"- `calibrated`: comes nearest",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
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
			t.Errorf("not as many columns as the head: %s", line)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"port_bandwidth", "ports_per_pod", "kind", "tp", "pp", "seed"}
	for text, want := range map[string]string{
		"port_bandwith": "port_bandwidth", "prot_bandwidth": "port_bandwidth", "PORT_BANDWIDTH": "port_bandwidth",
		"ports_pod": "", "ports_per_pods": "ports_per_pod", "sede": "seed", "dp": "", "": "", "kidn": "kind", "bandwidth": "",
	} {
		if got := nearest(text, known); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
