package compare

import (
	"fmt"
	"strings"
	"testing"
)

// rowsOf returns a set with a row per line "NAME METRIC=VALUE ...".
func rowsOf(t *testing.T, name string, lines ...string) *Set {
	t.Helper()
	var rows []benchRow
	for _, line := range lines {
		fields := strings.Fields(line)
		row := benchRow{fields[0], map[string]float64{}}
		for _, field := range fields[1:] {
			metric, value, _ := strings.Cut(field, "=")
			var v float64
			if _, err := fmt.Sscan(value, &v); err != nil {
				t.Fatal(err)
			}
			row.metrics[metric] = v
		}
		rows = append(rows, row)
	}
	return set(t, name, benchText(rows))
}

// TestPairs: rows with different names are compared if the user pairs them, or if the sets have no
// row in common: then the best rows by a metric that does not depend on references are. Metrics
// that the new side does not have cannot fail. Errors name the rows of the sets, and each
// advice works.
func TestPairs(t *testing.T) {
	clos := rowsOf(t, "clos", "scenario=clos/policy=ecmp makespan_s=3 max_link_load=9", "scenario=clos/policy=spray makespan_s=2 max_link_load=8")
	pods := rowsOf(t, "pods", "scenario=pods/policy=uniform makespan_s=5 ports=1", "scenario=pods/policy=joint makespan_s=4 ports=1")
	swept := rowsOf(t, "swept", "scenario=pods/policy=joint/seed=1 makespan_s=4", "scenario=pods/policy=joint/seed=2 makespan_s=5")
	other := rowsOf(t, "other", "scenario=clos/policy=ecmp/seed=1 makespan_s=7", "scenario=clos/policy=spray/seed=1 makespan_s=6", "scenario=clos/policy=ecmp/seed=3 makespan_s=1")
	renamed := rowsOf(t, "renamed", "scenario=again/policy=ecmp makespan_s=3 max_link_load=9")
	for _, c := range []struct {
		old, new *Set
		pairs    []Pair
		want     string // rows with old and new makespan, or a part of the error
		pairing  string
	}{
		{clos, pods, []Pair{{"ecmp", "uniform"}}, "clos -> pods ecmp -> uniform: 3 5", ""},
		{clos, pods, []Pair{{"ecmp", "uniform"}, {"spray", "joint"}}, "clos -> pods ecmp -> uniform: 3 5; clos -> pods spray -> joint: 2 4", ""},
		{clos, pods, nil, "clos -> pods spray -> joint: 2 4", "no row is in both, so the best rows by makespan_s are compared: spray with joint; --pair OLD=NEW pairs others"},
		{swept, other, nil, "pods -> clos joint -> spray seed=1: 4 6", "joint with spray"},
		{clos, pods, []Pair{{"ecpm", "uniform"}}, `clos has no row "ecpm" to pair; did you mean ecmp?`, ""},
		{clos, pods, []Pair{{"ecmp", "none"}}, `pods has no row "none" to pair; it has uniform, joint`, ""},
		{swept, clos, []Pair{{"joint", "ecmp"}}, "no row in common", ""}, // two seeds against a run
		{clos, renamed, nil, "compare results of the same scenario, or try --ignore scenario", ""},
	} {
		found, err := Compare(c.old, c.new, Options{Pairs: c.pairs})
		got := fmt.Sprint(err)
		if err == nil {
			var rows []string
			for _, d := range found.Differences {
				if d.Metric == "makespan_s" {
					rows = append(rows, fmt.Sprintf("%s: %v %v", d.Row, *d.Old, *d.New))
				}
				if d.Fails && d.Mark == Missing {
					t.Errorf("%s and %s: %s fails because it is missing", c.old.Name, c.new.Name, d.Metric)
				}
			}
			got = strings.Join(rows, "; ")
			if !strings.Contains(found.Pairing, c.pairing) || (c.pairing == "") != (found.Pairing == "") || !strings.Contains(found.Summary(), found.Pairing) {
				t.Errorf("%s and %s: paired by %q, want %q", c.old.Name, c.new.Name, found.Pairing, c.pairing)
			}
		}
		if err == nil && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%s and %s, %v: got %s, want %s", c.old.Name, c.new.Name, c.pairs, got, c.want)
		}
	}
}

// TestFailingFirst: metrics and rows that fail are printed before others.
func TestFailingFirst(t *testing.T) {
	old := rowsOf(t, "a", "policy=p nct=2 makespan_s=5", "policy=q nct=2 makespan_s=5", "policy=r nct=1 makespan_s=1")
	now := rowsOf(t, "b", "policy=p nct=1 makespan_s=4", "policy=q nct=1 makespan_s=6")
	c, err := Compare(old, now, Options{})
	must(t, err)
	var b strings.Builder
	must(t, c.WriteText(&b, View{}))
	last := -1
	for _, part := range []string{"missing rows, which fail:\n  r\n", "\nmakespan_s, ", "\nq ", "\np ", "\nnct, "} {
		at := strings.Index(b.String(), part)
		if at <= last {
			t.Errorf("%q is not where it should be:\n%s", part, &b)
		}
		last = at
	}
}
