package scenarios

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// matrixFlag enables TestMatrix, which takes too long for each run of the tests.
var matrixFlag = flag.String("matrix", "",
	"compare the matrix of compositions with docs/compositions.md (check), or write it there (renew)")

// matrixFabrics are the columns of the matrix: small fabrics of every kind, with their number
// of ranks.
var matrixFabrics = []struct {
	name            string
	ranks           int
	traffic, trains string // keys of the fabric; trains replaces them for training, "" if equal
	pairs           string // replaces traffic for all-to-all traffic, with 16 ranks; "" if equal
}{
	{name: "ocs-pods", ranks: 16, traffic: `kind = "ocs-pods", pods = 4, gpus_per_pod = 4, port_bandwidth = "400Gbps"`,
		trains: `kind = "ocs-pods", gpus_per_pod_per_replica = 4, port_bandwidth = "400Gbps"`},
	{name: "torus", ranks: 16, traffic: `kind = "torus", dims = [4, 4]`},
	{name: "twisted, OCS down", ranks: 128,
		traffic: `kind = "torus", dims = [4, 4, 8], twist = "tpuv4", failed_ocs = ["x3"]`,
		pairs:   `kind = "torus", dims = [2, 2, 4], twist = "tpuv4", failed_links = ["3 x+"]`},
	{name: "graph", ranks: 16, traffic: `kind = "graph", generator = "fat-tree", switch_ports = 4`},
	{name: "electrical", ranks: 16, traffic: `kind = "electrical", gpus = 16`},
	{name: "scaleup", ranks: 16, traffic: `kind = "scaleup", gpus = 16, switches = 4`,
		trains: `kind = "scaleup", gpus = 16, switches = 4, topology = "topoopt"`},
	{name: "tiers of links", ranks: 16,
		traffic: `kind = "tiers", tier = [{kind = "electrical", gpus = 4}, {kind = "torus", dims = [4, 4]}]`},
	{name: "tiers in pods", ranks: 16,
		traffic: `kind = "tiers", tier = [{kind = "electrical", gpus = 4}, {kind = "ocs-pods", pods = 4, gpus_per_pod = 4, port_bandwidth = "400Gbps"}]`,
		trains:  `kind = "tiers", tier = [{kind = "electrical", gpus = 4}, {kind = "ocs-pods", gpus_per_pod_per_replica = 4, port_bandwidth = "400Gbps"}]`},
}

// matrixLevels are the levels of each cell, in the order of its marks.
var matrixLevels = [3]string{"static", "flow", "packet"}

// matrixRow is a row of the matrix: a kind of workload with the keys that it requires.
type matrixRow struct {
	name, kind string
	keys       func(ranks int, level string) string // keys of [workload] except kind
	policy     string                               // keys of [policy]
	// isStaged marks a trace of pipeline stages, which uses the fabrics of training.
	isStaged bool
}

// smallStep are the keys of a training step of 16 GPUs. The table of its architecture is left
// open for more keys.
const smallStep = `sequence = 256, microbatches = 2, pp = 2, gpus = 16, architecture = {layers = 4, hidden = 256, heads = 4, ffn = 512, vocab = 1024, effective_tflops = 10`

// matrixRows returns a row for each kind of workload, and further rows for other forms of some
// kinds.
func matrixRows() []matrixRow {
	const algorithms = `collectives = ["ring", "direct"]`
	constant := func(text string) func(int, string) string { return func(int, string) string { return text } }
	variants := map[string][]matrixRow{
		"training": {
			{name: "training", keys: constant(smallStep + `}, tp = 4`)},
			{name: "training of experts",
				keys: constant(smallStep + `, experts = 8, top_k = 2}, tp = 2, ep = 4`)},
			{name: "training, calls in the graph",
				keys: constant(smallStep + `}, tp = 4, collectives = "graph"`)},
		},
		"recommendation": {{name: "recommendation", keys: func(ranks int, _ string) string {
			return fmt.Sprintf("gpus = %d, samples = 64, tables = 16, width = 32, dense_parameters = 100_000, effective_tflops = 80", ranks)
		}}},
		"trace": {
			{name: "trace of stages", keys: constant(`files = "scenarios/compose/trace.txt"`),
				isStaged: true},
			{name: "trace of ranks", keys: constant(`files = "scenarios/compose/ranks.txt"`)},
		},
		"all-to-all": {{name: "all-to-all"}, {name: "all-to-all, as a call", policy: algorithms}},
		"send-receive": {{name: "send-receive",
			keys: func(ranks int, _ string) string { return `message = "64KB", peer = 15` + group(ranks) }, policy: algorithms}},
		"uniform-random": {{name: "uniform-random", keys: func(_ int, level string) string {
			if level == "packet" {
				return `duration = "100us", warmup = "10us"`
			}
			return ""
		}}},
		"data-tensor": {{name: "data-tensor", keys: func(_ int, level string) string {
			if level == "packet" {
				return `tensor_dims = ["x"], data_dims = ["y"], phase = "100us", start = "0s", rate = "1Gbps"`
			}
			return `tensor_dims = ["x"], data_dims = ["y"], rate = "1Gbps"`
		}}},
		"matrix": {{name: "matrix", keys: func(ranks int, _ string) string {
			rows := make([]string, ranks)
			for i := range rows {
				row := make([]string, ranks)
				for j := range row {
					row[j] = "0"
					if d := (j - i + ranks) % ranks; d != 0 && d <= 5 {
						row[j] = "65536"
					}
				}

				rows[i] = "[" + strings.Join(row, ", ") + "]"
			}

			return "matrix = [" + strings.Join(rows, ", ") + "]"
		}}},
	}

	var all []matrixRow
	for _, k := range kinds() {
		if k.section != "workload" || k.supports(cubeCarrier) {
			continue
		}
		rows := variants[k.name]
		if rows == nil {
			rows = []matrixRow{{name: k.name}}
			if k.forms[0].isCall {
				rows[0].policy = algorithms
			}
		}

		for _, r := range rows {
			if r.kind = k.name; r.keys == nil {
				r.keys = constant(`message = "64KB"`)
				if k.forms[0].isCall {
					r.keys = func(ranks int, _ string) string { return `message = "64KB"` + group(ranks) }
				}
			}

			all = append(all, r)
		}
	}

	return all
}

// group returns a key that selects 16 evenly spaced ranks if the fabric has more nodes.
func group(nodes int) string {
	if nodes == 16 {
		return ""
	}
	var ranks []string
	for i := range 16 {
		ranks = append(ranks, fmt.Sprint(i*nodes/16))
	}
	return ", group = [" + strings.Join(ranks, ", ") + "]"
}

// TestMatrix compares docs/compositions.md with runs of every workload on every fabric at every
// level. Each cell either runs and has the metrics that it requires, or shows the number of the
// diagnostic that rejects it.
func TestMatrix(t *testing.T) {
	const file, from, to = "../docs/compositions.md", "<!-- matrix -->\n", "<!-- end of matrix -->\n"
	var b strings.Builder
	if *matrixFlag == "" {
		t.Skip("runs with -matrix check")
	}

	// Render the matrix, followed by the numbered reasons.
	m := &compositionMatrix{t: t}
	b.WriteString("| |")
	for _, f := range matrixFabrics {
		b.WriteString(" " + f.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(matrixFabrics)) + "\n")
	for _, r := range matrixRows() {
		b.WriteString("| " + r.name + " |")
		for _, f := range matrixFabrics {
			fabric, ranks := f.traffic, f.ranks
			switch {
			case (findKind("workload", r.kind).isTraining() || r.isStaged) && f.trains != "":
				fabric = f.trains
			case f.pairs != "" && slices.Contains([]string{"recommendation", "all-to-all", "uniform-random", "hotspot"}, r.kind):
				fabric, ranks = f.pairs, 16
			}

			var marks []string
			for _, level := range matrixLevels {
				marks = append(marks, m.runCell(r, ranks, fabric, level))
			}
			b.WriteString(" " + strings.Join(marks, " ") + " |")
		}

		b.WriteString("\n")
	}

	b.WriteString("\n")
	for i, why := range m.reasons {
		fmt.Fprintf(&b, "%d. %s\n", i+1, why)
	}

	// Compare with the part of the document between the markers, or replace it.
	stored, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, hasStart := bytes.Cut(stored, []byte(from))
	_, tail, hasEnd := bytes.Cut(rest, []byte(to))
	if !hasStart || !hasEnd {
		t.Fatalf("%s lacks the markers of the matrix", file)
	}
	renewed := slices.Concat(head, []byte(from+b.String()+to), tail)
	switch {
	case t.Failed() || bytes.Equal(stored, renewed):
	case *matrixFlag == "renew":
		if err := os.WriteFile(file, renewed, 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s differs from the matrix; if the change is intended, renew it with go test "+
			"./scenarios -run Matrix -matrix renew:\n%s", file, b.String())
	}
}

// physicalReasons are parts of diagnostics of compositions that cannot exist, by physics or by
// definition. All other reasons are missing features, which the matrix shows in italics.
var physicalReasons = []string{
	"refers to dimensions", "which needs", "moves nothing among the nodes", `level "flow" simulates messages`,
}

// compositionMatrix runs the cells of the matrix and collects the reasons of rejected cells.
type compositionMatrix struct {
	t       *testing.T
	reasons []string // of rejected cells, in order of first use
}

var (
	// digits and quotedFabric match the parts of diagnostics in which cells with the same reason differ.
	digits       = regexp.MustCompile(`[0-9]+`)
	quotedFabric = regexp.MustCompile(`fabric "[a-z-]*"`)
)

// reasonMark returns the number of a reason, in italics if it is not physical.
func (m *compositionMatrix) reasonMark(why string) string {
	i := slices.Index(m.reasons, why)
	if i < 0 {
		i = len(m.reasons)
		m.reasons = append(m.reasons, why)
	}
	if !isPhysical(why) {
		return fmt.Sprintf("*%d*", i+1)
	}
	return fmt.Sprint(i + 1)
}

// isPhysical reports whether a composition is rejected because it cannot exist.
func isPhysical(why string) bool {
	return slices.ContainsFunc(physicalReasons, func(part string) bool { return strings.Contains(why, part) })
}

// runCell runs a workload on a fabric at a level. It returns "+" if it ran, the mark of the
// reason if it was rejected, or "!" if the run failed.
func (m *compositionMatrix) runCell(r matrixRow, ranks int, fabric, level string) string {
	if r.kind == "recommendation" && strings.Contains(fabric, "ocs-pods") {
		ranks /= 2 // searching the ideal circuits of 16 GPUs takes seconds
	}
	label := fmt.Sprintf("%s on {%s} at %s", r.name, fabric, level)
	text := fmt.Sprintf("workload = {kind = %q, %s}\nfabric = {%s}\nengine = {level = %q}\npolicy = {%s}\n", r.kind, r.keys(ranks, level), fabric, level, r.policy)
	// The default allocators evaluate thousands of topologies.
	if strings.Contains(fabric, "ocs-pods") && r.policy == "" {
		text = strings.Replace(text, "policy = {", `policy = {allocators = ["iter-halve", "prop-alloc"]`, 1)
	}
	s, err := Parse("text.toml", []byte(text), nil)
	var o *Outcome
	if err == nil {
		o, err = Run(context.Background(), s, RunOptions{Workers: 1})
	}

	// A rejected cell has the mark of its reason, without numbers and names of kinds.
	var faults Diagnostics
	if errors.As(err, &faults) {
		why := digits.ReplaceAllString(faults[0].Problem, "n")
		why = strings.ReplaceAll(why, fmt.Sprintf("%q", r.kind), "W")
		why = quotedFabric.ReplaceAllString(why, "fabric F")
		return m.reasonMark(why)
	}

	if err != nil {
		m.t.Errorf("%s: got error %v, want a run or a diagnostic", label, err)
		return "!"
	}
	for _, err := range o.PolicyErrors {
		m.t.Errorf("%s: a policy failed: %v", label, err)
	}

	// Each served row has the required metrics.
	served := 0
	for _, row := range o.Document.Rows {
		if len(row.Metrics) == 0 && row.Labels["unserved"] != "" {
			continue
		}
		served++
		for _, name := range m.requiredMetrics(s, level) {
			if _, ok := row.Metrics[name]; !ok {
				m.t.Errorf("%s: row of %s has no metric %s", label, row.Policy, name)
			}
		}
	}

	if served == 0 {
		m.t.Errorf("%s: served by no policy, want at least one", label)
	}
	return "+"
}

// requiredMetrics returns the metrics that every served row of a scenario must have.
func (m *compositionMatrix) requiredMetrics(s *Scenario, level string) []string {
	switch {
	case level == "static" && s.fabricDecision().policyKey == "allocators":
		return []string{"max_circuit_s", "max_circuit_bytes", "mean_circuit_bytes", "gap"}
	case level == "static":
		return []string{"max_link_load"}
	case s.isTraining() && s.usesPlanners(): // only all-to-alls take time
		return []string{"makespan_s", "exchange_exposed_s"}
	case s.isTraining() || s.isTrace() || s.Workload.rankProgram() != nil:
		return []string{"makespan_s", "nct"}
	case s.isCall() || s.plansNonAllToAll():
		return []string{"completion_s", "algorithm_bytes_per_s", "bound_completion_s"}
	}
	if s.Workload.Kind == "uniform-random" { // has no end
		return []string{"mean_delay_s"}
	}
	return []string{"completion_s"}
}
