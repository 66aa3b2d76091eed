package docs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sim/internal/numbers"
	"sim/scenarios/accuracy"
)

// TestAccuracy checks the tables of accuracy.md, which follow from the stored predictions.
func TestAccuracy(t *testing.T) {
	checkTables(t, "accuracy.md", []generatedTable{
		{name: "classes", render: classTable},
		{name: "worst", render: worstTable},
		{name: "machines", render: machineTable},
		{name: "series", render: seriesTable},
		{name: "ablations", render: ablationTable},
		{name: "noise", render: noiseTable},
	})
}

// factor formats a factor, or "-" for 0, which stands for no rows.
func factor(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}

// classTable returns the errors of the classes.
func classTable(testing.TB) string {
	var rows []string
	for _, s := range accuracy.Summaries(accuracy.Stored()) {
		rows = append(rows, fmt.Sprintf("%s | %d | %d | %d | %s | %s | %s | %s", s.Title, s.Points, s.Fitted, s.Predicted,
			factor(s.FitFactor), factor(s.TypicalFactor), factor(s.MedianFactor), factor(s.P90Factor)))
	}
	return markdownTable("class | rows | fitted | predicted | factor of fitted rows | typical factor | median | 90 %", rows)
}

// worstTable returns the worst prediction of each class with its cause.
func worstTable(t testing.TB) string {
	var rows []string
	for _, s := range accuracy.Summaries(accuracy.Stored()) {
		if s.Worst == nil {
			continue
		}
		p := s.Worst
		cause := causes[p.Row.ID]
		if cause == "" {
			t.Errorf("the worst row of %s is %s; add its cause to causes", s.Class, p.Row.ID)
		}
		rows = append(rows, fmt.Sprintf("%s | %s | %.2f | %s", s.Title, p.Row.ID, p.Ratio(), cause))
	}
	return markdownTable("class | worst row | predicted / measured | cause", rows)
}

// machineTable returns the typical factor of each class by machine.
func machineTable(testing.TB) string {
	var rows []string
	var machines []string
	byMachine := map[string][]accuracy.Prediction{}
	for _, p := range accuracy.Stored() {
		if p.Reason != "" {
			continue
		}
		if byMachine[p.Machine] == nil {
			machines = append(machines, p.Machine)
		}
		byMachine[p.Machine] = append(byMachine[p.Machine], p)
	}
	slices.Sort(machines)
	for _, machine := range machines {
		line := ""
		for _, s := range accuracy.Summaries(byMachine[machine]) {
			if s.Predicted > 0 {
				line += fmt.Sprintf("; %s %.2f (%d)", s.Title, s.TypicalFactor, s.Predicted)
			}
		}
		if line != "" {
			rows = append(rows, machine+" | "+strings.TrimPrefix(line, "; "))
		}
	}
	return markdownTable("machine | typical factors (predictions)", rows)
}

// seriesTable returns the errors of ratios within series of training rows.
func seriesTable(testing.TB) string {
	s := accuracy.SummariseRatios(accuracy.Ratios(accuracy.Stored()))
	worst := "-"
	if r := s.Worst; r != nil {
		worst = fmt.Sprintf("%s relative to %s: %.3f, measured %.3f", r.Row.Row.ID, r.Base.Row.ID, r.Predicted, r.Measured)
	}
	return markdownTable("ratios | fitted | predicted | mean error, points | median | 90 % | worst", []string{
		fmt.Sprintf("%d | %d | %d | %.1f | %.1f | %.1f | %s", s.Points, s.Fitted, s.Predicted, s.Mean, s.Median, s.P90, worst),
	})
}

// noiseTable returns how far measurements of the same call on the same hardware differ between
// clusters: the ratio of the longest and the shortest time.
func noiseTable(testing.TB) string {
	type spread struct {
		shortest, longest float64
		sources           map[string]bool
	}
	spreads := map[string]*spread{}
	var order []string
	for _, r := range accuracy.Ledger() {
		machine, note, err := accuracy.MachineFor(r)
		size := r.Parameters["size_bytes"]
		if err != nil || note != "" || size == "" || r.Unit != "us" {
			continue
		}
		key := fmt.Sprint(accuracy.ClassName(r), ";", machine, r.GPUs, r.Nodes, r.Parameters["collective"], size)
		s := spreads[key]
		if s == nil {
			s = &spread{r.Value, r.Value, map[string]bool{}}
			spreads[key], order = s, append(order, key)
		}
		s.shortest, s.longest, s.sources[r.Source] = min(s.shortest, r.Value), max(s.longest, r.Value), true
	}

	ratios := map[string][]float64{}
	for _, key := range order {
		s := spreads[key]
		class, _, _ := strings.Cut(key, ";")
		if len(s.sources) < 2 {
			continue
		}
		ratios[class] = append(ratios[class], s.longest/s.shortest)
	}
	var rows []string
	for _, s := range accuracy.Summaries(accuracy.Stored()) {
		v := ratios[s.Class]
		if v == nil {
			continue
		}
		rows = append(rows, fmt.Sprintf("%s | %d | %.2f | %.2f | %.2f", s.Title, len(v), numbers.Quantile(v, 0.5), numbers.Quantile(v, 0.9), slices.Max(v)))
	}
	return markdownTable("class | calls measured by several sources | median of longest / shortest | 90 % | largest", rows)
}

// ablationTable returns the typical factors without parts of the models.
func ablationTable(testing.TB) string {
	complete := map[string]accuracy.Summary{}
	for _, s := range accuracy.Summaries(accuracy.Stored()) {
		complete[s.Class] = s
	}
	var rows []string
	for _, a := range accuracy.Ablations() {
		s := complete[a.Class]
		with, without := factor(s.TypicalFactor), factor(a.TypicalFactor)
		if s.Predicted == 0 {
			with, without = factor(s.FitFactor)+" (fitted)", factor(a.FitFactor)+" (fitted)"
		}
		rows = append(rows, fmt.Sprintf("%s | %s | %s | %s", a.Part, s.Title, with, without))
	}
	return markdownTable("part left out | class | typical factor with it | without it", rows)
}

// causes are the causes of the errors of rows that are the worst of their class.
var causes = map[string]string{
	"C-B200-A2A16V1-009":        "all-to-alls between nodes reach 45 % of the rate of the interfaces that all-reduces of the same cluster reach to 97 %; no row of them may be fitted",
	"C-H100-A3MEGA-16-001":      "the time of a hop with GPUDirect-TCPXO is not published; its profile has the time of EFA",
	"C-B200-LAMBDA-16-010":      "512 KiB take 241 us and 1 MiB 116 us in the source, as no other machine: an outlier",
	"K-AZ-NVBW-A100_v4-002":     "copies to the host reach a quarter of the rate of copies from it on this machine alone, which suggests memory of another socket",
	"M-PPLX-4096-020":           "5,071 us at 8 GPUs and 1,062 us at 16 in one source, where another library has 1,810 and 1,864: the source seems to have swapped them",
	"T-MB-2511-Qwen330Ba3B-003": "the same step took half the time in the release before and a third two releases later: this release drops no tokens and does not yet fuse the kernels of experts",
	"T-TT-ASYNCTP-64-006":       "FP8 with a scale per row is slower than BF16 in this source, and is predicted as FP8 with a scale per tensor",
}
