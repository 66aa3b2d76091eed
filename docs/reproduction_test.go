// Package docs_test holds the tables of reproduction.md, which set the evaluation of the DELTA paper beside what sim
// finds, to the results that are stored under scenarios/baselines. With -long it also runs the scenarios that the
// tables need more of; with -update it writes the tables, with both also the one of times:
//
//	go test ./docs -long -update
package docs_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var (
	long   = flag.Bool("long", false, "also check the tables that need runs of their own, which takes half a minute")
	update = flag.Bool("update", false, "write the tables")
)

const file = "reproduction.md"

// tables are those of the document, by the name of their marks.
var tables = []struct {
	name string
	make func(testing.TB) string
	runs bool // it needs more than what is stored
	wall bool // it differs from time to time
}{
	{name: "workloads", make: workloads, runs: true},
	{name: "gaps", make: gaps},
	{name: "bandwidths", make: func(t testing.TB) string { return sweep(t, bandwidths) }},
	{name: "sequences", make: func(t testing.TB) string { return sweep(t, sequences) }},
	{name: "reductions", make: reductions},
	{name: "proofs", make: proofs},
	{name: "peaks", make: peaks, runs: true},
	{name: "rates", make: rates, runs: true},
	{name: "ports", make: ports},
	{name: "donors", make: donors},
	{name: "donations", make: donations},
	{name: "times", make: times, runs: true, wall: true},
}

// TestReproduction: the document has every table, and says what the results do.
func TestReproduction(t *testing.T) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tables {
		t.Run(x.name, func(t *testing.T) {
			before, table, after, err := between(text, x.name)
			if err != nil {
				t.Fatal(err)
			}
			if x.runs && !*long || x.wall && !*update {
				return
			}
			want := x.make(t)
			if *update {
				text = bytes.Join([][]byte{before, []byte(want), after}, nil)
			} else if string(table) != want {
				t.Errorf("%s has\n%s\nwant\n%s", file, table, want)
			}
		})
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// between cuts a text at the marks of a table, which stay with what is around it.
func between(text []byte, name string) (before, table, after []byte, err error) {
	begin, end := []byte("<!-- "+name+" -->\n"), []byte("<!-- end -->")
	at := bytes.Index(text, begin)
	if at >= 0 {
		at += len(begin)
		if size := bytes.Index(text[at:], end); size >= 0 {
			return text[:at:at], text[at : at+size], text[at+size:], nil
		}
	}
	return nil, nil, nil, fmt.Errorf("no marks <!-- %s --> and <!-- end -->", name)
}

func TestBetween(t *testing.T) {
	text := "a\n<!-- x -->\nold\n<!-- end -->\nb\n<!-- y -->\nkept\n<!-- end -->\n"
	before, table, after, err := between([]byte(text), "x")
	if got := string(before) + string(table) + string(after); err != nil || got != text || !strings.HasSuffix(string(before), "<!-- x -->\n") || string(table) != "old\n" {
		t.Errorf("%q, %q, %q (%v)", before, table, after, err)
	}
	for _, name := range []string{"z", "old"} {
		if _, _, _, err := between([]byte(text), name); err == nil {
			t.Errorf("marks of %s were found", name)
		}
	}
}
