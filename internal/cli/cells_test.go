package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sim/internal/text"
	"sim/plots"
	"sim/plots/sheet"
	"sim/scenarios"
	"sim/scenarios/report"
	"sim/scenarios/result"
	"sim/workloads/trace"
)

var logRejections = flag.Bool("refusals", false, "the tests of cells log why scenarios are refused")

// goldenCell is a small scenario. It is run for each combination of an override and a single
// policy.
type goldenCell struct {
	name, text string
	policies   string   // key of the list of policies
	names      []string // policies
	sets       []string // overrides separated by "; ", "" for none
}

// The tests TestCells... compare the results of small scenarios under every policy with stored
// digests: of rows, details, plans, paths, timelines and exported tasks. They detect every
// change of a result by a change of a model or a search. To see what changed, run the scenario
// before and after the change and compare the two.
func TestCellsPods(t *testing.T)    { compareCells(t, "pods") }
func TestCellsJobs(t *testing.T)    { compareCells(t, "jobs") }
func TestCellsTorus(t *testing.T)   { compareCells(t, "torus") }
func TestCellsGraph(t *testing.T)   { compareCells(t, "graph") }
func TestCellsScaleUp(t *testing.T) { compareCells(t, "scaleup") }
func TestCellsTiers(t *testing.T)   { compareCells(t, "tiers") }
func TestCellsFleets(t *testing.T)  { compareCells(t, "fleet") }

// compareCells compares the cells of a group with their stored digests; prefix is the
// beginning of their names.
func compareCells(t *testing.T, prefix string) {
	for _, c := range goldenCells {
		if !strings.HasPrefix(c.name, prefix) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var lines strings.Builder
			for _, name := range c.names {
				for i, set := range c.sets {
					overrides := []string{fmt.Sprintf("%s=[%q]", c.policies, name)}
					if c.policies == "" {
						overrides = nil
					}
					if limits := searchLimits[name]; limits != "" {
						overrides = append(overrides, strings.Split(limits, "; ")...)
					}
					if set != "" {
						overrides = append(overrides, strings.Split(set, "; ")...)
					}
					fmt.Fprintf(&lines, "%s %s:%s\n", name, set, cellDigests(t, c.text, overrides, i < 2))
				}
			}
			compareGolden(t, "cells-"+c.name+".txt", lines.String())
		})
	}
}

// cellDigests runs a scenario and returns digests of its whole output except times and text,
// or "refused". Figures are included if drawn is true.
func cellDigests(t *testing.T, scenario string, overrides []string, drawn bool) string {
	t.Helper()
	s, err := scenarios.Parse("cell.toml", []byte(scenario), overrides)
	var o *scenarios.Outcome
	var work *trace.RankGraph
	var faults scenarios.Diagnostics
	if err == nil {
		options := scenarios.RunOptions{Workers: 1, Timeline: scenarios.TimelineOptions{Tasks: 50}}
		options.VisitWork = func(w *trace.RankGraph) error { work = w; return nil }
		if o, err = scenarios.Run(t.Context(), s, options); errors.As(err, &faults) { // some tasks have no export format
			options.VisitWork = nil
			o, err = scenarios.Run(t.Context(), s, options)
		}
	}
	if errors.As(err, &faults) {
		if *logRejections {
			t.Log(overrides, err)
		}
		return " refused"
	}
	if err != nil {
		t.Errorf("%v: %v", overrides, err)
		return " failed"
	}
	for _, r := range o.Document.Rows {
		delete(r.Metrics, "runtime_s")
	}
	for _, name := range []string{result.InterfaceRate, result.FreeBytes} { // TestReferences checks them
		for key := range o.Document.Reference {
			if key == name || strings.HasPrefix(key, "job.") && strings.HasSuffix(key, "."+name) {
				delete(o.Document.Reference, key)
			}
		}
	}
	var b strings.Builder
	digest := func(name string, fill func(w io.Writer) error) {
		var part bytes.Buffer
		err := fill(&part)
		var refused trace.UnwritableError
		if err != nil && !errors.As(err, &refused) {
			t.Errorf("%v: %s: %v", overrides, name, err)
		}
		if part.Len() > 0 {
			sum := sha256.Sum256(part.Bytes())
			fmt.Fprintf(&b, " %s=%x", name, sum[:4])
		}
	}
	value := func(v any) func(io.Writer) error {
		return func(w io.Writer) error { return json.NewEncoder(w).Encode(v) }
	}
	digest("rows", value([]any{o.Document.Reference, o.Document.Rows}))
	digest("detail", value(o.Detail))
	digest("explain", func(w io.Writer) error {
		run := &result.Run{Document: o.Document, Detail: o.Detail}
		for i := range run.Detail.Policies {
			io.WriteString(w, keepNumbers(report.Explain(run, &run.Detail.Policies[i], text.Style{})))
		}
		return nil
	})
	document := o.Document // without the digest of the scenario's text and the program version
	document.Digest, document.Version = "", ""
	digest("timeline", func(w io.Writer) error {
		_, err := result.WriteTrace(w, &document, &o.Detail, result.Window{})
		return err
	})
	if len(o.PlannerPlans) > 0 {
		digest("plans", o.WritePlans)
	}
	if len(o.RateSchedules) > 0 {
		digest("plans", value(o.RateSchedules))
	}
	for i := range o.Routes {
		files, err := o.Routes[i].Compile()
		if err != nil {
			t.Errorf("%v: %v", overrides, err)
			continue
		}
		digest("routes", files.Tables)
		if files.Tags != nil {
			digest("tags", files.Tags)
		}
	}
	if drawn {
		digest("figures", func(w io.Writer) error { return writeFigures(t, w, &o.Document, &o.Detail) })
	}
	if work != nil {
		digest("cm", work.WriteCM)
		for _, form := range []func() (*trace.Job, error){work.Job, work.GOALJob} {
			j, err := form()
			var refused trace.UnwritableError
			if errors.As(err, &refused) {
				continue
			}
			if err != nil {
				t.Errorf("%v: %v", overrides, err)
				continue
			}
			digest("goal", j.WriteGOAL)
			digest("binary", j.WriteBinaryGOAL)
			digest("chakra", func(w io.Writer) error { return j.WriteChakra(w, 0) })
		}
	}
	return b.String()
}

// writeFigures writes all figures of a run as SVG.
func writeFigures(t *testing.T, w io.Writer, doc *result.Document, detail *result.Detail) error {
	figures, err := plots.All(doc, detail, plots.EveryFigure)
	if err != nil {
		return err
	}
	dir := t.TempDir()
	if err := sheet.WriteAll(t.Context(), dir, []string{"svg"}, figures, 1); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n%s", filepath.Base(f), text)
	}
	return err
}

// keepNumbers keeps only the words of a text that contain digits, so that the wording may
// change.
func keepNumbers(text string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsAny(word, "0123456789") {
			b.WriteString(strings.Trim(word, ".,:;()") + " ")
		}
	}
	return b.String()
}

// seedOverrides returns each element of sets with each of the seeds 1 to n.
func seedOverrides(n int, sets ...string) (list []string) {
	for _, set := range sets {
		for seed := range n {
			list = append(list, strings.TrimSuffix(fmt.Sprintf("seed=%d; %s", seed+1, set), "; "))
		}
	}
	return list
}

// skewedMatrix returns a matrix of n x n sizes in bytes with a few large ones.
func skewedMatrix(n, scale int) string {
	var rows []string
	for i := range n {
		var row []string
		for j := range n {
			size := ((i*7+j*13+i*j*5)%11 + 1) * scale
			if (i+2*j)%5 == 0 {
				size *= 20
			}
			if i == j || (i*3+j)%7 == 0 {
				size = 0
			}
			row = append(row, fmt.Sprint(size))
		}
		rows = append(rows, "["+strings.Join(row, ", ")+"]")
	}
	return "[" + strings.Join(rows, ", ") + "]"
}

const (
	atPackets      = "\n" + `engine = {level = "packet"}` + "\n"
	smallModel     = `architecture = {layers = 8, hidden = 256, heads = 4, ffn = 1024, vocab = 1024, effective_tflops = 10}`
	denseWorkload  = `workload = {kind = "training", sequence = 256, microbatches = 4, pp = 4, tp = 2, gpus = 16, ` + smallModel + "}\n"
	expertWorkload = `workload = {kind = "training", sequence = 256, microbatches = 3, pp = 4, tp = 1, ep = 4, gpus = 32, architecture = {layers = 8, hidden = 256, heads = 4, ffn = 512, vocab = 1024, effective_tflops = 10, experts = 8, top_k = 2}}` + "\n"
)

var (
	allocators = []string{"uniform", "prop-alloc", "sqrt-alloc", "iter-halve", "delta-fast", "delta-topo", "delta-joint", "delta-during", "demand-matched", "mixnet-during", "rotor"}
	routers    = []string{"dor", "wild-first", "shortest", "ecmp", "random-shortest", "multipath", "route-optimised"}
	planners   = []string{"reconfigure-during", "reconfigure-during+", "fast", "mixnet", "topoopt", "directconnect-kautz", "directconnect-circulant", "static-ring", "bruck", "spreadout"}
	algorithms = []string{"ring", "bidirectional-ring", "multi-ring", "bucket", "halving-doubling", "swing", "direct", "hierarchical", "tree-packing", "best"}
	placements = []string{"static-first-fit", "static-best-fit", "static-hilbert", "folding", "reconfigurable", "best-fit-subcube", "aware"}
	calls      = []string{"all-to-all", "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce"}
)

// searchLimits limits the searches of policies so that each run takes a fraction of a second;
// indexed by policy.
var searchLimits = map[string]string{
	"delta-fast":      "policy.delta-fast.max_generations=30; policy.delta-fast.population=12; policy.port_evaluations=200",
	"delta-topo":      "policy.delta-topo.max_evaluations=300; policy.port_evaluations=200",
	"delta-joint":     "policy.delta-joint.max_evaluations=300; policy.port_evaluations=200",
	"delta-during":    "policy.delta-during.max_evaluations=100; policy.port_evaluations=200",
	"route-optimised": "policy.route-optimised.bound_rounds=200; policy.route-optimised.budget=100000",
	"optimised":       "policy.mapping_evaluations=20000",
	"joint":           "policy.joint.max_evaluations=2000",
}

var goldenCells = []goldenCell{
	{"pods-dense", denseWorkload + `fabric = {kind = "ocs-pods", gpus_per_pod_per_replica = 2, port_bandwidth = "100Gbps", ports_per_pod = 4, reconfiguration_delay = "10us"}`,
		"policy.allocators", allocators, append(seedOverrides(2, "", "engine.level=packet", "fabric.reverse=true; workload.schedule=gpipe"),
			"fabric.ports_per_pod=5; workload.schedule=zb-h1", "policy.service=level-priority", "policy.port_tolerance=0.1", "fabric.switching=per-switch", "fabric.nic_bandwidth=50Gbps", "workload.replicas=all")},
	{"pods-experts", expertWorkload + `fabric = {kind = "ocs-pods", gpus_per_pod_per_replica = 4, port_bandwidth = "50Gbps", ports_per_pod = 5, reconfiguration_delay = "5us"}`,
		"policy.allocators", allocators, append(seedOverrides(2, ""), "engine.level=packet", "workload.collectives=graph; fabric.inside_bandwidth=1Tbps",
			"trials.count=5; trials.compute_jitter=0.1; trials.lost_circuits=1", "trials.count=4; trials.stage_jitter=0.2", "trials.count=4; trials.lost_circuits=1; trials.reaction=redecide; trials.decision_time=1us", "policy.port_tolerance=0.05")},
	{"pods-matrix", `workload = {kind = "matrix", matrix = ` + skewedMatrix(5, 20000) + "}\n" + `fabric = {kind = "ocs-pods", pods = 5, gpus_per_pod = 1, ports_per_pod = 5, port_bandwidth = "100Gbps", nic_bandwidth = "400Gbps", reconfiguration_delay = "2us"}`,
		"policy.allocators", allocators, append(seedOverrides(2, "", "fabric.ports_per_pod=9"), "engine.level=packet", "engine.level=static", "policy.port_tolerance=0.2", "policy.service=max-min")},
	{"pods-calls", `workload = {kind = "all-reduce", message = "1MB"}` + "\n" + `fabric = {kind = "ocs-pods", pods = 4, gpus_per_pod = 2, ports_per_pod = 4, port_bandwidth = "100Gbps"}`,
		"policy.collectives", algorithms, []string{"", "workload.kind=all-to-all", "workload.kind=broadcast", "engine.level=packet", "policy.allocators=[\"iter-halve\"]"}},
	{"jobs", denseWorkload + `fabric = {kind = "ocs-pods", port_bandwidth = "100Gbps", ports_per_pod = 7}` + "\n[[job]]\nname = \"a\"\nfabric = {gpus_per_pod_per_replica = 2}\n[[job]]\nname = \"b\"\nweight = 2.0\nworkload = {pp = 4, microbatches = 6, gpus = 16}\nfabric = {gpus_per_pod_per_replica = 2}\n",
		"policy.multi_job_allocators", []string{"even-split", "aggregate", "surplus", "joint"}, append(seedOverrides(2, "policy.allocator=delta-topo"), "policy.allocator=delta-fast; policy.objective=max-min",
			"policy.allocator=delta-fast; policy.circuits=shared; policy.repeat.iterations=5")},
	{"torus-traffic", `workload = {kind = "all-to-all", message = "16KB"}` + "\n" + `fabric = {kind = "torus", dims = [3, 4], link_rate = "100Gbps"}` + atPackets,
		"policy.routers", routers, append(seedOverrides(2, "", "engine.level=flow", "workload.kind=permutation"), "fabric.dims=[2, 4]", "engine.level=static",
			"fabric.dims=[2, 2, 4]; fabric.twist=\"001000\"; engine.level=static", "fabric.failed_links=[\"0 x+\"]", "fabric.failed_chips=[5]; engine.level=static", "fabric.failed_links=[\"0 x+\", \"7 y-\"]; engine.level=packet; workload.kind=permutation",
			"engine.level=packet; fabric.queue=credit; fabric.link_latency=100ns", "workload.kind=hotspot", "workload.kind=nearest-neighbour",
			"workload.kind=uniform-random; workload.load=0.6; workload.duration=200us; workload.warmup=20us; engine.level=packet")},
	{"torus-cubes", `workload = {kind = "all-to-all", message = "4KB"}` + "\n" + `fabric = {kind = "torus", dims = [4, 4, 8], twist = "tpuv4"}` + "\nengine = {level = \"static\"}\n",
		"policy.routers", routers, []string{"", "fabric.failed_ocs=[\"x3\"]", "fabric.failed_links=[\"3 x+\", \"70 z-\"]", "fabric.dims=[4, 4, 4]; fabric.twist=\"000000\""}},
	{"graphs", `workload = {kind = "all-to-all", message = "16KB"}` + "\n" + `fabric = {kind = "graph", generator = "fat-tree", switch_ports = 4}` + atPackets,
		"policy.routers", routers[2:], append(seedOverrides(2, "", "fabric.levels=2"), "engine.level=flow", "fabric.generator=dragonfly", "fabric.generator=dual-plane", "fabric.generator=rail-optimised",
			"workload.kind=permutation; engine.level=packet", "fabric.link_rate=10Gbps")},
	{"torus-training", denseWorkload + `fabric = {kind = "torus", dims = [4, 4], link_rate = "100Gbps"}` + atPackets,
		"policy.routers", routers, []string{"", "engine.level=flow", "workload.collectives=graph; policy.collective=bucket", "fabric.failed_links=[\"0 x+\"]", "workload.schedule=gpipe; engine.message_overhead=1us", "workload.tp=1; workload.cp=2"}},
	{"torus-mappings", expertWorkload + `fabric = {kind = "torus", dims = [4, 4, 2], link_rate = "100Gbps"}` + atPackets,
		"policy.mappings", []string{"tp-cp-ep-pp-dp", "tp-cp-ep-dp-pp", "ep=x,pp=y,dp=z", "optimised"}, append(seedOverrides(2, ""), "engine.level=packet; workload.collectives=graph")},
	{"pods-mappings", expertWorkload + `fabric = {kind = "ocs-pods", gpus_per_pod_per_replica = 4, port_bandwidth = "50Gbps", ports_per_pod = 4}`,
		"policy.mappings", []string{"tp-cp-ep-pp-dp", "optimised"}, seedOverrides(2, "policy.allocators=[\"iter-halve\"]")},
	{"torus-data-tensor", `workload = {kind = "data-tensor", tensor_dims = ["x"], data_dims = ["y"], rate = "1Gbps", phase = "100us", start = "0s"}` + "\n" + `fabric = {kind = "torus", dims = [4, 4]}`,
		"policy.routers", routers, seedOverrides(2, "engine.level=packet")},
	{"scaleup-exchange", `workload = {kind = "all-to-all", message = "1MB"}` + "\n" + `fabric = {kind = "scaleup", gpus = 8, switches = 2, link_rate = "400Gbps", reconfiguration_delay = "5us"}`,
		"policy.planners", planners, append(seedOverrides(2, "", "workload.kind=matrix; workload.matrix="+skewedMatrix(8, 50000)), "fabric.reconfiguration_delay=200us", "fabric.gpus=9; fabric.switches=3", "engine.level=packet", "workload.message=20KB; fabric.gpus=6; fabric.switches=4")},
	{"scaleup-gather", `workload = {kind = "all-reduce", message = "4MB"}` + "\n" + `fabric = {kind = "scaleup", gpus = 8, switches = 2, link_rate = "400Gbps", reconfiguration_delay = "5us"}`,
		"policy.planners", []string{"reconfigure-during+", "static-ring"}, []string{"", "workload.kind=all-gather", "workload.kind=reduce-scatter", "fabric.reconfiguration_delay=1ms", "fabric.gpus=12; fabric.switches=3", "engine.level=packet", "fabric.gpus=6; fabric.switches=4; workload.message=30KB"}},
	{"scaleup-training", expertWorkload + `fabric = {kind = "scaleup", gpus = 4, switches = 2, link_rate = "400Gbps", reconfiguration_delay = "5us"}`,
		"policy.planners", planners, []string{"", "workload.ep=8; workload.pp=2; fabric.gpus=8"}},
	{"torus-calls", `workload = {kind = "all-reduce", message = "600KB"}` + "\n" + `fabric = {kind = "torus", dims = [4, 4]}` + atPackets,
		"policy.collectives", algorithms, callOverrides("fabric.dims=[2, 2, 3]", "fabric.dims=[2, 2, 4]; fabric.twist=\"001000\"", "fabric.failed_links=[\"0 x+\"]")},
	{"graph-calls", `workload = {kind = "all-reduce", message = "600KB"}` + "\n" + `fabric = {kind = "graph", edges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0], [0, 3], [1, 4]]}` + atPackets,
		"policy.collectives", algorithms, callOverrides("fabric.link_latency=2us")},
	{"tiers-calls", `workload = {kind = "all-reduce", message = "600KB"}` + "\n" + `fabric = {kind = "tiers", tier = [{kind = "electrical", gpus = 4}, {kind = "torus", dims = [4, 4], link_rate = "50Gbps"}]}` + atPackets,
		"policy.collectives", algorithms, callOverrides()},
	{"tiers-training", strings.NewReplacer("tp = 1, ep = 4, gpus = 32", "tp = 2, ep = 8, gpus = 64").Replace(expertWorkload) + `fabric = {kind = "tiers", tier = [{kind = "electrical", gpus = 2}, {kind = "scaleup", gpus = 8, switches = 2}, {kind = "ocs-pods", gpus_per_pod_per_replica = 8, port_bandwidth = "100Gbps"}]}`,
		"policy.allocators", []string{"prop-alloc", "iter-halve", "delta-fast"}, []string{"", "workload.gpus=128", "workload.pp=2"}},
	{"pods-recommendation", `workload = {kind = "recommendation", gpus = 8, samples = 64, tables = 12, width = 32, dense_parameters = 100_000, effective_tflops = 80}` + "\n" + `fabric = {kind = "ocs-pods", pods = 4, gpus_per_pod = 2, ports_per_pod = 3, port_bandwidth = "100Gbps"}`,
		"policy.allocators", allocators[:6], []string{"", "engine.level=packet"}},
	{"torus-recommendation", `workload = {kind = "recommendation", gpus = 12, samples = 64, tables = 14, width = 32, dense_parameters = 100_000, effective_tflops = 80}` + "\n" + `fabric = {kind = "torus", dims = [3, 4]}` + atPackets,
		"policy.routers", routers, []string{"", "engine.level=flow"}},
	{"torus-trace", `workload = {kind = "trace", files = "scenarios/compose/trace.txt"}` + "\n" + `fabric = {kind = "torus", dims = [4, 4]}` + atPackets,
		"policy.routers", routers, []string{"", "engine.level=flow", "workload.files=scenarios/compose/ranks.txt"}},
	{"pods-trace", `workload = {kind = "trace", files = "scenarios/compose/trace.txt"}` + "\n" + `fabric = {kind = "ocs-pods", gpus_per_pod_per_replica = 4, ports_per_pod = 3, port_bandwidth = "100Gbps"}`,
		"policy.allocators", allocators, []string{"", "engine.level=packet"}},
	{"fleets", "workload = {kind = \"fleet\", days = 12, warm_up = 1, load = 1.3}\nfabric = {kind = \"pods-of-cubes\"}\n",
		"policy.placements", placements, append(seedOverrides(2, ""), "workload.seeds=2", "policy.queue.discipline=easy", "policy.queue.preemption=true", "policy.queue.discipline=easy; workload.estimates=3",
			"workload.faults.machine=0.02/day; workload.faults.host_availability=0.95; workload.faults.ocs=0.05/day; policy.fault.repair_crews=2; workload.faults.link=0.001/day")},
}

// callOverrides returns overrides for each kind of collective call, one override for level
// flow, and the overrides in more.
func callOverrides(more ...string) []string {
	list := []string{"engine.level=flow"}
	for _, kind := range calls {
		list = append(list, "workload.kind="+kind)
	}
	for _, set := range more {
		list = append(list, set, set+"; workload.kind=all-to-all")
	}
	return list
}
