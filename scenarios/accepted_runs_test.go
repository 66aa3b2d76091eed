package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sim/engine"
	"sim/engine/units"
	"sim/scenarios/assembly/input"
	"sim/scenarios/schema"
)

// randomScenario draws small scenarios from the tables of keys: a workload on a fabric, the
// keys that both require, and a few optional keys. Optional keys get values within their bounds
// that may conflict with each other.
type randomScenario struct {
	*rand.Rand
	root map[string]any // the scenario as TOML tables
}

// pick returns one of the choices at random.
func pick[T any](d *randomScenario, choices ...T) T { return choices[d.IntN(len(choices))] }

// set sets the key at a dotted path, and creates the tables of the path.
func (d *randomScenario) set(path string, v any) {
	m := d.root
	parts := strings.Split(path, ".")
	for _, part := range parts[:len(parts)-1] {
		if schema.Child(m, part) == nil {
			m[part] = map[string]any{}
		}
		m = schema.Child(m, part)
	}
	m[parts[len(parts)-1]] = v
}

// draw returns a random scenario of a workload on a fabric. Each optional key is set with
// probability 1/oneIn; oneIn = 0 sets none.
func (d *randomScenario) draw(workload, fabric string, oneIn int) string {
	d.root = map[string]any{}
	d.set("name", "drawn")
	d.set("seed", int64(d.IntN(100)))
	d.set("workload.kind", workload)
	d.set("fabric.kind", fabric)
	if workload == "training" {
		d.setTraining(fabric)
	}
	nodes := 2 + d.IntN(6)
	switch fabric {
	case "ocs-pods":
		if workload == "training" && d.IntN(3) == 0 {
			d.root["job"] = []map[string]any{{"name": "a"}, {"name": "b", "weight": 2.0}}
			d.set("fabric.ports_per_pod", int64(pick(d, 8, 16)))
			d.set("policy.joint.max_evaluations", int64(20))
		}
		d.set("fabric.port_bandwidth", "400Gbps")
		if workload != "training" {
			pods, gpus := 2+d.IntN(4), 1+d.IntN(3)
			nodes = pods * gpus
			d.set("fabric.pods", int64(pods))
			d.set("fabric.gpus_per_pod", int64(gpus))
			d.set("fabric.ports_per_pod", int64(pick(d, 4, 8)))
		}
		d.set("policy.delta-fast.max_generations", int64(3))
		d.set("policy.delta-fast.population", int64(8))
		d.set("policy.delta-topo.max_evaluations", int64(20))
		d.set("policy.delta-joint.max_evaluations", int64(20))
		d.set("policy.port_evaluations", int64(20))
	case "torus":
		dims := make([]any, 1+d.IntN(3))
		for i := range dims {
			dims[i] = int64(pick(d, 1, 2, 2, 3, 4, 4, 5))
		}
		nodes = 1
		for _, size := range dims {
			nodes *= int(size.(int64))
		}
		if workload == "training" { // setTraining sets up to 48 GPUs
			dims = []any{int64(4), int64(4), int64(pick(d, 3, 4))}
		}
		d.set("fabric.dims", dims)
	case "graph":
		if workload == "training" {
			nodes += 48
		}
		d.set("fabric.edges", d.drawEdges(nodes))
	case "pods-of-cubes":
		d.set("workload.days", int64(3))
		d.set("workload.warm_up", int64(1))
	case "scaleup":
		if workload != "training" {
			d.set("fabric.gpus", int64(nodes))
			d.set("fabric.switches", int64(1+d.IntN(nodes)))
		}
		if d.IntN(2) == 0 {
			d.set("policy.planners", []any{pick(d, choiceNames("planners")...)})
		}
	}

	if slices.Contains([]string{"torus", "graph"}, fabric) {
		d.set("engine.level", pick(d, "packet", "packet", "flow", "static"))
		if workload == "data-tensor" {
			d.set("workload.rate", pick(d, "448kbps", "1Gbps"))
			d.set("workload.start", "0s")
			d.set("workload.phase", "10us")
		}
	}

	if workload == "matrix" && fabric != "scaleup" {
		d.set("workload.matrix", d.drawRows(nodes))
	}
	if fabric == "ocs-pods" && d.IntN(3) == 0 {
		d.set("engine.level", "packet")
	}
	if oneIn > 0 {
		d.setOptional(workload, fabric, oneIn)
	}
	if containsKey(d.root, "workload.packet") && workload == "training" {
		d.set("workload.packet", "64MB") // smaller packets take too long
	}
	return d.text()
}

// text returns the scenario as TOML.
func (d *randomScenario) text() string {
	text, err := (&Study{source: &fileSource{root: d.root}}).TOML()
	if err != nil {
		panic(err)
	}
	return string(text)
}

// makeValid removes the keys that diagnostics name until the scenario is accepted, and returns
// it. It returns nil if the diagnostics name no key that can be removed.
func (d *randomScenario) makeValid() *Scenario {
	for {
		s, err := Parse("drawn.toml", []byte(d.text()), nil)
		var faults Diagnostics
		if err == nil || !errors.As(err, &faults) {
			return s
		}
		removed := false
		for _, f := range faults {
			path, name := schema.CutLast(f.Key)
			m := d.root
			for part := range strings.SplitSeq(path, ".") {
				m = schema.Child(m, part)
			}
			if _, given := m[name]; given && name != "kind" {
				delete(m, name)
				removed = true
			}
		}

		if !removed {
			return nil
		}
	}
}

// setTraining sets the keys that a training step requires.
func (d *randomScenario) setTraining(fabric string) {
	tp, pp, ep := pick(d, 1, 2), pick(d, 1, 2, 4), 1
	model := pick(d, "gpt-7b", "mixtral-8x22b")
	if fabric == "scaleup" {
		model, tp = "mixtral-8x22b", 1
	}
	stage := tp
	if model != "gpt-7b" {
		ep = pick(d, 2, 4)
		stage = ep
		d.set("workload.ep", int64(ep))
	}

	d.set("workload.model", model)
	d.set("workload.sequence", int64(pick(d, 1, 512, 4096)))
	d.set("workload.microbatches", int64(pp*pick(d, 1, 2)))
	d.set("workload.tp", int64(tp))
	d.set("workload.pp", int64(pp))
	d.set("workload.gpus", int64(stage*pp*pick(d, 1, 2, 3)))
	d.set("workload.packet", "64MB")
	if fabric == "ocs-pods" {
		d.set("fabric.gpus_per_pod_per_replica", int64(stage*pick(d, 1, 1, 2)))
		d.set("fabric.ports_per_pod", int64(pick(d, 4, 8)))
	}
}

// drawEdges returns random links between n nodes. In three of four cases they include a ring
// through all nodes.
func (d *randomScenario) drawEdges(n int) []any {
	var all []any
	if d.IntN(4) > 0 {
		for i := range n {
			all = append(all, []any{int64(i), int64((i + 1) % n)})
		}
	}
	for range 1 + d.IntN(2*n) {
		a, b := d.IntN(n), d.IntN(n)
		if a == b {
			b = (a + 1) % n
		}
		all = append(all, []any{int64(a), int64(b)})
	}
	return all
}

// drawRows returns a random traffic matrix of n nodes, in bytes.
func (d *randomScenario) drawRows(n int) []any {
	rows := make([]any, n)
	for i := range rows {
		row := make([]any, n)
		for j := range row {
			if row[j] = int64(0); i != j {
				row[j] = int64(pick(d, 0, 1, 1000, 1_000_000))
			}
		}
		rows[i] = row
	}
	return rows
}

// setOptional sets optional keys of the tables of workload and fabric, each with probability
// 1/oneIn. Keys that are already set are redrawn in one of eight cases.
func (d *randomScenario) setOptional(workload, fabric string, oneIn int) {
	s := &Scenario{Replicas: []input.Replica{{}}, Jobs: []Job{{}}}
	s.Workload.Kind, s.Fabric.Kind = workload, fabric
	for _, t := range s.schema().Tables[1:] {
		if t.IsArray() || t.Path == "policy.milp" {
			continue
		}
		for _, k := range t.Keys {
			key := strings.ReplaceAll(schema.JoinPath(t.Path, k.Name), `"`, "")
			if slices.Contains(excludedKeys, key) || containsKey(d.root, key) && d.IntN(8) > 0 ||
				d.IntN(oneIn) > 0 {
				continue
			}
			if v := d.drawValue(k, k.Choices()); v != nil {
				d.set(key, v)
			}
		}
	}
}

// excludedKeys are keys that setOptional leaves alone: kinds, files, solvers, and limits of
// searches that would take long.
var excludedKeys = []string{
	"workload.kind", "fabric.kind", "workload.model", "fabric.file", "workload.matrix_file",
	"policy.imported.file", "policy.imported.sha256",
	"workload.log.file", "workload.log.sha256", "workload.faults.log.file", "workload.faults.log.sha256",
	"policy.route-optimised.cache", "policy.route-optimised.milp", "policy.route-optimised.budget",
	"policy.port_evaluations",
	"policy.delta-fast.max_generations", "policy.delta-fast.population",
	"policy.delta-topo.max_evaluations", "policy.delta-joint.max_evaluations",
	"policy.route-optimised.bound_rounds",
}

// drawValue returns a random value of a key, or nil for keys whose values it cannot draw.
// choices are the names that the key accepts, nil if it accepts any text.
func (d *randomScenario) drawValue(k *schema.Key, choices []string) any {
	text := func() any {
		if choices == nil {
			return nil
		}
		return pick(d, choices...)
	}

	switch reflect.New(k.Type).Interface().(type) {
	case *string:
		switch k.Name {
		case "queue":
			return pick(d, "unbounded", "1p", "4p", "1KB", "credit")
		case "twist":
			return pick(d, "", "001010", "tpuv4", "111111", "100000")
		case "configured":
			return pick(d, "", "none", "tpuv4")
		case "sizes":
			return pick(d, "uniform", "random", "zipf", "matrix")
		}
		return text()
	case *bool:
		return d.IntN(2) == 0
	case *int, *int64, *uint64:
		n := int64(k.Min) + int64(pick(d, 0, 1, 2, 3, 7))
		if k.Max > 0 {
			n = min(n, int64(k.Max))
		}
		return n
	case *float64:
		top := k.Max
		if top == 0 || top > 3 {
			top = 3
		}
		return k.Min + (top-k.Min)*pick(d, 0, 0.1, 0.5, 1)
	case *units.Rate:
		return pick(d, "1bps", "9kbps", "1Gbps", "400Gbps", "10Pbps")
	case *units.Bytes:
		switch k.Name {
		case "packet", "payload":
			return pick(d, "100B", "1KB", "64KB")
		case "chunk": // plans of smaller chunks take long
			return pick(d, "500KB", "4MB", "64MB")
		}
		return pick(d, "0B", "1B", "100B", "1KB", "64KB")
	case *engine.Time:
		return pick(d, "0s", "1ps", "1ns", "1us")
	case *units.Frequency:
		return pick(d, "0/day", "0.001/day", "1/week", "2/h")
	case *[]string:
		list := []any{}
		switch k.Name {
		case "open":
			list = append(list, pick(d, "x", "y", "z"))
		case "failed_ocs":
			list = append(list, pick(d, "x0", "x3", "z15"))
		case "failed_links", "drained_links":
			for range 1 + d.IntN(3) {
				list = append(list, fmt.Sprintf("%d %s", d.IntN(20), pick(d, "x+", "x-", "y+", "z-")))
			}
		case "failed_machines":
			list = append(list, pick(d, "0", "1", "0,0,0"))
		default:
			if choices == nil {
				return nil
			}
			names := slices.DeleteFunc(slices.Clone(choices), func(n string) bool {
				return strings.Contains(n, "milp") || n == "imported" || n == "fixed"
			})
			d.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			for _, n := range names[:1+d.IntN(min(3, len(names)))] {
				list = append(list, n)
			}
		}
		return list
	case *[]int:
		list := []any{}
		for range 1 + d.IntN(2) {
			list = append(list, int64(d.IntN(9)))
		}
		return list
	case *[][]int:
		if k.Name == "matrix" {
			return d.drawRows(2 + d.IntN(7))
		}
		return nil
	}

	panic(k.Type)
}

// runtimeErrors are parts of the errors that no check can find before the policies have
// decided. They report deadlocks, lost circuits that were not provisioned, and queue samples
// beyond the limit, because the duration of an expanded collective is not known earlier.
var runtimeErrors = []string{"nothing can proceed", "that are provisioned; lose at most",
	"lengths of queues to keep"}

// workloadFabricPairs returns all pairs of a workload kind and a fabric kind.
func workloadFabricPairs() [][2]string {
	var all [][2]string
	for _, w := range choiceNames("workloads") {
		for _, f := range choiceNames("fabrics") {
			all = append(all, [2]string{w, f})
		}
	}
	return all
}

// TestAcceptedScenariosRun checks that scenarios that pass the checks also run. It draws
// scenarios of every workload on every fabric, and removes rejected keys until a scenario is
// accepted. Its run must return no error except runtimeErrors.
func TestAcceptedScenariosRun(t *testing.T) {
	t.Parallel()
	ran := map[[2]string]int{}
	rounds := 2
	if *longTests {
		rounds = 40
	}
	for i := range rounds {
		for _, pair := range workloadFabricPairs() {
			d := &randomScenario{Rand: rand.New(rand.NewPCG(uint64(i), 2))}
			d.draw(pair[0], pair[1], []int{0, 40, 12, 4}[i%4])
			s := d.makeValid()
			if s == nil {
				continue
			}
			text := d.text()
			ran[pair]++
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			start := time.Now()
			_, err := Run(ctx, s, RunOptions{Workers: 1})
			cancel()
			if elapsed := time.Since(start); elapsed > 2*time.Second {
				t.Logf("took %v, in\n%s", elapsed, text)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				continue // too slow for this test; no error until then
			}
			if err != nil && !slices.ContainsFunc(runtimeErrors, func(text string) bool { return strings.Contains(err.Error(), text) }) {
				t.Errorf("accepted, but the run returned %v, in\n%s", err, text)
			}
		}
	}

	t.Log("runs of each workload and fabric:", ran)
}
