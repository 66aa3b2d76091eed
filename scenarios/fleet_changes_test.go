package scenarios

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// TestFleetChanges checks the changes that a fleet's report evaluates. They include every other
// value of its policies. Each change is accepted and changes the scenario.
func TestFleetChanges(t *testing.T) {
	const text = `[workload]
kind="fleet"
[fabric]
kind="pods-of-cubes"
`

	s, err := Parse("fleet.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range s.fleetChanges("reconfigurable") {
		all = append(all, c.overrides...)
		if changed, err := Parse("fleet.toml", []byte(text), c.overrides); err != nil ||
			string(changed.TOML()) == string(s.TOML()) {
			t.Errorf("%s: %v changes nothing, want another scenario; error %v",
				c.description, c.overrides, err)
		}
	}

	defaults := map[string]string{"policy.fault.ocs": s.Policy.Fleet.Fault.OCS,
		"policy.fault.machine":     s.Policy.Fleet.Fault.Machine,
		"policy.fault.maintenance": s.Policy.Fleet.Fault.Maintenance,
		"policy.queue.discipline":  s.Policy.Fleet.Queue.Discipline}
	for _, table := range s.schema().Tables {
		for _, k := range table.Keys {
			key := table.Path + "." + k.Name
			for _, v := range k.Choices() {
				current, ok := defaults[key]
				if ok && (v != current) != slices.Contains(all, key+"="+v) {
					t.Errorf("%s = %s: got a change to %s: %t, want one to each other value",
						key, current, v, v == current)
				}
			}
		}
	}

	for i := range placements {
		if name := placements[i].name; (name != "reconfigurable") != slices.Contains(all,
			fmt.Sprintf("policy.placements=[%q]", name)) {
			t.Errorf("got a change to placement %s: %t, want one to each placement except "+
				"reconfigurable", name, name == "reconfigurable")
		}
	}
}

// TestGains checks the gain of each change: the mean and the standard error, over seeds, of the
// work that it adds. Reference: separate runs of the changed and the unchanged scenario. All
// gains are compared with testdata/gains.txt.
func TestGains(t *testing.T) {
	t.Parallel()
	const text = `seed=3
[fabric]
kind="pods-of-cubes"
[workload]
kind="fleet"
days=3
warm_up=1
load=1.5
[policy]
placements=["reconfigurable", "folding"]
` + failingFleet

	s, err := Parse("fleet.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	gains, seeds, err := s.Gains(t.Context(), "reconfigurable")
	if err != nil {
		t.Fatal(err)
	}
	changes := s.fleetChanges("reconfigurable")
	if seeds != maxGainSeeds || len(gains) != len(changes) {
		t.Fatalf("got %d gains of %d seeds, want %d of %d",
			len(gains), seeds, len(changes), maxGainSeeds)
	}
	work := func(seed int, set ...string) float64 {
		one, err := Parse("fleet.toml", []byte(text),
			slices.Concat([]string{`policy.placements=["reconfigurable"]`}, set,
				[]string{fmt.Sprint("seed=", seed)}))
		if err != nil {
			t.Fatal(err)
		}
		o, err := Run(t.Context(), one, RunOptions{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		return o.Document.Rows[0].Metrics["work_done"]
	}

	var lines strings.Builder
	for i, g := range gains {
		fmt.Fprintf(&lines, "%s (%s): %.9g, %.9g %s\n", g.Change,
			strings.Join(changes[i].overrides, " "), g.Mean, g.SE, g.Failed)
		if i%12 != 0 { // check some changes, as each takes many runs
			continue
		}

		// Mean and standard error of the differences to runs with the same seeds.
		var differences []float64
		for seed := range seeds {
			differences = append(differences, work(3+seed, changes[i].overrides...)-work(3+seed))
		}
		mean, squares := 0.0, 0.0
		for _, v := range differences {
			mean += v / float64(seeds)
		}
		for _, v := range differences {
			squares += (v - mean) * (v - mean)
		}
		if want := math.Sqrt(squares / float64(seeds*(seeds-1))); math.Abs(g.Mean-mean) > 1e-12 ||
			math.Abs(g.SE-want) > 1e-12 || g.Change != changes[i].description {
			t.Errorf("%s: got a gain of %g with standard error %g, want %g and %g",
				g.Change, g.Mean, g.SE, mean, want)
		}
	}

	compareText(t, filepath.Join("testdata", "gains.txt"), lines.String())
	if mean, se := pairedDifference([]float64{3}, []float64{1}); mean != 2 || se != 0 {
		t.Errorf("one pair: got mean %g and standard error %g, want 2 and 0", mean, se)
	}
}

// TestFleetSeeds compares a fleet with several seeds with one run per seed: metrics are the means
// of the runs, with the standard errors of independent samples. The number of goroutines changes
// nothing.
func TestFleetSeeds(t *testing.T) {
	const text = `seed = 7
[workload]
kind = "fleet"
days = 8
warm_up = 1
[fabric]
kind = "pods-of-cubes"
[policy]
placements = ["static-best-fit", "reconfigurable"]
`
	const seeds = 4
	document := func(workers int, set ...string) result.Document {
		t.Helper()
		s, err := Parse("fleet.toml", []byte(text), set)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Run(t.Context(), s, RunOptions{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		return o.Document
	}

	all := document(1, fmt.Sprintf("workload.seeds=%d", seeds))
	if again := document(3, fmt.Sprintf("workload.seeds=%d", seeds)); !reflect.DeepEqual(all, again) {
		t.Error("three goroutines give other results than one")
	}
	var runs []result.Document
	for k := range seeds {
		runs = append(runs, document(1, fmt.Sprintf("seed=%d", 7+k)))
	}
	for i, row := range all.Rows {
		for name := range runs[0].Rows[i].Metrics {
			mean, squares := 0.0, 0.0
			for _, run := range runs {
				mean += run.Rows[i].Metrics[name] / seeds
			}
			for _, run := range runs {
				squares += math.Pow(run.Rows[i].Metrics[name]-mean, 2)
			}
			se := math.Sqrt(squares / (seeds - 1) / seeds)
			got, gotSE := row.Metrics[name], row.Metrics[result.StandardErrorPrefix+name]
			if math.Abs(got-mean) > 1e-9*math.Abs(mean) || math.Abs(gotSE-se) > 1e-9*math.Abs(mean) {
				t.Errorf("%s: %s is %g ± %g, want %g ± %g", row.Policy, name, got, gotSE, mean, se)
			}
		}
	}
	if row := all.Row("reconfigurable"); row.Metrics["se_goodput"] <= 0 {
		t.Error("the goodput is equal for all seeds")
	}
}
