package result

import (
	"slices"
	"strings"
	"testing"
)

func TestMetricTable(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics {
		if seen[m.Name] || m.Words == "" || m.Of == "" || m.Better != "" && m.Better != Lower && m.Better != Higher {
			t.Errorf("row %+v: twice, without words, or better in no direction", m)
		}
		seen[m.Name] = true
		for _, name := range append(slices.Clone(m.HiddenBy), m.Needs, m.Secondary) {
			if _, known := Find(name); name != "" && !known {
				t.Errorf("%s: there is no %s", m.Name, name)
			}
		}
	}
	ranks := MainMetrics()
	for i, m := range ranks {
		if m.Main != i+1 {
			t.Errorf("%s has rank %d, place %d", m.Name, m.Main, i+1)
		}
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, better, unit, words string
		known                     bool
	}{
		{"nct", Lower, "", "NCT", true},
		{"job.a.b.nct", Lower, "", "NCT of a.b", true},
		{"job.a.iterations", "", "", "iterations measured on shared circuits of a", true},
		{"reference.makespan_s", Lower, "s", "iteration time on the ideal fabric", true},
		{"dropped_no_route", Lower, "", "dropped no route", true},
		{"bound_nct", "", "", "bound nct", true},
		{"lender_port_ratio", "", "%", "lender port ratio", true},
		{"makespan_s / fluid_s", Lower, "", "iteration time / completion time of the traffic as a fluid", true},
		{"seen_bytes_per_s", Higher, "B/s", "seen", false},
		{"waste_bytes", Lower, "B", "waste", false},
	} {
		m, known := Find(c.name)
		if m.Better != c.better || m.Unit != c.unit || m.Words != c.words || known != c.known {
			t.Errorf("%s: %+v, known %t; want %+v", c.name, m, known, c)
		}
	}
}

func TestDerive(t *testing.T) {
	row := map[string]float64{"injected": 1, "fluid_s": 2, "completion_s": 5}
	if all := Derive(row, nil); all["over_fluid"] != 2.5 || len(row) != 3 {
		t.Errorf("%v of %v", all, row)
	}
	if all := Derive(map[string]float64{"fluid_s": 2, "completion_s": 5}, nil); len(all) != 2 {
		t.Errorf("%v without packets", all)
	}
}

func TestGapOf(t *testing.T) {
	for want, row := range map[string]string{
		"makespan_s":    "gap makespan_s bound_makespan_s",
		"slots":         "gap slots completion_s bound_slots_relay",
		"completion_s":  "gap completion_s max_link_load bound_completion_s bound_max_link_load",
		"max_link_load": "gap completion_s max_link_load bound_max_link_load",
		"":              "makespan_s bound_makespan_s",
	} {
		r := Row{Metrics: map[string]float64{}}
		for _, name := range strings.Fields(row) {
			r.Metrics[name] = 1
		}
		if m, ok := r.GapOf(nil); m.Name != want || ok != (want != "") {
			t.Errorf("the gap of %s is of %q", row, m.Name)
		}
	}
}
