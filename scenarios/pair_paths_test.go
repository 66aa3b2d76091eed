package scenarios

import (
	"strings"
	"testing"

	"sim/engine"
)

// twoLevelTree is a scenario with eight hosts on a fat tree of two levels of 4-port switches.
const twoLevelTree = `
[workload]
kind = "all-to-all"
message = "8KB"
[fabric]
kind = "graph"
generator = "fat-tree"
switch_ports = 4
levels = 2
link_rate = "50GB/s"
[policy]
routers = ["shortest"]
[engine]
level = "static"
`

// TestPathsOfPairs checks the paths of all pairs that figures show. They reach their
// destinations (result.Detail.Check). If each pair has one path, the number of paths over each
// link equals its reported load.
func TestPathsOfPairs(t *testing.T) {
	for _, set := range [][]string{
		{`policy.routers=["dor", "shortest", "wild-first"]`},
		{`policy.routers=["wild-first"]`, `fabric.failed_ocs=["x3"]`},
		{"workload.kind=permutation"}, {"fabric.dims=[2, 3]", `policy.routers=["dor"]`},
	} {
		o := runText(t, smallTorus, append(set, "engine.level=static")...)
		if err := o.Detail.Check(); err != nil {
			t.Fatalf("%v: invalid detail: %v", set, err)
		}
		for _, p := range o.Detail.Policies {
			var ends []engine.Flow
			var loads []float64
			for _, l := range p.Torus.Links {
				ends, loads = append(ends, engine.Flow{Src: int32(l.From), Dst: int32(l.To)}),
					append(loads, l.Load)
			}
			checkLinkLoads(t, p.Torus.Pairs, ends, loads)
		}
	}

	o := runText(t, twoLevelTree)
	if err := o.Detail.Check(); err != nil {
		t.Fatal(err)
	}
	var ends []engine.Flow
	var loads []float64
	g := o.Detail.Policies[0].Graph
	for _, l := range g.Links {
		ends, loads = append(ends, engine.Flow{Src: int32(l.From), Dst: int32(l.To)}), append(loads, l.Load)
	}
	checkLinkLoads(t, g.Pairs, ends, loads)
}

// checkLinkLoads compares the number of paths over each link with its load. pairs has a row for
// each source with one path per destination; each digit of a path selects among the links of
// the current node.
func checkLinkLoads(t *testing.T, pairs []string, links []engine.Flow, loads []float64) {
	t.Helper()
	if len(pairs) == 0 {
		t.Fatal("got no paths of pairs")
	}
	counts := make([]float64, len(links))
	for src, row := range pairs {
		for _, path := range strings.Split(row, " ") {
			node := int32(src)
			for _, hop := range path {
				k := int(hop - '0')
				for i, l := range links {
					if l.Src != node {
						continue
					}
					if k == 0 {
						counts[i]++
						node = l.Dst
						break
					}
					k--
				}
			}
		}
	}

	for i := range links {
		if counts[i] != loads[i] {
			t.Fatalf("%g paths use link %d, want its load of %g messages", counts[i], i, loads[i])
		}
	}
}
