package scenarios

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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

// TestMappings: the order in which ranks are numbered is the default, by any name; each row of a comparison is that of
// its mapping alone; a file that lists what an order says is that order; and what is searched for costs the least, no
// less than its bound, and loads the links with bytes times hops in all.
func TestMappings(t *testing.T) {
	unmapped := runText(t, mappedTraining).Document
	if _, hasCost := unmapped.Rows[0].Metrics["hop_bytes"]; hasCost {
		t.Error("a scenario that asks for no mapping has its cost")
	}
	if again := runText(t, mappedTraining, `policy.mapping="tp-cp-ep-pp-dp"`).Document; again.Digest != unmapped.Digest {
		t.Error("the default order has another digest where it is written")
	}
	file := filepath.Join(t.TempDir(), "by-hand.txt")
	var lines strings.Builder
	for rank := range 16 { // tp, dp and then pp: rank tp + 2 (pp + 4 dp)
		tp, pp, dp := rank%2, rank/2%4, rank/8
		fmt.Fprintln(&lines, tp+2*(dp+2*pp))
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	list := []string{"tp-cp-ep-pp-dp", "tp-cp-ep-dp-pp", "optimised", "pp=x,dp=y", "by-hand.txt"}
	list[3] = "pp-dp-tp"
	all := runText(t, mappedTraining, fmt.Sprintf(`policy.mappings=[%q, %q, %q, %q, %q]`, list[0], list[1], list[2], list[3], file)).Document
	minHopBytes := all.Rows[2].Metrics["hop_bytes"]
	for i, row := range all.Rows {
		m := row.Metrics
		if row.Policy != list[i] {
			t.Fatalf("row %d is %s", i, row.Policy)
		}
		if m["hop_bytes"] < minHopBytes || m["bound_hop_bytes"] > minHopBytes || m["bound_hop_bytes"] <= 0 {
			t.Errorf("%s: %g bytes x hops, at least %g; what is searched for has %g", row.Policy, m["hop_bytes"], m["bound_hop_bytes"], minHopBytes)
		}
		// dimension order takes shortest paths: messages are of the largest flow's bytes, and loads of messages
		if total := m["average_hops"] * m["hop_bytes"] / m["hops_per_byte"]; math.Abs(total/m["hop_bytes"]-1) > 1e-9 {
			t.Errorf("%s: a byte takes %g hops on links and %g of the mapping", row.Policy, m["average_hops"], m["hops_per_byte"])
		}
		single := runText(t, mappedTraining, `policy.mapping="`+map[bool]string{true: file, false: list[i]}[i == 4]+`"`).Document.Rows[0].Metrics
		if single["makespan_s"] != m["makespan_s"] || single["nct"] != m["nct"] {
			t.Errorf("%s: %g s, alone %g s", row.Policy, m["makespan_s"], single["makespan_s"])
		}
	}
	if a, b := fmt.Sprint(all.Rows[1].Metrics), fmt.Sprint(all.Rows[4].Metrics); a != b {
		t.Errorf("an order:\n%s\nthe same in a file:\n%s", a, b)
	}
	if m := all.Rows[0].Metrics; m["makespan_s"] != unmapped.Rows[0].Metrics["makespan_s"] || m["nct"] != unmapped.Rows[0].Metrics["nct"] {
		t.Errorf("the default order takes %g s, without keys %g s", m["makespan_s"], unmapped.Rows[0].Metrics["makespan_s"])
	}
}

// TestMappingIsKept: a scenario with the rows of a file written out is that which read it, and so is each with one of
// its mappings.
func TestMappingRoundTrip(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.txt")
	if err := os.WriteFile(file, []byte("15\n14\n13\n12\n11\n10\n9\n8\n7\n6\n5\n4\n3\n2\n1\n0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Parse("x.toml", []byte(mappedTraining), []string{fmt.Sprintf(`policy.mappings=["tp-cp-ep-dp-pp", %q]`, file)})
	if err != nil {
		t.Fatal(err)
	}
	for _, original := range []*Scenario{s, s.WithPolicy("m.txt"), s.WithPolicy("tp-cp-ep-dp-pp")} {
		reread, err := Parse("x.toml", original.TOML(), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, original.TOML())
		}
		if reread.Digest() != original.Digest() {
			t.Errorf("%s\nis read as\n%s", original.TOML(), reread.TOML())
		}
	}
}

// TestMappingsOnTiers: with all calls on the network of tiers a hop counts by how long a byte takes on it, so that what
// is searched for has tensor parallelism on the faster links; where calls lengthen passes, domains move whole, and
// domains with a chip that is down have no ranks.
func TestMappingsOnTiers(t *testing.T) {
	tiers := strings.Replace(mappedTraining, "[fabric]\nkind = \"torus\"\ndims = [4, 4]\nlink_rate = \"400Gbps\"\n",
		"[fabric]\nkind = \"tiers\"\ntier = [{kind = \"electrical\", gpus = 4, link_rate = \"3.2Tbps\"}, {kind = \"torus\", dims = [4, 4], link_rate = \"400Gbps\"}]\n", 1)
	contracted := strings.NewReplacer("collectives = \"graph\"\npieces = 1\n", "", "tp = 2", "tp = 4", "pp = 4", "pp = 2").Replace(tiers)
	for _, text := range []string{tiers, contracted} {
		d := runText(t, text, `policy.mappings=["tp-cp-ep-pp-dp", "tp-cp-ep-dp-pp", "optimised"]`).Document
		unmapped := runText(t, text).Document
		if d.Reference["makespan_s"] != unmapped.Reference["makespan_s"] || d.Rows[0].Metrics["makespan_s"] != unmapped.Rows[0].Metrics["makespan_s"] {
			t.Errorf("%v by a mapping, %v without one", d.Reference, unmapped.Reference)
		}
		for _, row := range d.Rows {
			m, best := row.Metrics, d.Rows[2].Metrics
			if m["hop_bytes"] < best["hop_bytes"] || m["bound_hop_bytes"] <= 0 || m["bound_hop_bytes"] > best["hop_bytes"] {
				t.Errorf("%s: %g bytes x hops, at least %g; what is searched for has %g", row.Policy, m["hop_bytes"], m["bound_hop_bytes"], best["hop_bytes"])
			}
			if m["makespan_s"] < 0.98*best["makespan_s"] {
				t.Errorf("%s takes %g s, and what is searched for %g", row.Policy, m["makespan_s"], best["makespan_s"])
			}
		}
	}
	if m := runText(t, contracted, `policy.mapping="tp=y,pp=x,dp=z"`, "fabric.tier.1.dims=[2, 4, 2]", "fabric.tier.0.gpus=2", "workload.collectives=graph", `policy.routers=["dor"]`).Document.Rows[0].Metrics; m["makespan_s"] <= 0 {
		t.Error(m)
	}
	for _, chip := range []int{0, 3} { // of the first domain: ranks are on the second to fifth
		m := runText(t, contracted, "fabric.tier.1.dims=[5, 4]", fmt.Sprintf("fabric.tier.1.failed_chips=[%d]", chip), `policy.routers=["wild-first"]`,
			`policy.mapping="tp-cp-ep-dp-pp"`).Document.Rows[0].Metrics
		if got := m["hops_per_byte"]; got < 1 || got > 2 { // whole rows of the torus: one or two along x
			t.Errorf("without chip %d a byte takes %g hops", chip, got)
		}
	}
}
