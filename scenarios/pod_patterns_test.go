package scenarios

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestPodPatterns checks that a traffic pattern on pods has the same rows as the traffic matrix
// of its bytes.
func TestPodPatterns(t *testing.T) {
	const fabric = "fabric = {kind = \"ocs-pods\", pods = 3, gpus_per_pod = 3, port_bandwidth = \"400Gbps\"}\n"
	for _, work := range []string{
		`kind = "permutation"`, `kind = "hotspot", hot_nodes = 2, hot_share = 0.3`,
	} {
		for _, level := range []string{"flow", "packet"} {
			engine := fmt.Sprintf("engine = {level = %q}\n", level)
			text := "workload = {" + work + ", message = \"90KB\"}\n" + fabric + engine
			s := mustParse(t, text)
			traffic, err := s.podTrafficFlows(s.uniformPods())
			if err != nil {
				t.Fatal(err)
			}
			var rows [9][9]int64
			for i, f := range traffic.Flows {
				rows[f.Src][f.Dst] = traffic.Size(i)
			}
			matrix := strings.ReplaceAll(fmt.Sprint(rows), " ", ", ")
			got, want := runText(t, text),
				runText(t, "workload = {kind = \"matrix\", matrix = "+matrix+"}\n"+fabric+engine)
			if !reflect.DeepEqual(got.Document.Rows, want.Document.Rows) {
				t.Errorf("%s at level %s: got rows %v, want those of the matrix, %v",
					work, level, got.Document.Rows, want.Document.Rows)
			}
		}
	}
}
