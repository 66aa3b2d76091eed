package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSparseMatrix simulates a matrix of 1,024 nodes with two entries per row, on each kind of
// fabric with paths or circuits. A file of rows and a file of entries have the same completion
// time, also when the resolved scenario is read back.
func TestSparseMatrix(t *testing.T) {
	const n = 1024
	var rows, entries strings.Builder
	entries.WriteString("from,to,bytes\n")
	for src := range n {
		line := strings.Repeat("0,", n)
		row := strings.Split(line[:len(line)-1], ",")
		for _, step := range []int{1, 32} {
			dst := (src + step) % n
			row[dst] = fmt.Sprint(1000 * step)
			fmt.Fprintf(&entries, "%d,%d,%d\n", src, dst, 1000*step)
		}

		rows.WriteString(strings.Join(row, ",") + "\n")
	}

	folder := t.TempDir()
	for name, text := range map[string]string{"rows.csv": rows.String(), "entries.csv": entries.String()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	for name, fabric := range map[string]string{
		"torus": `[fabric]
kind = "torus"
dims = [16, 8, 8]
link_rate = "400Gbps"
[policy]
routers = ["dor"]
`,
		"switch": `[fabric]
kind = "electrical"
gpus = 1024
link_rate = "400Gbps"
`,
		"pods": `[fabric]
kind = "ocs-pods"
pods = 16
gpus_per_pod = 64
port_bandwidth = "400Gbps"
[policy]
allocators = ["prop-alloc"]
`,
	} {
		var ends []float64
		for _, file := range []string{"rows.csv", "entries.csv"} {
			text := fmt.Sprintf("[workload]\nkind = \"matrix\"\nmatrix_file = %q\n",
				filepath.Join(folder, file)) + fabric + "[engine]\nlevel = \"flow\"\n"
			s := mustParse(t, text)
			reread, err := Parse("kept.toml", s.TOML(), nil)
			if err != nil {
				t.Fatalf("%s, %s: not read back: %v", name, file, err)
			}
			for _, one := range []*Scenario{s, reread} {
				o, err := Run(t.Context(), one, RunOptions{Workers: 1})
				if err != nil {
					t.Fatalf("%s, %s: %v", name, file, err)
				}
				ends = append(ends, o.Document.Rows[0].Metrics["completion_s"])
			}
		}

		for _, end := range ends {
			if end <= 0 || end != ends[0] {
				t.Errorf("%s: rows and entries, each as given and as read back, complete after "+
					"%v s; want equal times", name, ends)
				break
			}
		}
	}
}

// TestListedMessages compares listed messages (workload.sparse_matrix) with the matrix of the same
// messages. Invalid lists are rejected.
func TestListedMessages(t *testing.T) {
	const text = `[workload]
kind = "matrix"
[fabric]
kind = "torus"
dims = [2, 2]
link_rate = "400Gbps"
[engine]
level = "packet"
[policy]
routers = ["dor"]
`

	m := runMetrics(t, text, "workload.sparse_matrix=[[0, 1, 1000, 2, 5000], [3, 0, 1]]", "workload.packet=1000B")
	dense := runMetrics(t, text, "workload.matrix=[[0, 1000, 5000, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]", "workload.packet=1000B")
	if m["completion_s"] != dense["completion_s"] || m["delivered"] != 7 {
		t.Errorf("got %g s and %g packets for listed messages, want %g s as for the matrix, and "+
			"7 packets", m["completion_s"], m["delivered"], dense["completion_s"])
	}
	for sends, want := range map[string]string{
		"[[0, 1]]": "2 numbers", "[[0, 4, 1]]": "nodes 0 to 3", "[[1, 1, 5]]": "to itself",
		"[[0, 1, -5]]": "out of bounds", "[[-1, 1, 5]]": "out of bounds",
	} {
		_, err := Parse("text.toml", []byte(text), []string{"workload.sparse_matrix=" + sends})
		checkError(t, err, want, sends)
	}
}
