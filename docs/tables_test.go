package docs_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// setting is a study over the workloads and one more key, with the values of the key.
type setting struct {
	study, unit string
	values      []int
	cellPart    string // format of the key's part of cell names
}

var (
	bandwidths = setting{"delta-fig6", "Gb/s", []int{200, 400, 800, 1600}, "fabric.port_bandwidth=%dGbps"}
	sequences  = setting{"delta-fig8", "tokens", []int{2048, 4096, 8192, 16384}, "workload.sequence=%d"}
)

// cellsAt returns the cells of a workload at a value of the key.
func (x setting) cellsAt(t testing.TB, m paperModel, v int) cells {
	return storedCells(t, x.study, "base="+m.scenario, fmt.Sprintf(x.cellPart, v))
}

// percent formats a ratio in per cent.
func percent(v float64) string { return fmt.Sprintf("%.1f", 100*v) }

// markdownTable returns a Markdown table. The columns of head and rows are separated by " | ".
func markdownTable(head string, rows []string) string {
	rule := strings.Repeat("|---", strings.Count(head, " | ")+1) + "|"
	return "| " + head + " |\n" + rule + "\n| " + strings.Join(rows, " |\n| ") + " |\n"
}

// workloadTable returns the makespans on the ideal fabric and the sizes of the task graphs.
func workloadTable(t testing.TB) string {
	var rows []string
	for _, m := range paperModels {
		f := reference(t, m.scenario)
		rows = append(rows, fmt.Sprintf("%s | %.6f | %.6f | %.0f | %.0f", m.name,
			f["compute_makespan_s"], f["makespan_s"], f["tasks"], f["transfers"]))
	}
	return markdownTable("model | C_compute, s | C_ideal, s | tasks of the complete DAG | transfers between pods", rows)
}

// gapTable compares the paper's NCT - 1 of delta-joint with sim's.
func gapTable(t testing.TB) string {
	var rows []string
	for _, m := range paperModels {
		gap := func(d cells) string { return percent(d.metric(t, "delta-joint", "nct") - 1) }
		rows = append(rows, fmt.Sprintf("%s | %s / %s | %s / %s | %s / %s | %s / %s", m.name,
			m.gap400, gap(bandwidths.cellsAt(t, m, 400)), m.gap1600, gap(bandwidths.cellsAt(t, m, 1600)),
			m.gap2048, gap(sequences.cellsAt(t, m, 2048)), m.gap16384, gap(sequences.cellsAt(t, m, 16384))))
	}
	return markdownTable("paper / sim, % | 400 Gb/s, 4096 | 1600 Gb/s, 4096 | 400 Gb/s, 2048 | 400 Gb/s, 16384", rows)
}

// nctTable returns the NCT of all policies over a setting.
func nctTable(t testing.TB, x setting) string {
	policies := append(append([]string{}, simplePolicies...), searchPolicies...)
	var rows []string
	for _, m := range paperModels {
		for _, v := range x.values {
			d := x.cellsAt(t, m, v)
			line := fmt.Sprintf("%s | %d", m.name, v)
			for _, p := range policies {
				line += fmt.Sprintf(" | %.4f", d.metric(t, p, "nct"))
			}
			rows = append(rows, line)
		}
	}
	return markdownTable("model | "+x.unit+" | "+strings.Join(policies, " | "), rows)
}

// maxReduction returns the largest reduction of the NCT by delta-joint, compared with baseline,
// and the value of the setting at which it occurs.
func maxReduction(t testing.TB, m paperModel, x setting, baseline func(cells) float64) string {
	best, value := -1.0, 0
	for _, v := range x.values {
		d := x.cellsAt(t, m, v)
		if c := 1 - d.metric(t, "delta-joint", "nct")/baseline(d); c > best {
			best, value = c, v
		}
	}
	return fmt.Sprintf("%s at %d", percent(best), value)
}

// reductionTable compares the largest reductions of the paper with sim's.
func reductionTable(t testing.TB) string {
	best := func(d cells) float64 { return d.baseline(t) }
	topo := func(d cells) float64 { return d.metric(t, "delta-topo", "nct") }
	var rows []string
	for _, m := range paperModels {
		rows = append(rows, fmt.Sprintf("%s | %s / %s | %s / %s | %s / %s", m.name,
			m.overBandwidths, maxReduction(t, m, bandwidths, best),
			m.overTopo, maxReduction(t, m, bandwidths, topo),
			m.overSequences, maxReduction(t, m, sequences, best)))
	}
	return markdownTable("paper / sim, % | best baseline, over Gb/s | delta-topo, over Gb/s | best baseline, over tokens", rows)
}

// proofTable summarises the optimality gaps of the search policies over all settings.
func proofTable(t testing.TB) string {
	var settings []cells
	for _, m := range paperModels {
		for _, v := range bandwidths.values {
			settings = append(settings, bandwidths.cellsAt(t, m, v))
		}
		for _, v := range sequences.values {
			if v != 4096 { // included in bandwidths
				settings = append(settings, sequences.cellsAt(t, m, v))
			}
		}
	}

	var rows []string
	for _, p := range searchPolicies {
		gap, over, proved := 0.0, 0.0, 0
		for _, d := range settings {
			if d.metric(t, p, "gap") <= 1e-6 {
				proved++
			}
			gap = max(gap, d.metric(t, p, "gap"))
			over = max(over, d.metric(t, p, "nct")/d.metric(t, "delta-topo", "nct")-1)
		}

		rows = append(rows, fmt.Sprintf("%s | %d of %d | %.2g | %.2g", p, proved, len(settings),
			100*gap, 100*over))
	}

	return markdownTable("policy | gap to bound at most 1e-6 | largest gap to bound, % | NCT above delta-topo's at most, %", rows)
}

// peakTable returns the plateaus of a pod's demand on the ideal fabric.
func peakTable(t testing.TB) string {
	const gbps = 1e9
	ideal := detail(t, "gpt7b")[0]
	var rows []string
	for _, s := range ideal.Demand {
		beforeSync, peak := 0.0, 0.0
		firstSync := 1e99 // start of the first gradient synchronisation
		for _, f := range ideal.Rates {
			firstSync = min(firstSync, f.TimeS[0])
		}
		for i, v := range s.Value {
			if s.TimeS[i] < firstSync {
				beforeSync = max(beforeSync, v)
			}
			peak = max(peak, v)
		}
		rows = append(rows, fmt.Sprintf("%s | %.3g x 400 | %.3g x 400", s.Name,
			beforeSync/(400*gbps), peak/(400*gbps)))
	}
	return markdownTable("sim, Gb/s | before synchronisation (paper 2 x 400) | peak (paper 4 x 400)", rows)
}

// rateTable returns the rates of the gradient synchronisation of stage 1.
func rateTable(t testing.TB) string {
	const gigabytes = 8e9
	var rows []string
	for _, p := range detail(t, "megatron462b") {
		if p.Policy != "delta-joint" && p.Policy != "delta-topo" {
			continue
		}
		for _, s := range p.Rates {
			if s.Name != "stage 1" {
				continue
			}
			steps := make([]string, 0, len(s.Value))
			for i, v := range s.Value[:len(s.Value)-1] {
				steps = append(steps, fmt.Sprintf("%.4g for %.3f s", v/gigabytes, s.TimeS[i+1]-s.TimeS[i]))
			}
			paper := map[string]string{"delta-joint": "200 throughout",
				"delta-topo": "150 under contention"}[p.Policy]
			rows = append(rows, fmt.Sprintf("%s | %s | %s", p.Policy, paper, strings.Join(steps, ", then ")))
		}
	}

	return markdownTable("GB/s | paper | sim", rows)
}

// portTable compares the ports that the paper's policies use with sim's, with and without a
// tolerance (Fig. 9).
func portTable(t testing.TB) string {
	var rows []string
	for _, m := range paperModels {
		line := m.name
		for _, p := range []struct{ policy, paper string }{{"delta-topo", m.portsTopo}, {"delta-joint", m.portsJoint}} {
			line += " | " + p.paper
			for _, tolerance := range []string{"0", "0.001"} {
				d := storedCells(t, "delta-fig9", "base="+m.scenario, "policy.port_tolerance="+tolerance)
				line += " | " + percent(d.metric(t, p.policy, "port_ratio"))
			}
		}
		rows = append(rows, line)
	}
	return markdownTable("ports, % | delta-topo: paper | sim, 0 | sim, 0.001 | delta-joint: paper | sim, 0 | sim, 0.001", rows)
}

// borrowerTable returns the NCT of the borrowing jobs with the ports of different lenders (Fig.
// 10).
func borrowerTable(t testing.TB) string {
	lenders := []string{"none_0", "delta-topo_0", "delta-joint_0", "delta-topo_0.001",
		"delta-joint_0.001", "delta-topo_0.02", "delta-joint_0.02"}
	var rows []string
	for _, m := range paperModels {
		if m.borrowerNCT == "" {
			continue
		}
		for _, borrower := range []string{"best baseline", "delta-topo", "delta-joint"} {
			paper := "-"
			if borrower == "delta-joint" {
				paper = m.borrowerNCT
			}
			line := fmt.Sprintf("%s, %s | %s", m.name, borrower, paper)
			for _, lender := range lenders {
				d := storedCells(t, "delta-fig10", "base="+m.scenario, "donor="+lender)
				v := d.baseline(t)
				if borrower != "best baseline" {
					v = d.metric(t, borrower, "nct")
				}
				line += " | " + percent(v-1)
			}

			rows = append(rows, line)
		}
	}

	return markdownTable("NCT - 1, % | paper: before, after | before | topo, 0 | joint, 0 | topo, 0.001 | joint, 0.001 | topo, 0.02 | joint, 0.02", rows)
}

// lenderTable returns the ports that the lending jobs of Fig. 10 keep, and their NCT.
func lenderTable(t testing.TB) string {
	var rows []string
	for _, m := range paperModels {
		if m.borrowerNCT == "" {
			continue
		}
		line := m.name
		for _, lender := range []string{"delta-topo_0", "delta-joint_0", "delta-topo_0.001", "delta-joint_0.001", "delta-topo_0.02", "delta-joint_0.02"} {
			d := storedCells(t, "delta-fig10", "base="+m.scenario, "donor="+lender)
			line += fmt.Sprintf(" | %s; %.4f",
				percent(d.metric(t, "delta-joint", "lender_port_ratio")),
				d.metric(t, "delta-joint", "lender_nct"))
		}
		rows = append(rows, line)
	}
	return markdownTable("ports kept, %; NCT of the lending job | topo, 0 | joint, 0 | topo, 0.001 | joint, 0.001 | topo, 0.02 | joint, 0.02", rows)
}

// timeTable returns the decision times of the search policies (Fig. 11).
func timeTable(t testing.TB) string {
	seconds := solveTimes(t, "delta-fig11")
	var rows []string
	for _, m := range paperModels {
		if m.timeHotStart == "" {
			continue
		}
		for _, n := range []int{64, 128, 256, 512} {
			line := fmt.Sprintf("%s | %d", m.name, n)
			for _, p := range searchPolicies {
				line += fmt.Sprintf(" | %.2f", seconds[fmt.Sprintf("%s/%s/%d", p, m.scenario, n)])
			}
			rows = append(rows, line)
		}
		rows = append(rows, fmt.Sprintf("%s, paper | longest | tens | %s | %s; %s with hot start",
			m.name, m.timeTopo, m.timeJoint, m.timeHotStart))
	}
	return markdownTable("seconds | micro-batches | delta-fast | delta-topo | delta-joint", rows) +
		fmt.Sprintf("\nOn %s/%s with %d processors.\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}
