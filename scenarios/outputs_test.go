package scenarios

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sim/scenarios/result"
)

// TestOutputs compares the outputs that a scenario announces with the outputs of its runs, for each
// policy. A run has a timeline and paths if and only if the scenario gives no reason against
// them. It has no plan if there is such a reason.
func TestOutputs(t *testing.T) {
	const (
		training = `base = "gpt7b"
workload.microbatches = 2
policy.allocators = ["uniform", "prop-alloc", "sqrt-alloc", "iter-halve", "delta-fast", "delta-topo", "delta-joint", "delta-topo-milp", "delta-joint-milp"]
policy.milp.solver = "none"
`
		torus = `[workload]
kind = "all-to-all"
message = "16KB"
[fabric]
kind = "torus"
dims = [2, 2, 4]
link_rate = "50GB/s"
[policy]
routers = ["shortest", "wild-first", "dor"]
`
		scaleup = `base = "worked-example"
policy.planners = ["fast", "static-ring", "reconfigure-during", "reconfigure-during+"]
`
		gather = `base = "all-reduce"
fabric.gpus = 8
`
	)

	runsWithPlans := 0
	for _, c := range []struct{ text, set string }{
		{training, ""},
		{training, "policy.service=max-min"},
		{training, "policy.service=level-priority"},
		{smallJobs + `[policy]
multi_job_allocators = ["even-split", "aggregate", "surplus", "joint"]
`, ""},
		{smallJobs + `[policy]
multi_job_allocators = ["even-split", "aggregate", "surplus", "joint"]
allocator = "delta-topo"
`, ""},
		{torus, "engine.level=static"},
		{torus, "engine.level=packet"},
		{torus, "engine.level=flow"},
		{scaleup, ""},
		{scaleup, "engine.level=cost"},
		{scaleup, "policy.static.schedule=fluid"},
		{scaleup, "policy.static.schedule=paths"},
		{gather, ""},
		{gather, "engine.level=cost"},
	} {
		var set []string
		if c.set != "" {
			set = append(set, c.set)
		}
		s := mustParse(t, c.text, set...)
		for _, policy := range s.PolicyNames() {
			single := s.WithPolicy(policy)
			options := RunOptions{Workers: 2}
			if single.NoTraceReason() == "" {
				options.Timeline.Tasks = DefaultTimelineTasks
			}
			o, err := Run(context.Background(), single, options)
			if err != nil {
				t.Fatalf("%s %s: %v", policy, c.set, err)
			}
			hasTimeline := slices.ContainsFunc(o.Detail.Policies, func(p result.Simulation) bool {
				return len(p.Tracks)+len(p.Circuits) > 0 ||
					p.Timeline != nil && (len(p.Timeline.Tasks) > 0 || p.Timeline.Omitted != "")
			})
			if (single.NoTraceReason() == "") != hasTimeline {
				t.Errorf("%s %s: got a timeline: %v, want one unless there is a reason: %q",
					policy, c.set, hasTimeline, single.NoTraceReason())
			}
			if (single.NoRoutesReason() == "") != (len(o.Routes) > 0) {
				t.Errorf("%s %s: got %d path tables, want some unless there is a reason: %q",
					policy, c.set, len(o.Routes), single.NoRoutesReason())
			}
			plans := len(o.RateSchedules) + len(o.PlannerPlans)
			why, err := single.NoPlanReason()
			if err != nil || why != "" && plans > 0 {
				t.Errorf("%s %s: got %d plans, want none if there is a reason: %q, error %v",
					policy, c.set, plans, why, err)
			}
			if why == "" && plans > 0 {
				runsWithPlans++
			}
		}
	}

	if runsWithPlans < 15 {
		t.Errorf("got plans in %d runs, want at least 15", runsWithPlans)
	}
}

// TestInputs checks that Inputs returns all files from which a scenario is read: the scenario,
// its base and the files of its keys.
func TestInputs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.toml": `base = "b.toml"
[fabric]
kind = "graph"
file = "g.csv"
`,
		"b.toml": "base = \"fault\"\nname = \"b\"\n",
		"g.csv":  "0,1\n1,0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}

	got := InputFiles(filepath.Join(dir, "a.toml"), nil)
	for _, name := range []string{"a.toml", "b.toml", "g.csv"} {
		if !slices.Contains(got, filepath.Join(dir, name)) {
			t.Errorf("got inputs %[2]q, want %[1]s among them", name, got)
		}
	}
}
