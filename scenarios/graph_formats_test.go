package scenarios

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGraphFormats: a topology of htsim and one of ns-3 become graphs whose last nodes are switches,
// with the rates and latencies of the files. Keys that the files replace are rejected.
func TestGraphFormats(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"two.topo": "Nodes 8\nTiers 2\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 2\nDownlink_Latency_ns 500\n" +
			"Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 500\n",
		"one.txt": "4 1 3\n3\n0 3 100Gbps 500ns 0\n1 3 100Gbps 500ns 0\n2 3 100Gbps 500ns 0\n",
		"scenario.toml": "[workload]\nkind = \"matrix\"\nmatrix = [[0, 1000000], [0, 0]]\n[fabric]\nkind = \"graph\"\n" +
			"file = \"one.txt\"\nformat = \"ns3\"\n[engine]\nlevel = \"flow\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "scenario.toml")
	for _, c := range []struct {
		set  []string
		want string
	}{
		{nil, ""},
		{[]string{"fabric.file=" + filepath.Join(dir, "two.topo"), "fabric.format=htsim"}, ""},
		{[]string{"fabric.format=htsim"}, "want a key and a number"},
		{[]string{"fabric.format=none"}, `choose "links", "htsim" or "ns3"`},
		{[]string{"fabric.undirected=true"}, `is not used with format "ns3"`},
		{[]string{"fabric.switches.first_node=2"}, "follows from the file"},
	} {
		s, err := Load(file, append([]string{"workload.kind=all-to-all", "workload.message=1MB"}, c.set...))
		checkError(t, err, c.want, c.set)
		if err != nil || c.want != "" {
			continue
		}
		// Each host sends 1 MB to each other host at 100 Gb/s.
		m := runParsed(t, s, 1).Document.Rows[0].Metrics
		hosts, paths := 3.0, 1.0 // paths: of several, the router may choose one twice
		if len(c.set) > 0 {
			hosts, paths = 8, 2
		}
		want := (hosts - 1) * 8e6 / 100e9
		if end := m["completion_s"]; end < want || end > 1.1*paths*want {
			t.Errorf("%v: the all-to-all ends after %g s, want %g to %g times as much", c.set, end, want, paths)
		}
	}
}
