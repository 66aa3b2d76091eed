package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sim/policies/reconfigure/plan"
)

// longTests enables the tests and cases that take minutes.
var longTests = flag.Bool("long", false, "also run the tests that take minutes")

// smallDomain is an all-to-all of 8 GPUs in a scale-up domain that reconfigures.
const smallDomain = `
[workload]
kind = "all-to-all"
message = "8MB"
[fabric]
kind = "scaleup"
gpus = 8
reconfiguration_delay = "283500ns"
`

// allPlanners is an override that compares all planners of an all-to-all except "imported",
// which reads a file.
var allPlanners = `policy.planners=["reconfigure-during", "reconfigure-during+", "fast", "mixnet", "topoopt", "directconnect-kautz", ` +
	`"directconnect-circulant", "static-ring", "bruck", "spreadout"]`

// TestWorkedExample checks the paper's example (Sec. 2.3) with slots of T = 40.5 us. The
// planners take 30 T, 35 T and 56 T, also at level packet.
func TestWorkedExample(t *testing.T) {
	o := runText(t, smallDomain, "workload.message=4MB", "engine.level=packet",
		`policy.planners=["reconfigure-during", "static-ring", "spreadout"]`)
	for i, slots := range []float64{30, 35, 56} {
		m := o.Document.Rows[i].Metrics
		if want := slots * 40.5e-6; math.Abs(m["completion_s"]-want) > 1e-15 ||
			m["synchronised_s"] != m["completion_s"] || m["free_running_s"] > m["completion_s"] {
			t.Errorf("%s: got %v, want %g s", o.Document.Rows[i].Policy, m, want)
		}
	}
}

// TestFluidBounds checks fluid schedules, in which many chunks share a link. They have a lower
// bound of their own, at most the bound of plans. A fluid schedule is not marked best in a
// comparison with plans, so that the best row respects the bound of plans.
func TestFluidBounds(t *testing.T) {
	below := 0
	for _, set := range [][]string{
		{"workload.sizes=zipf", "fabric.switches=3"},
		{"workload.sizes=random", "fabric.switches=2", "fabric.gpus=7"},
		{"workload.sizes=zipf", "fabric.switches=3", "fabric.gpus=6", "workload.chunk=32MB",
			"workload.message=10MB", "seed=461"},
		{"fabric.switches=2", "fabric.reconfiguration_mode=independent"},
	} {
		o := runText(t, smallDomain, append(set, allPlanners)...)
		bound := o.Document.Reference["bound_completion_s"]
		fluid, fastest := 0, math.Inf(1) // fluid schedules; minimum completion time of plans
		for _, r := range o.Document.Rows {
			if !r.Fluid() {
				fastest = min(fastest, r.Metrics["completion_s"])
			}
			m, lowerBound := r.Metrics, bound
			if r.Fluid() {
				fluid++
				if lowerBound = m["bound_completion_fluid_s"]; lowerBound > bound ||
					r.Labels["gap_completion_model"] != plan.FluidModel ||
					r.Labels["gap_model"] != plan.FluidModel {
					t.Errorf("%v, %s: got bound %g of a fluid schedule, want at most %g of plans "+
						"and labels of the fluid model: %v",
						set, r.Policy, lowerBound, bound, r.Labels)
				}
				if m["completion_s"] < bound {
					below++
				}
			}

			if math.Abs(m["completion_s"]/lowerBound-1-m["gap_completion"]) > 1e-9 ||
				m["gap_completion"] < 0 {
				t.Errorf("%v, %s: got %g s, bound %g s and gap %g, want a gap of their ratio "+
					"minus 1", set, r.Policy, m["completion_s"], lowerBound, m["gap_completion"])
			}
		}

		best := o.Document.Best("completion_s")
		if r := o.Document.Rows[best]; fluid == 0 || r.Fluid() ||
			r.Metrics["completion_s"] != fastest || fastest < bound {
			t.Errorf("%v: got %d fluid schedules and best row %s with %g s, want some and the "+
				"fastest plan, at least the bound %g s",
				set, fluid, r.Policy, r.Metrics["completion_s"], bound)
		}
	}

	if below == 0 {
		t.Error("got no fluid schedule below the bound of plans, want some")
	}
}

// TestPlansOfAllPlanners checks the plans of all planners, for equal and unequal sizes. The
// packet simulation of a plan takes its computed time. Plans respect their bounds and are read
// back from JSON. reconfigure-during+ is at least as fast as the others. If it is present, an
// independent checker in another language verifies all plans.
func TestPlansOfAllPlanners(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, set := range [][]string{
		{}, {"fabric.switches=2"}, {"fabric.switches=3", "workload.sizes=random"},
		{"fabric.gpus=7", "fabric.switches=2", "workload.sizes=zipf"},
		{"fabric.gpus=11", "workload.sizes=random", "fabric.reconfiguration_delay=1ms"},
		{"fabric.gpus=16", "fabric.switches=2", "fabric.reconfiguration_delay=40us"},
		{"fabric.gpus=16", "policy.reconfigure-during+.relay=false"},
		{"fabric.gpus=12", "fabric.switches=2", "fabric.reconfiguration_mode=independent"},
		{"fabric.gpus=2"}, {"fabric.gpus=9", "fabric.switches=8", "workload.sizes=zipf"},
	} {
		o := runText(t, smallDomain,
			append(set, allPlanners, "policy.static.schedule=simulated", "engine.level=packet")...)

		best := math.Inf(1) // of the planners that reconfigure-during+ must not exceed
		for _, r := range o.Document.Rows {
			m := r.Metrics
			if m["synchronised_s"] != m["completion_s"] && r.Labels["reconfigure"] == "" {
				t.Errorf("%v, %s: got %g s when simulated slot by slot, want the computed %g s",
					set, r.Policy, m["synchronised_s"], m["completion_s"])
			}
			if above, ok := m["gap_completion"]; m["gap"] < 0 || !ok || above < 0 ||
				math.Abs(m["completion_s"]/o.Document.Reference["bound_completion_s"]-1-above) > 1e-9 {
				t.Errorf("%v, %s: got %v, want gaps of at least 0 from the bounds %v",
					set, r.Policy, m, o.Document.Reference)
			}

			if r.Policy != "reconfigure-during+" &&
				(r.Policy != "bruck" ||
					!slices.Contains(set, "policy.reconfigure-during+.relay=false")) {
				best = min(best, m["completion_s"])
			}
		}

		if plus := o.Document.Rows[1].Metrics["completion_s"]; plus > best {
			t.Errorf("%v: reconfigure-during+ takes %g s, want at most %g s as another planner",
				set, plus, best)
		}
		var b bytes.Buffer
		if err := o.WritePlans(&b); err != nil {
			t.Fatal(err)
		}
		if back, err := plan.ReadJSON(bytes.NewReader(b.Bytes()), "plans"); err != nil ||
			len(back) != len(o.Document.Rows) {
			t.Fatalf("%v: got %d of %d plans when read back, error %v",
				set, len(back), len(o.Document.Rows), err)
		}

		files = append(files, filepath.Join(dir, fmt.Sprintf("%d.json", len(files))))
		if err := os.WriteFile(files[len(files)-1], b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}

	// Verify all plans by a program that shares no code with this one.
	const checker = "../../shared/tools/check_schedule.py"
	if _, err := os.Stat(checker); err != nil {
		t.Skip("the independent checker is missing: " + checker)
	}
	if out, err := exec.Command("python3", append([]string{checker}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("the independent checker returned %v:\n%s", err, out)
	}
}

// TestImportedPlan checks that a plan that was written is the same when imported. Invalid plans
// are rejected in one line, which names the transmission.
func TestImportedPlan(t *testing.T) {
	o := runText(t, smallDomain, `policy.planners=["reconfigure-during"]`)
	var b bytes.Buffer
	if err := o.WritePlans(&b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plans.json")
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	set := []string{`policy.planners=["imported"]`, "policy.imported.file=" + file}
	again := runText(t, smallDomain, set...)
	for _, name := range []string{"completion_s", "slots", "reconfigurations", "buffer_chunks"} {
		if g, w := again.Document.Rows[0].Metrics[name], o.Document.Rows[0].Metrics[name]; g != w {
			t.Errorf("%s: got %g when imported, want %g", name, g, w)
		}
	}

	_, err := Parse("scaleup.toml", []byte(smallDomain), append(set, "fabric.gpus=9"))
	checkError(t, err, "9 GPUs", "a plan of 8 GPUs in a domain of 9")
	var plans []map[string]any
	if err := json.Unmarshal(b.Bytes(), &plans); err != nil {
		t.Fatal(err)
	}
	tx := plans[0]["tx"].([]any)
	plans[0]["tx"] = tx[:len(tx)-1]
	short, err := json.Marshal(plans)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{string(short), "ends at GPU"},
		{strings.Replace(b.String(), `"k":1`, `"k":0`, 1), "degree"},
		{b.String()[:b.Len()/2], "ends at byte"},
		{strings.Replace(b.String(), `"tx"`, `"txs"`, 1), "a member of unknown name"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Parse("scaleup.toml", []byte(smallDomain), set)
		checkError(t, err, c.want, c.text)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want one line", err)
		}
	}
}

// TestImportedIndependentSwitches checks the same for a plan whose switches reconfigure
// independently. It is accepted for the reconfiguration delay of its creation and shorter ones,
// and only if the fabric permits independent switches.
func TestImportedIndependentSwitches(t *testing.T) {
	settings := []string{"fabric.gpus=32", "fabric.switches=2", "workload.message=4MB",
		"fabric.reconfiguration_mode=independent", "engine.level=packet",
		"fabric.reconfiguration_delay=200us"}
	o := runText(t, smallDomain, append(settings, `policy.planners=["reconfigure-during+"]`)...)
	written := o.Document.Rows[0]
	if written.Labels["reconfigure"] != "independent" {
		t.Fatalf("got row %v, want independent switches", written)
	}
	var b bytes.Buffer
	if err := o.WritePlans(&b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plans.json")
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	settings = append(settings, `policy.planners=["imported"]`, "policy.imported.file="+file)
	imported := runText(t, smallDomain, settings...).Document.Rows[0]
	if imported.Metrics["completion_s"] != written.Metrics["synchronised_s"] ||
		imported.Metrics["synchronised_s"] != written.Metrics["synchronised_s"] ||
		imported.Metrics["reconfigurations"] != written.Metrics["reconfigurations"] {
		t.Errorf("got %v when imported, want %v", imported.Metrics, written.Metrics)
	}

	for _, set := range []string{"fabric.reconfiguration_mode=together", "fabric.reconfiguration_delay=2ms"} {
		_, err := Parse("scaleup.toml", []byte(smallDomain), append(settings, set))
		checkError(t, err, "require independent switches", set)
	}
}

// TestPlanningIsCancelled checks that a cancelled context ends the decision of a planner.
func TestPlanningIsCancelled(t *testing.T) {
	s, err := Parse("scaleup.toml", []byte(smallDomain),
		[]string{"fabric.gpus=32", "workload.sizes=random", "engine.level=cost",
			`policy.planners=["reconfigure-during+"]`})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancelAt := func(policy string, _, _ int) { // after Run has checked its context
		if policy == "reconfigure-during+" {
			cancel()
		}
	}
	if _, err := Run(ctx, s, RunOptions{Workers: 1, Progress: cancelAt}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled", err)
	}
}

// TestScaleUpDiagnostics checks that invalid scale-up scenarios are rejected with a diagnostic
// that names the key.
func TestScaleUpDiagnostics(t *testing.T) {
	dir := t.TempDir()
	csv := func(text string) string {
		name := filepath.Join(dir, fmt.Sprintf("%d.csv", len(text)))
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return "workload.sizes=" + name
	}

	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"fabric.gpus=1"}, "fabric.gpus: 1 is out of bounds"},
		{[]string{"fabric.switches=8"}, "8 switches for 8 GPUs"},
		{[]string{"fabric.switches=0"}, "fabric.switches: 0 is out of bounds"},
		{[]string{"fabric.reconfiguration_delay=-1ms"}, "negative"},
		{[]string{"workload.sizes=uniforn"}, "did you mean uniform?"},
		{[]string{csv("0,1\n2,0,3\n")}, "want 2"},
		{[]string{csv("0,-1MB\n2MB,0\n")}, "negative"},
		{[]string{csv("0,1\n2,0\n"), "fabric.gpus=2"}, ""},
		{[]string{csv("\uFEFF0,1\n2,0\n"), "fabric.gpus=2"}, ""},
		{[]string{csv("\uFEFF# sizes\n0,1\n2,0\n"), "fabric.gpus=2"}, ""},
		{[]string{csv("0,1 \n2,0\n"), "fabric.gpus=3"}, "2 rows for 3 GPUs"},
		{[]string{"workload.sizes=matrix", "workload.matrix=[[0, 1], [1]]"}, "row 2 has 1 numbers"},
		{[]string{"workload.sizes=matrix", "workload.matrix=[[0, -1], [1, 0]]"}, "-1"},
		{[]string{"workload.sizes=matrix", "workload.matrix=[[1, 1], [1, 0]]", "fabric.gpus=2"},
			"sends itself"},
		{[]string{"workload.sizes=matrix", "workload.matrix=[[0, 0], [0, 0]]", "fabric.gpus=2"},
			"nothing to send"},
		{[]string{"workload.chunk=0B"}, "workload.chunk"},
		{[]string{"workload.chunk=1B", "workload.message=1TB"}, "chunks in all"},
		{[]string{"workload.message=0B"}, "nothing to send"},
		{[]string{"fabric.reconfiguration_delay=1000h"}, "which is too long to simulate"},
		{[]string{"fabric.link_rate=1bps"}, "which is too long to simulate"},
		{[]string{"fabric.gpus=64", "workload.message=60GB"}, "lists one by one"},
		{[]string{"workload.kind=all-reduce", "workload.message=9000PB"},
			"workload.message: the collective may take longer than simulated time"},
		{[]string{"workload.kind=all-gather", "fabric.link_latency=1000h"},
			"fabric.link_latency: the collective may take longer"},
		{[]string{"workload.kind=all-gather", "fabric.reconfiguration_delay=1000h"},
			"fabric.reconfiguration_delay: the collective may take longer"},
		{[]string{"workload.kind=all-reduce", "engine.level=packet", "fabric.link_rate=7kbps"},
			"fabric.link_rate: 7kbps is too slow for packets"},
		{[]string{"engine.level=packet", "fabric.link_rate=7999bps", "workload.message=64KB",
			"workload.chunk=64KB"}, "is too slow for packets; write at least 8kbps"},
		{[]string{"engine.level=packet", "workload.chunk=300MB"},
			"workload.chunk: packets of 300MB; write at most 268435456 B"},
		{[]string{"fabric.reconfiguration_mode="}, `fabric.reconfiguration_mode: "" is not known`},
		{[]string{"workload.kind=all-reduce", "workload.message=7B"}, "does not give each of 8 GPUs a byte"},
		{[]string{"policy.reconfigure-during.base=genkautz"}, "connects only pairs of GPUs"},
		{[]string{"workload.kind=hotspot"},
			`fabric.reconfiguration_delay: is not used by fabric "scaleup" whose switches keep a topology; leave it out`},
		{[]string{"fabric.topology=fast"}, `fabric.topology: "fast" is not known; choose "topoopt"`},
		{[]string{"fabric.queue=credit"},
			`fabric.queue: is not used by fabric "scaleup" whose switches reconfigure; leave it out`},
		{[]string{"workload.kind=all-reduce", `policy.planners=["fast"]`}, "fast does not plan all-reduce"},
		{[]string{`policy.planners=["dor"]`}, "is not known"},
		{[]string{`policy.planners=["imported"]`}, "file: is missing"},
		{[]string{`policy.planners=["imported"]`, "policy.imported.file=nowhere.json"}, "cannot be read"},
		{[]string{"policy.fast.model=three"}, "is not known"},
	} {
		_, err := Parse("scaleup.toml", []byte(smallDomain), c.set)
		checkError(t, err, c.want, c.set)
		if err != nil && !errors.Is(err, ErrInput) {
			t.Errorf("%v: got %v, want an error that wraps ErrInput", c.set, err)
		}
	}
}

// TestOtherCollectives checks the plans of all-reduce, reduce-scatter and all-gather. They
// respect their bounds and are at least as fast as the best ring without reconfigurations.
func TestOtherCollectives(t *testing.T) {
	for _, kind := range []string{"all-reduce", "reduce-scatter", "all-gather"} {
		for _, set := range [][]string{
			{}, {"fabric.gpus=7"}, {"fabric.switches=2", "fabric.gpus=16"},
			{"workload.message=64KB", "fabric.reconfiguration_delay=100ns"},
		} {
			o := runText(t, smallDomain, append(set, "workload.kind="+kind)...)
			plus, ring := o.Document.Rows[0].Metrics, o.Document.Rows[1].Metrics
			if plus["completion_s"] > ring["completion_s"] || plus["gap"] < 0 || plus["completion_s"] <= 0 {
				t.Errorf("%s %v: got %v, want at most the time of the ring, %v, and a gap of at "+
					"least 0", kind, set, plus, ring)
			}
		}
	}
}

// TestExpertStep checks a training step with experts in a scale-up domain. It is longer than
// without all-to-alls by at least the all-to-alls of one micro-batch. The increase is the
// reported exposed time.
func TestExpertStep(t *testing.T) {
	const step = `
[workload]
kind = "training"
model = "deepseek-671b"
sequence = 4096
microbatches = 4
tp = 1
pp = 4
ep = 8
gpus = 32
[workload.experts]
sizes = "zipf"
chunk = "1MB"
[fabric]
kind = "scaleup"
reconfiguration_delay = "20us"
`

	o := runText(t, step)
	withoutExchange := o.Document.Reference["makespan_s"]
	for _, r := range o.Document.Rows {
		// The 4 stages have 58 layers with experts. One micro-batch passes them forward and
		// backward, with 4 all-to-alls per layer.
		minIncrease := 4 * 58 / 4.0 * r.Metrics["all_to_all_s"]
		if increase := r.Metrics["makespan_s"] - withoutExchange; increase < minIncrease*(1-1e-9) ||
			math.Abs(increase-r.Metrics["exchange_exposed_s"]) > 1e-12 {
			t.Errorf("%s: got an increase by %g s, want at least %g s and the reported exposed "+
				"time", r.Policy, increase, minIncrease)
		}
	}

	// A single topology is kept from one all-to-all to the next, in rows, figures and bounds.
	static := runText(t, step, `policy.planners=["reconfigure-during+"]`,
		"policy.reconfigurations=1", "engine.level=packet", "fabric.reconfiguration_delay=1s")
	row, simulated := static.Document.Rows[0].Metrics, static.Detail.Policies[0]
	if row["synchronised_s"] != row["all_to_all_s"] || simulated.MakespanS != row["all_to_all_s"] ||
		simulated.Schedule.DelayS != 0 ||
		static.Document.Reference["bound_completion_s"] > row["all_to_all_s"] {
		t.Errorf("one topology: got %v, %g s in figures and bounds %v; want the same time "+
			"without a delay", row, simulated.MakespanS, static.Document.Reference)
	}

	// Sizes that are known ahead hide reconfigurations, at most one per all-to-all. A plan
	// without reconfigurations hides none.
	last := math.Inf(1)
	for _, known := range []string{"none", "returns", "all"} {
		o := runText(t, step, `policy.planners=["fast", "static-ring"]`, "fabric.predicted_calls="+known)
		row, ring := o.Document.Rows[0].Metrics, o.Document.Rows[1].Metrics
		const maxHidden = 4*58*4*20e-6 + 1e-9 // 4 micro-batches one after another through all layers
		if hidden := row["hidden_s"]; row["makespan_s"] >= last || hidden > maxHidden ||
			(hidden > 0) != (known != "none") {
			t.Errorf("known ahead %s: got %g s with %g s hidden, want less than %g s and hidden "+
				"time unless none is known", known, row["makespan_s"], hidden, last)
		}
		if ring["hidden_s"] != 0 {
			t.Errorf("a plan without reconfigurations hides %g s, want 0", ring["hidden_s"])
		}
		last = row["makespan_s"]
	}

	for _, c := range []struct{ set, want string }{
		{"workload.microbatches=1000000", "passes of stages"},
		{"workload.model=gpt-7b", "has no experts"},
		{"fabric.gpus=4", "4 GPUs in a domain, 8 in a stage"},
		{"workload.replicas=all", "identical"},
	} {
		_, err := Parse("scaleup.toml", []byte(step), []string{c.set})
		checkError(t, err, c.want, c.set)
	}
}
