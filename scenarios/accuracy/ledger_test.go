package accuracy

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sim/internal/numbers"
	"sim/scenarios/schema"
)

// TestLedger: all files of the project are read, each id is unique, and every row has a source
// and no text of others.
func TestLedger(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range Ledger() {
		if ids[r.ID] {
			t.Errorf("two rows have the id %s", r.ID)
		}
		ids[r.ID] = true
		if r.Source == "" || r.Source == sameSource || r.Hardware == "" || r.Metric == "" || r.Unit == "" {
			t.Errorf("%s:%d: source %q, hardware %q, metric %q or unit %q is empty", r.File, r.Line, r.Source, r.Hardware, r.Metric, r.Unit)
		}
	}
	if got, want := len(ids), 1105; got != want {
		t.Errorf("got %d rows, want %d", got, want)
	}
	if err := Check(Ledger()); err != nil {
		t.Errorf("got faults\n%v", err)
	}
}

// TestCheck: a size per rank and a rate above the wire are faults with file and line.
func TestCheck(t *testing.T) {
	const head = "id,hardware,gpus,nodes,parameters,metric,value,unit\na,H100,8,1,collective="
	for text, want := range map[string]string{
		"all-gather;size_bytes=1073741824;busbw_GBps=300,time,3131.7,us": "",
		"all-gather;size_bytes=134217728;busbw_GBps=300,time,3131.7,us": "x.csv:2: size_bytes=134217728 is the size per rank: " +
			"the bus bandwidth of 300 GB/s follows from 8 times that size; write the total over all ranks, as nccl-tests does",
		"all-reduce;size_bytes=1073741824,time,2.1,us": "x.csv:2: 1073741824 bytes in 2.1 us are a bus bandwidth of 894785 GB/s, " +
			"above the links of h100-ib with 450 GB/s; check that the time is in us and the size is the total in bytes",
	} {
		rows, err := Read("x.csv", []byte(head+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := Check(rows); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got\n%s, want\n%s", text, got, want)
		}
	}
}

// smallFile is a valid file of one row.
const smallFile = "id,hardware,gpus,nodes,parameters,metric,value,unit,split\n" +
	"a,H100,8,1,collective=all-reduce;size_bytes=1024,time,20.5,us,fit\n"

// TestRead: columns are found by name, unknown columns are ignored, and ? is an unknown count.
func TestRead(t *testing.T) {
	for _, text := range []string{
		smallFile,
		"\ufeff" + smallFile,
		"notes,unit,value,metric,parameters,nodes,gpus,hardware,id,split\n" +
			"\"a, b\",us,20.5,time,\" size_bytes=1024 ; collective=all-reduce;\",1,8,H100,a,fit\n",
	} {
		rows, err := Read("x.csv", []byte(text))
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %d rows and error %v, want 1 row of\n%s", len(rows), err, text)
		}
		r := rows[0]
		bytes, err := r.Parameters.Number("size_bytes")
		if r.ID != "a" || r.Hardware != "H100" || r.GPUs != 8 || r.Nodes != 1 || r.Value != 20.5 || r.Unit != "us" || !r.Fitted ||
			bytes != 1024 || err != nil || len(r.Parameters) != 2 {
			t.Errorf("got %+v, want the fields of\n%s", *r, text)
		}
	}
	rows, err := Read("x.csv", []byte(strings.Replace(smallFile, "8,1,", "?,,", 1)))
	if err != nil || rows[0].GPUs != 0 || rows[0].Nodes != 0 {
		t.Errorf("got %v and error %v, want unknown counts", rows, err)
	}
	rows, err = Read("x.csv", []byte(strings.Replace(smallFile, "20.5", ">90", 1)))
	if err != nil || !math.IsNaN(rows[0].Value) {
		t.Errorf("got %v and error %v, want no value", rows, err)
	}
}

// TestReadOrder: the order of the columns does not matter.
func TestReadOrder(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(smallFile), "\n")
	want, err := Read("x.csv", []byte(smallFile))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation(numbers.Below(strings.Count(lines[0], ",")+1)).Draw(t, "order")
		var text strings.Builder
		for _, line := range lines {
			fields := strings.Split(line, ",")
			for i, column := range order {
				if i > 0 {
					text.WriteString(",")
				}
				text.WriteString(fields[column])
			}
			text.WriteString("\n")
		}
		got, err := Read("x.csv", []byte(text.String()))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("error %v, (-want +got):\n%s", err, diff)
		}
	})
}

// TestReadFaults: each fault of a file is one line with file, line and remedy.
func TestReadFaults(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{smallFile, "", "x.csv: has no line with the names of columns; begin it with id,hardware,gpus,nodes,parameters,metric,value,unit"},
		{"unit", "units", "x.csv:1: unit: this column is missing; the first line names at least id,hardware,gpus,nodes,parameters,metric,value,unit"},
		{"20.5,us,fit\n", "20", "x.csv:2: has 7 fields, the first line has 9; the file may be cut; write it again"},
		{"20.5", "2O.5", `x.csv:2: value: "2O.5" is not a number; write the value alone; the unit has its own column`},
		{"8,1,", "8.5,1,", `x.csv:2: gpus: "8.5" is not a count; write a whole number, or ? if it is unknown`},
		{"\na,H100", "\n,H100", "x.csv:2: id: is empty; give each row a name"},
		{smallFile, smallFile[:strings.Index(smallFile, "\n")], "x.csv: has no rows; the file may be cut; write it again"},
	} {
		rows, err := Read("x.csv", []byte(strings.Replace(smallFile, c.old, c.new, 1)))
		if rows != nil || !errors.Is(err, schema.ErrInput) || err.Error() != c.want {
			t.Errorf("%q instead of %q: got %v and error\n%v, want\n%s", c.new, c.old, rows, err, c.want)
		}
	}
}

// TestMachineFor: the words of a description determine the profile. A network without a profile
// is noted.
func TestMachineFor(t *testing.T) {
	for _, c := range []struct {
		hardware          string
		nodes             int
		name, note, fault string
	}{
		{"H100-SXM 80GB (HGX), NVLink4, 8x CX7 IB 400 Gb/s", 2, "h100-ib", "", ""},
		{"H100-SXM (GCP A3 High), TCPX 1 Tb/s a node", 1, "h100-ib", "", ""},
		{"NVIDIA 8xH100SXM5", 1, "h100-ib", "", ""},
		{"DGX-GB200 NVL72", 18, "gb200", "", ""},
		{"A100 PCIe", 1, "a100", "sim has no profile of a100-pcie", ""},
		{"AMD MI355X (gfx950), xGMI full mesh", 1, "mi355x", "", ""},
		{"TPU v5p", 16, "tpuv5p", "", ""},
		{"Intel Gaudi 3", 1, "", "", `the hardware "Intel Gaudi 3" names no accelerator that sim has a profile of`},
	} {
		name, note, err := MachineFor(&Row{Hardware: c.hardware, Nodes: c.nodes})
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if name != c.name || note != c.note || fault != c.fault {
			t.Errorf("%s: got %q, %q and error %q, want %q, %q and error %q", c.hardware, name, note, fault, c.name, c.note, c.fault)
		}
	}
}
