package scenarios

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mappedTraining is a training step with its collective calls in the task graph, on a torus of
// 16 chips.
const mappedTraining = `
[workload]
kind = "training"
model = "gpt-7b"
sequence = 4096
microbatches = 4
tp = 2
pp = 4
gpus = 16
collectives = "graph"
pieces = 1
[fabric]
kind = "torus"
dims = [4, 4]
link_rate = "400Gbps"
[engine]
level = "flow"
[policy]
routers = ["dor"]
`

// TestMappings checks the mappings of ranks to a torus. The default is the numbering order of
// the ranks, and a file equals the order with the same content. Each row of a comparison equals
// a run with its mapping alone.
//
// Mapping "optimised" has the minimum cost, at least its bound. Under dimension order the loads
// of all links add up to the bytes times hops of the mapping.
func TestMappings(t *testing.T) {
	unmapped := runText(t, mappedTraining).Document
	if _, hasCost := unmapped.Rows[0].Metrics["hop_bytes"]; hasCost {
		t.Error("got a mapping cost in a scenario without a mapping, want none")
	}
	again := runText(t, mappedTraining, `policy.mapping="tp-cp-ep-pp-dp"`).Document
	if again.Digest != unmapped.Digest {
		t.Error("got another digest if the default order is given, want the same")
	}

	// The file has the content of order tp-cp-ep-dp-pp.
	file := filepath.Join(t.TempDir(), "by-hand.txt")
	var lines strings.Builder
	for rank := range 16 { // in order tp, dp, pp; the rank number is tp + 2 (pp + 4 dp)
		tp, pp, dp := rank%2, rank/2%4, rank/8
		fmt.Fprintln(&lines, tp+2*(dp+2*pp))
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}

	list := []string{"tp-cp-ep-pp-dp", "tp-cp-ep-dp-pp", "optimised", "pp-dp-tp", "by-hand.txt"}
	all := runText(t, mappedTraining,
		fmt.Sprintf(`policy.mappings=[%q, %q, %q, %q, %q]`, list[0], list[1], list[2], list[3],
			file)).Document
	minHopBytes := all.Rows[2].Metrics["hop_bytes"]
	for i, row := range all.Rows {
		m := row.Metrics
		if row.Policy != list[i] {
			t.Fatalf("row %d: got policy %s, want %s", i, row.Policy, list[i])
		}
		if m["hop_bytes"] < minHopBytes || m["bound_hop_bytes"] > minHopBytes || m["bound_hop_bytes"] <= 0 {
			t.Errorf("%s: got %g bytes x hops and bound %g, want at least the %g of optimised "+
				"and a bound of at most that",
				row.Policy, m["hop_bytes"], m["bound_hop_bytes"], minHopBytes)
		}

		// Dimension order uses shortest paths. Loads are in messages of the largest flow's size.
		total := m["average_hops"] * m["hop_bytes"] / m["hops_per_byte"]
		if math.Abs(total/m["hop_bytes"]-1) > 1e-9 {
			t.Errorf("%s: got %g hops per byte on links, want %g as of the mapping",
				row.Policy, m["average_hops"], m["hops_per_byte"])
		}

		mapping := list[i]
		if i == 4 {
			mapping = file
		}
		single := runMetrics(t, mappedTraining, fmt.Sprintf("policy.mapping=%q", mapping))
		if single["makespan_s"] != m["makespan_s"] || single["nct"] != m["nct"] {
			t.Errorf("%s: got %g s, want %g s as in a run with this mapping alone",
				row.Policy, m["makespan_s"], single["makespan_s"])
		}
	}

	if a, b := fmt.Sprint(all.Rows[1].Metrics), fmt.Sprint(all.Rows[4].Metrics); a != b {
		t.Errorf("got, for an order,\n%s\nwant, as for a file with the same content,\n%s", a, b)
	}
	if m := all.Rows[0].Metrics; m["makespan_s"] != unmapped.Rows[0].Metrics["makespan_s"] ||
		m["nct"] != unmapped.Rows[0].Metrics["nct"] {
		t.Errorf("the default order takes %g s, want %g s as without a mapping",
			m["makespan_s"], unmapped.Rows[0].Metrics["makespan_s"])
	}
}

// TestMappingRoundTrip checks that a scenario that read a mapping file is the same when its
// TOML, which contains the mapping, is read back. So is its restriction to each of its
// mappings.
func TestMappingRoundTrip(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.txt")
	if err := os.WriteFile(file, []byte("15\n14\n13\n12\n11\n10\n9\n8\n7\n6\n5\n4\n3\n2\n1\n0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustParse(t, mappedTraining, fmt.Sprintf(`policy.mappings=["tp-cp-ep-dp-pp", %q]`, file))
	for _, original := range []*Scenario{s, s.WithPolicy("m.txt"), s.WithPolicy("tp-cp-ep-dp-pp")} {
		reread, err := Parse("x.toml", original.TOML(), nil)
		if err != nil {
			t.Fatalf("not read back: %v, of\n%s", err, original.TOML())
		}
		if reread.Digest() != original.Digest() {
			t.Errorf("got, when read back,\n%[2]s\nwant\n%[1]s", original.TOML(), reread.TOML())
		}
	}
}

// TestMappingsOnTiers checks mappings on two tiers. If all calls are in the task graph, hops
// are weighted by the time per byte of their links, so that "optimised" assigns tensor
// parallelism to the faster links. If calls lengthen passes instead, domains are mapped as
// units. Domains with a failed chip get no ranks.
func TestMappingsOnTiers(t *testing.T) {
	tiers := strings.Replace(mappedTraining, `[fabric]
kind = "torus"
dims = [4, 4]
link_rate = "400Gbps"
`,
		"[fabric]\nkind = \"tiers\"\ntier = [{kind = \"electrical\", gpus = 4, link_rate = \"3.2Tbps\"}, {kind = \"torus\", dims = [4, 4], link_rate = \"400Gbps\"}]\n", 1)

	contracted := strings.NewReplacer("collectives = \"graph\"\npieces = 1\n", "", "tp = 2",
		"tp = 4", "pp = 4", "pp = 2").Replace(tiers)
	for _, text := range []string{tiers, contracted} {
		d := runText(t, text, `policy.mappings=["tp-cp-ep-pp-dp", "tp-cp-ep-dp-pp", "optimised"]`).Document
		unmapped := runText(t, text).Document
		if d.Reference["makespan_s"] != unmapped.Reference["makespan_s"] ||
			d.Rows[0].Metrics["makespan_s"] != unmapped.Rows[0].Metrics["makespan_s"] {
			t.Errorf("got reference %v with the default order, want %v as without a mapping",
				d.Reference, unmapped.Reference)
		}

		for _, row := range d.Rows {
			m, best := row.Metrics, d.Rows[2].Metrics
			if m["hop_bytes"] < best["hop_bytes"] || m["bound_hop_bytes"] <= 0 ||
				m["bound_hop_bytes"] > best["hop_bytes"] {
				t.Errorf("%s: got %g bytes x hops and bound %g, want at least the %g of "+
					"optimised and a bound of at most that",
					row.Policy, m["hop_bytes"], m["bound_hop_bytes"], best["hop_bytes"])
			}
			if m["makespan_s"] < 0.98*best["makespan_s"] {
				t.Errorf("%s takes %g s, want at least 0.98 of the %g s of optimised",
					row.Policy, m["makespan_s"], best["makespan_s"])
			}
		}
	}

	if m := runMetrics(t, contracted, `policy.mapping="tp=y,pp=x,dp=z"`,
		"fabric.tier.1.dims=[2, 4, 2]", "fabric.tier.0.gpus=2", "workload.collectives=graph", `policy.routers=["dor"]`); m["makespan_s"] <= 0 {
		t.Errorf("got %v, want a makespan above 0", m)
	}
	for _, chip := range []int{0, 3} { // a chip of the first domain; the ranks are in the second to fifth
		m := runMetrics(t, contracted, "fabric.tier.1.dims=[5, 4]",
			fmt.Sprintf("fabric.tier.1.failed_chips=[%d]", chip), `policy.routers=["wild-first"]`,
			`policy.mapping="tp-cp-ep-dp-pp"`)
		// Domains are rows of the torus, one or two hops apart along x.
		if got := m["hops_per_byte"]; got < 1 || got > 2 {
			t.Errorf("without chip %d: got %g hops per byte, want 1 to 2", chip, got)
		}
	}
}
