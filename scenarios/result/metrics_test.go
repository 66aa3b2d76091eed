package result

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteCSV(t *testing.T) {
	b := string(sample().Document.CSV())
	const want = `scenario,policy,metric,value
tiny,reference,compute_makespan_s,2.5
tiny,reference,makespan_s,3
tiny,prop-alloc,all_to_all_bytes_per_s,1e+09
tiny,prop-alloc,makespan_s,3.5
tiny,prop-alloc,nct,2
tiny,prop-alloc,ports,8
tiny,delta joint,bound_makespan_s,3.25
tiny,delta joint,makespan_s,3.25
tiny,delta joint,nct,1.5
tiny,delta joint,ports,6
`
	if diff := cmp.Diff(want, b); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWriteBench(t *testing.T) {
	b := string(sample().Document.AsSweep().Bench())
	const want = `scenario: tiny
Unit all_to_all_bytes_per_s better=higher assume=exact
Unit bound_makespan_s assume=exact
Unit makespan_s better=lower assume=exact
Unit nct better=lower assume=exact
Unit ports better=lower assume=exact
BenchmarkSim/scenario=tiny/policy=prop-alloc 1 1e+09 all_to_all_bytes_per_s 3.5 makespan_s 2 nct 8 ports
BenchmarkSim/scenario=tiny/policy=delta_joint 1 3.25 bound_makespan_s 3.25 makespan_s 1.5 nct 6 ports
`
	if diff := cmp.Diff(want, b); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDocumentJSON(t *testing.T) {
	d := sample().Document
	first, err := d.JSON()
	must(t, err)
	second, err := d.JSON()
	must(t, err)
	if !bytes.Equal(first, second) {
		t.Error("the same document gave different bytes")
	}
	if !bytes.Contains(first, []byte(`a < b & c\n`)) {
		t.Error("text was escaped beyond need")
	}
}

func TestBest(t *testing.T) {
	d := &Document{Rows: []Row{
		{Policy: "a", Metrics: map[string]float64{"makespan_s": 2, "ports": 5}},
		{Policy: "b"},
		{Policy: "c", Metrics: map[string]float64{"makespan_s": 1, "ports": 5}},
		{Policy: "d", Metrics: map[string]float64{"makespan_s": 1, "ports": 4}},
		{Policy: "e", Metrics: map[string]float64{"makespan_s": 1, "ports": 4}},
	}}
	if got := d.Best("makespan_s"); got != 3 {
		t.Errorf("the best row is %d, want 3", got)
	}
	if got := d.Best("nct"); got != -1 {
		t.Errorf("the best row of a metric that none has is %d", got)
	}
}

// TestBenchName: characters that end a field or a part of a benchmark's name become underscores.
func TestBenchName(t *testing.T) {
	for name, want := range map[string]string{"a b": "a_b", "a/b": "a_b", "a\x7fb": "a_b", "a\tb": "a_b", "a-é=b": "a-é=b"} {
		if got := benchName(name); got != want {
			t.Errorf("benchName(%q) = %q, want %q", name, got, want)
		}
	}
}
