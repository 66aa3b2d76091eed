package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// traceEvent is an event as read by a viewer.
type traceEvent struct {
	Ph   string
	Pid  int
	Tid  int
	Ts   float64
	Dur  float64
	Name string
	Args map[string]any
}

func readTrace(t *testing.T, data []byte) []traceEvent {
	t.Helper()
	var f struct{ TraceEvents []traceEvent }
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatalf("the trace is no JSON: %v", err)
	}
	return f.TraceEvents
}

func TestTrace(t *testing.T) {
	r := sample()
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		_, err := WriteTrace(w, &r.Document, &r.Detail, Window{})
		must(t, err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two traces of the same run differ")
	}
	var names []string
	ends := map[[2]int]float64{}
	counts := map[string]int{}
	last := 0.0
	for _, e := range readTrace(t, a.Bytes()) {
		counts[e.Ph]++
		if e.Ph == "M" {
			if n, ok := e.Args["name"].(string); ok {
				names = append(names, n)
			}
			continue
		}
		if e.Ts < last {
			t.Errorf("event %q at %g comes after one at %g", e.Name, e.Ts, last)
		}
		last = e.Ts
		if e.Ph != "X" {
			continue
		}
		thread := [2]int{e.Pid, e.Tid}
		if e.Dur < 0 || e.Ts < ends[thread]-1e-7 {
			t.Errorf("event %q at %g lasts %g and overlaps one that ends at %g", e.Name, e.Ts, e.Dur, ends[thread])
		}
		ends[thread] = e.Ts + e.Dur
	}
	// 4 simulations with 12 spans and 2 busy steps of a circuit; counters have 4+2+2
	// events.
	if counts["X"] != 4*14 || counts["C"] != 4*8 {
		t.Errorf("got %d complete and %d counter events, want %d and %d", counts["X"], counts["C"], 4*14, 4*8)
	}
	all := strings.Join(names, "|")
	for _, want := range []string{"ideal fabric", "prop-alloc", "delta joint", "stage 0, pod 0", "stage 1, pod 1, transfers", "stage 1, pod 1, transfers (2)", "circuit pod 0 to pod 1"} {
		if !strings.Contains("|"+all+"|", "|"+want+"|") {
			t.Errorf("no process or thread is called %q", want)
		}
	}
}

// TestTraceExact: picoseconds are exact, also 1 ps after an hour.
func TestTraceExact(t *testing.T) {
	if got := formatMicros(picoseconds(3600) + 1); got != "3600000000.000001" {
		t.Errorf("an hour and a picosecond is %s µs", got)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestTraceFullDisk(t *testing.T) {
	r := sample()
	if _, err := WriteTrace(fullDisk{}, &r.Document, &r.Detail, Window{}); err == nil {
		t.Error("a write error was lost")
	}
}
