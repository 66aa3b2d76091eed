package scenarios

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"sim/policies/reconfigure"
)

// TestDomainWithTopology checks scale-up domains whose switches keep a topology. Their rows
// equal the rows of a graph with the links of the topology. No GPU has more links in or out than
// there are switches.
func TestDomainWithTopology(t *testing.T) {
	for _, name := range fixedTopologies() {
		for _, degree := range []int{1, 2, 3} {
			var edges [][]int
			out, in := map[int]int{}, map[int]int{}
			for _, e := range reconfigure.ByName(name).FixedTopology(9, degree) {
				if e.From != e.To {
					edges = append(edges, []int{int(e.From), int(e.To)})
					out[int(e.From)]++
					in[int(e.To)]++
				}
			}

			maxDegree := max(slices.Max(slices.Collect(maps.Values(out))),
				slices.Max(slices.Collect(maps.Values(in))))
			if maxDegree > degree {
				t.Errorf("%s of degree %d has a GPU with %d links, want at most the degree",
					name, degree, maxDegree)
			}

			links, err := json.Marshal(edges)
			if err != nil {
				t.Fatal(err)
			}
			for _, work := range []string{
				`kind = "permutation"`, `kind = "all-to-all"`, `kind = "broadcast"`,
			} {
				for _, level := range matrixLevels {
					head := fmt.Sprintf("workload = {%s, message = \"40KB\"}\npolicy = {routers = [\"shortest\"]}\nengine = {level = %q}\n", work, level)
					domainKeys, graphKeys := "", `, link_latency = "500ns"`
					if level == "static" {
						domainKeys, graphKeys = `, link_latency = "0s"`, ""
					}
					domain := runText(t,
						head+fmt.Sprintf("fabric = {kind = \"scaleup\", gpus = 9, switches = %d, topology = %q%s}", degree, name, domainKeys))
					graph := runText(t,
						head+fmt.Sprintf("fabric = {kind = \"graph\", link_rate = \"800Gbps\", edges = %s%s}", links, graphKeys))
					if !reflect.DeepEqual(domain.Document.Rows, graph.Document.Rows) {
						t.Errorf("%s of degree %d, %s at level %s: got other rows than the graph",
							name, degree, work, level)
					}
				}
			}
		}
	}
}
