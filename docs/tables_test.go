package docs_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// setting is a study over one key beside the workload, and the values of it.
type setting struct {
	study, what string
	values      []int
	part        string // of a cell's name, for fmt with a value
}

var (
	bandwidths = setting{"delta-fig6", "Gb/s", []int{200, 400, 800, 1600}, "fabric.port_bandwidth=%dGbps"}
	sequences  = setting{"delta-fig8", "tokens", []int{2048, 4096, 8192, 16384}, "workload.sequence=%d"}
)

// of returns a workload's cells at a value.
func (x setting) of(t testing.TB, m model, v int) cells {
	return stored(t, x.study, "base="+m.scenario, fmt.Sprintf(x.part, v))
}

func percent(v float64) string { return fmt.Sprintf("%.1f", 100*v) }

// lines makes a Markdown table of its head, columns apart by " | ".
func lines(head string, rows []string) string {
	rule := strings.Repeat("|---", strings.Count(head, " | ")+1) + "|"
	return "| " + head + " |\n" + rule + "\n| " + strings.Join(rows, " |\n| ") + " |\n"
}

func workloads(t testing.TB) string {
	var rows []string
	for _, m := range models {
		f := reference(t, m.scenario)
		rows = append(rows, fmt.Sprintf("%s | %.6f | %.6f | %.0f | %.0f", m.name, f["compute_makespan_s"], f["makespan_s"], f["tasks"], f["transfers"]))
	}
	return lines("model | C_compute, s | C_ideal, s | tasks of the complete DAG | transfers between pods", rows)
}

func gaps(t testing.TB) string {
	var rows []string
	for _, m := range models {
		gap := func(d cells) string { return percent(d.of(t, "delta-joint", "nct") - 1) }
		rows = append(rows, fmt.Sprintf("%s | %s / %s | %s / %s | %s / %s | %s / %s", m.name,
			m.gap400, gap(bandwidths.of(t, m, 400)), m.gap1600, gap(bandwidths.of(t, m, 1600)),
			m.gap2048, gap(sequences.of(t, m, 2048)), m.gap16384, gap(sequences.of(t, m, 16384))))
	}
	return lines("paper / sim, % | 400 Gb/s, 4096 | 1600 Gb/s, 4096 | 400 Gb/s, 2048 | 400 Gb/s, 16384", rows)
}

// sweep prints the NCT of every policy over a setting.
func sweep(t testing.TB, x setting) string {
	all := append(append([]string{}, baselines...), searches...)
	var rows []string
	for _, m := range models {
		for _, v := range x.values {
			d := x.of(t, m, v)
			line := fmt.Sprintf("%s | %d", m.name, v)
			for _, p := range all {
				line += fmt.Sprintf(" | %.4f", d.of(t, p, "nct"))
			}
			rows = append(rows, line)
		}
	}
	return lines("model | "+x.what+" | "+strings.Join(all, " | "), rows)
}

// largest returns the largest reduction of delta-joint against what from says, and the setting where it is.
func largest(t testing.TB, m model, x setting, from func(cells) float64) string {
	best, at := -1.0, 0
	for _, v := range x.values {
		d := x.of(t, m, v)
		if c := 1 - d.of(t, "delta-joint", "nct")/from(d); c > best {
			best, at = c, v
		}
	}
	return fmt.Sprintf("%s at %d", percent(best), at)
}

func reductions(t testing.TB) string {
	best := func(d cells) float64 { return d.baseline(t) }
	topo := func(d cells) float64 { return d.of(t, "delta-topo", "nct") }
	var rows []string
	for _, m := range models {
		rows = append(rows, fmt.Sprintf("%s | %s / %s | %s / %s | %s / %s", m.name,
			m.overBandwidths, largest(t, m, bandwidths, best),
			m.overTopo, largest(t, m, bandwidths, topo),
			m.overSequences, largest(t, m, sequences, best)))
	}
	return lines("paper / sim, % | best baseline, over Gb/s | delta-topo, over Gb/s | best baseline, over tokens", rows)
}

// proofs says over all settings how good the answers are.
func proofs(t testing.TB) string {
	var settings []cells
	for _, m := range models {
		for _, v := range bandwidths.values {
			settings = append(settings, bandwidths.of(t, m, v))
		}
		for _, v := range sequences.values {
			if v != 4096 { // the bandwidths have that one
				settings = append(settings, sequences.of(t, m, v))
			}
		}
	}
	var rows []string
	for _, p := range searches {
		gap, over, proved := 0.0, 0.0, 0
		for _, d := range settings {
			if d.of(t, p, "gap") <= 1e-6 {
				proved++
			}
			gap = max(gap, d.of(t, p, "gap"))
			over = max(over, d.of(t, p, "nct")/d.of(t, "delta-topo", "nct")-1)
		}
		rows = append(rows, fmt.Sprintf("%s | %d of %d | %.2g | %.2g", p, proved, len(settings), 100*gap, 100*over))
	}
	return lines("policy | gap to bound at most 1e-6 | largest gap to bound, % | NCT above delta-topo's at most, %", rows)
}

// peaks reads the plateaus of a pod's demand off the ideal fabric.
func peaks(t testing.TB) string {
	const gbps = 1e9
	ideal := detail(t, "gpt7b")[0]
	var rows []string
	for _, s := range ideal.Demand {
		most, synchronising := 0.0, 0.0
		first := 1e99 // start of the first gradient synchronisation
		for _, f := range ideal.Rates {
			first = min(first, f.TimeS[0])
		}
		for i, v := range s.Value {
			if s.TimeS[i] < first {
				most = max(most, v)
			}
			synchronising = max(synchronising, v)
		}
		rows = append(rows, fmt.Sprintf("%s | %.3g x 400 | %.3g x 400", s.Name, most/(400*gbps), synchronising/(400*gbps)))
	}
	return lines("sim, Gb/s | before synchronisation (paper 2 x 400) | peak (paper 4 x 400)", rows)
}

// rates reads the rates of stage 1's synchronisation off the plays.
func rates(t testing.TB) string {
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
			paper := map[string]string{"delta-joint": "200 throughout", "delta-topo": "150 under contention"}[p.Policy]
			rows = append(rows, fmt.Sprintf("%s | %s | %s", p.Policy, paper, strings.Join(steps, ", then ")))
		}
	}
	return lines("GB/s | paper | sim", rows)
}

func ports(t testing.TB) string {
	var rows []string
	for _, m := range models {
		line := m.name
		for _, p := range []struct{ policy, paper string }{{"delta-topo", m.portsTopo}, {"delta-joint", m.portsJoint}} {
			line += " | " + p.paper
			for _, tolerance := range []string{"0", "0.001"} {
				d := stored(t, "delta-fig9", "base="+m.scenario, "policy.port_tolerance="+tolerance)
				line += " | " + percent(d.of(t, p.policy, "port_ratio"))
			}
		}
		rows = append(rows, line)
	}
	return lines("ports, % | delta-topo: paper | sim, 0 | sim, 0.001 | delta-joint: paper | sim, 0 | sim, 0.001", rows)
}

// donors prints Fig. 10: NCT above the ideal with the ports that another job gives back.
func donors(t testing.TB) string {
	places := []string{"none_0", "delta-topo_0", "delta-joint_0", "delta-topo_0.001", "delta-joint_0.001", "delta-topo_0.02", "delta-joint_0.02"}
	var rows []string
	for _, m := range models {
		if m.donated == "" {
			continue
		}
		for _, recipient := range []string{"best baseline", "delta-topo", "delta-joint"} {
			paper := "-"
			if recipient == "delta-joint" {
				paper = m.donated
			}
			line := fmt.Sprintf("%s, %s | %s", m.name, recipient, paper)
			for _, place := range places {
				d := stored(t, "delta-fig10", "base="+m.scenario, "donor="+place)
				v := d.baseline(t)
				if recipient != "best baseline" {
					v = d.of(t, recipient, "nct")
				}
				line += " | " + percent(v-1)
			}
			rows = append(rows, line)
		}
	}
	return lines("NCT - 1, % | paper: before, after | before | topo, 0 | joint, 0 | topo, 0.001 | joint, 0.001 | topo, 0.02 | joint, 0.02", rows)
}

// donations prints what the lending jobs of Fig. 10 keep, and what it costs them.
func donations(t testing.TB) string {
	var rows []string
	for _, m := range models {
		if m.donated == "" {
			continue
		}
		line := m.name
		for _, place := range []string{"delta-topo_0", "delta-joint_0", "delta-topo_0.001", "delta-joint_0.001", "delta-topo_0.02", "delta-joint_0.02"} {
			d := stored(t, "delta-fig10", "base="+m.scenario, "donor="+place)
			line += fmt.Sprintf(" | %s; %.4f", percent(d.of(t, "delta-joint", "donor_port_ratio")), d.of(t, "delta-joint", "donor_nct"))
		}
		rows = append(rows, line)
	}
	return lines("ports kept, %; NCT of the lending job | topo, 0 | joint, 0 | topo, 0.001 | joint, 0.001 | topo, 0.02 | joint, 0.02", rows)
}

func times(t testing.TB) string {
	took := solveTimes(t, "delta-fig11")
	var rows []string
	for _, m := range models {
		if m.hot == "" {
			continue
		}
		for _, n := range []int{64, 128, 256, 512} {
			line := fmt.Sprintf("%s | %d", m.name, n)
			for _, p := range searches {
				line += fmt.Sprintf(" | %.2f", took[fmt.Sprintf("%s/%s/%d", p, m.scenario, n)])
			}
			rows = append(rows, line)
		}
		rows = append(rows, fmt.Sprintf("%s, paper | longest | tens | %s | %s; %s with hot start", m.name, m.timeTopo, m.timeJoint, m.hot))
	}
	return lines("seconds | micro-batches | delta-fast | delta-topo | delta-joint", rows) +
		fmt.Sprintf("\nOn %s/%s with %d processors.\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}
